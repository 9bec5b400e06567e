/** A project in a temporary folder and small manifests, for the tests of policies and what is made from them. */
import { type Compiled, compileLoaded } from "../../src/policy/compile_loaded.ts";
import { MODEL_PROVIDERS } from "../../src/authority/model_providers.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { PolicyError, type PolicyIssue } from "../../src/policy/policy_error.ts";
import type { ToolManifest, ToolManifests } from "../../src/tool/manifest.ts";

/** The day on which every test compiles. */
export const NOW_MS = Date.UTC(2030, 5, 15);

/** One manifest with nothing in it but what the compiler reads. */
export function manifest(name: string, family: string, authority: ToolManifest["authority"]): ToolManifest {
  return {
    name,
    family,
    summary: name,
    effect: "pure",
    authority,
    limits: {},
    audit: { args: {}, result: "keep" },
    nonClaims: [],
    argsSchema: {},
    resultSchema: {},
    digest: "0".repeat(64),
  };
}

/** One manifest for each shape of authority. */
export const MANIFESTS: ToolManifests = Object.fromEntries([
  manifest("echo", "harness", {}),
  manifest("slow", "harness", {}),
  manifest("readFile", "fs", { fs: "read" }),
  manifest("writeArtifact", "fs", { fs: "write" }),
  manifest("osv.query", "supply_chain", {
    endpoints: { query: { method: "POST", url: "https://api.osv.dev/v1/query" } },
  }),

  ...["github.issue.read", "github.repo.read"].map((name) =>
    manifest(name, "github", {
      endpoints: { read: { method: "GET", url: "https://api.github.com/repos/{owner}/{repo}" } },
      service: "github",
      credential: { header: "bearer", optional: true },
    })
  ),
  manifest("model.call", "model", { model: MODEL_PROVIDERS }),
  manifest("Skill", "skill", { skills: true }),
  manifest("must.authenticate", "test", {
    endpoints: { ask: { method: "POST", url: "https://api.test.example/v1" } },
    credential: { header: "x-api-key", optional: false },
  }),
  manifest("npm.metadata", "supply_chain", {
    endpoints: { package: { method: "GET", url: "https://<npm-registry>/{package}" } },
  }),
].map((entry) => [entry.name, entry]));

/** Options of {@linkcode withProject}. */
export interface ProjectOptions {
  /** File contents by path; a path that ends in `/` is an empty folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** Where links lead, by path. */
  readonly links?: Readonly<Record<string, string>>;
}

/** Runs `body` in a fresh project with a `deno.json` and an `agent.ts`; the folder's real path is passed. */
export async function withProject(options: ProjectOptions, body: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-policy-" }));
  try {
    for (const [path, text] of Object.entries({ "deno.json": "{}", "agent.ts": "", ...options.files })) {
      const slash = path.lastIndexOf("/");
      if (slash > 0) await Deno.mkdir(`${dir}/${path.slice(0, slash)}`, { recursive: true });
      if (!path.endsWith("/")) await Deno.writeTextFile(`${dir}/${path}`, text);
    }
    for (const [path, target] of Object.entries(options.links ?? {})) await Deno.symlink(target, `${dir}/${path}`);
    await body(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Writes a policy into a project and compiles it. */
export async function compileIn(dir: string, policy: unknown, name = "agent.policy.jsonc"): Promise<Compiled> {
  const file = `${dir}/${name}`;
  await Deno.writeTextFile(file, typeof policy === "string" ? policy : JSON.stringify(policy));
  return await compileLoaded(await loadPolicy(file), {
    manifests: MANIFESTS,
    nowMs: NOW_MS,
    env: (variable) => variable === "XDG_STATE_HOME" ? `${dir}-state` : undefined,
  });
}

/** What the compiler refuses; empty where it does not. */
export async function refusalsIn(dir: string, policy: unknown): Promise<readonly PolicyIssue[]> {
  try {
    await compileIn(dir, policy);
    return [];
  } catch (error) {
    if (error instanceof PolicyError) return error.issues;
    throw error;
  }
}
