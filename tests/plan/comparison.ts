/** Two policies compiled for real and compared, for the tests of what a plan grants beyond another. */
import type { Change } from "../../src/plan/change.ts";
import { comparePlans } from "../../src/plan/compare.ts";
import type { Places, Plan } from "../../src/plan/plan.ts";
import { compileLoaded } from "../../src/policy/compile_loaded.ts";
import { parsePolicy } from "../../src/policy/load.ts";
import type { ToolManifests } from "../../src/tool/manifest.ts";
import { MANIFESTS, NOW_MS, type ProjectOptions, withProject } from "../policy/project.ts";

/** A policy without what every policy has. */
export type Text = Readonly<Record<string, unknown>>;

/** Compiles policies of one project. */
export interface Comparer {
  readonly dir: string;
  plan(policy: Text, options?: { readonly manifests?: ToolManifests }): Promise<{ plan: Plan; places: Places }>;
  compare(base: Text, head: Text): Promise<readonly Change[]>;
}

/** Files that the policies of these tests name. */
export const FILES: Readonly<Record<string, string>> = {
  "src/lib/": "",
  "docs/deep/": "",
  "out/": "",
  "notes.md": "",
  ".env": "",
  "one.json": "{}",
  "two.json": "{ }",
  "ca.pem": "",
  "more_ca.pem": "",
};

/** Runs `body` in a project with {@linkcode FILES}. */
export async function withComparer(
  body: (comparer: Comparer) => Promise<void>,
  options: ProjectOptions = {},
): Promise<void> {
  await withProject({ ...options, files: { ...FILES, ...options.files } }, async (dir) => {
    const plan: Comparer["plan"] = async (policy, { manifests = MANIFESTS } = {}) => {
      const text = JSON.stringify({ version: 1, ...policy });
      const parsed = await parsePolicy(text, "agent.policy.jsonc");
      const loaded = { ...parsed, file: `${dir}/agent.policy.jsonc`, base: dir, project: dir };
      const { plan, facts } = await compileLoaded(loaded, {
        manifests,
        nowMs: NOW_MS,
        env: (name) => name === "XDG_STATE_HOME" ? `${dir}-state` : undefined,
      });
      return { plan, places: facts.places };
    };
    await body({
      dir,
      plan,
      compare: async (base, head) => comparePlans((await plan(base)).plan, (await plan(head)).plan),
    });
  });
}

/** Changes as lines: kind, subject, text and example. */
export function linesOf(changes: readonly Change[]): string[] {
  return changes.map(({ kind, subject, text, example }) =>
    `${kind} ${subject}: ${text}${example === undefined ? "" : ` | ${example.replace("${project}/", "")}`}`
  );
}
