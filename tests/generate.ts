/**
 * Makes the files that are derived from the code, or checks that they are what the code says.
 *
 * `deno task gen` writes them; the tests call {@linkcode generated} and compare.
 *
 * @module
 */
import { agentTypes } from "../src/report/agent_types.ts";
import { withoutRegistry } from "../src/tools/supply_chain/npm_registry.ts";
import { manifestOf } from "../src/tool/manifest.ts";
import { TOOLS } from "../src/tools/registry.ts";
import { policyJsonSchema } from "../src/policy/schema.ts";
import { fillReadme, readmeParts } from "./readme.ts";

const ROOT = new URL("../", import.meta.url);

/** Every derived file: its path from the project's root, and its text. */
export async function generated(): Promise<ReadonlyMap<string, string>> {
  const manifests = await manifestsText();
  return new Map([
    ["src/tools/manifests.json", manifests],
    ["policies/agent.d.ts", agentTypes(JSON.parse(manifests))],
    ["policy.schema.json", `${JSON.stringify(await policyJsonSchema(), null, 2)}\n`],
    ["README.md", fillReadme(await Deno.readTextFile(new URL("README.md", ROOT)), readmeParts(JSON.parse(manifests)))],
  ]);
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
