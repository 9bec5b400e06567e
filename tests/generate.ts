/**
 * Makes the files that are derived from the code, or checks that they are what the code says.
 *
 * `deno task gen` writes them; the tests call {@linkcode generated} and compare.
 *
 * @module
 */
import { agentTypes } from "../src/report/agent_types.ts";
import { withoutRegistry } from "../src/tools/supply_chain/npm_registry.ts";
import { manifestOf, type ToolManifests } from "../src/tool/manifest.ts";
import { TOOLS } from "../src/tools/registry.ts";
import { bundleAgent } from "../src/launch/bundle.ts";
import { compileLoaded } from "../src/policy/compile_loaded.ts";
import { loadPolicy } from "../src/policy/load.ts";
import { LOCK_FILE } from "../src/authority/names.ts";
import { lockText } from "../src/policy/lock.ts";
import { policyJsonSchema } from "../src/policy/schema.ts";
import { fillReadme, readmeParts } from "./readme.ts";

const ROOT = new URL("../", import.meta.url);

/** The shipped policies that run in CI, and so need a lock. */
const LOCKED = ["blank", "demo", "supply-chain-review"];

/** Every derived file: its path from the project's root, and its text. */
export async function generated(): Promise<ReadonlyMap<string, string>> {
  const manifests = await manifestsText();
  return new Map([
    ["src/tools/manifests.json", manifests],
    ["policies/agent.d.ts", agentTypes(JSON.parse(manifests))],
    ["policy.schema.json", `${JSON.stringify(await policyJsonSchema(), null, 2)}\n`],
    ...await Promise.all(LOCKED.map((name) => lockEntry(name, JSON.parse(manifests)))),
    ["README.md", fillReadme(await Deno.readTextFile(new URL("README.md", ROOT)), readmeParts(JSON.parse(manifests)))],
  ]);
}

async function lockEntry(name: string, manifests: ToolManifests): Promise<[string, string]> {
  const folder = `policies/${name}`;
  const loaded = await loadPolicy(new URL(`${folder}/agent.policy.jsonc`, ROOT).pathname);
  const entry = `${loaded.base}/${loaded.policy.agent}`;
  const { modules } = await bundleAgent({ entry, project: loaded.project });
  const { plan } = await compileLoaded(loaded, { manifests, modules, env: (variable) => Deno.env.get(variable) });
  return [`${folder}/${LOCK_FILE}`, await lockText({ plan })];
}

async function manifestsText(): Promise<string> {
  const manifests = await Promise.all(
    Object.keys(TOOLS).toSorted().map(async (name) => {
      const tool = await TOOLS[name]?.();
      if (tool === undefined || tool.name !== name) {
        throw new TypeError(`registry key "${name}" is not its tool's name`);
      }
      return [name, await manifestOf(tool)] as const;
    }),
  );
  return withoutRegistry(`${JSON.stringify(Object.fromEntries(manifests), null, 2)}\n`);
}

if (import.meta.main) {
  for (const [path, text] of await generated()) await Deno.writeTextFile(new URL(path, ROOT), text);
}
