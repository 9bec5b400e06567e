/**
 * The templates of `init`: the shipped policies, turned into the files of a project.
 *
 * @module
 */

/** One template. */
export interface Template {
  readonly name: string;
  readonly brief: string;
  /** Files below `policies/<name>/`, the policy first. */
  readonly files: readonly string[];
  /** Whether the policy has tests of its own. */
  readonly tests: boolean;
}

/** Every template; the first one is the default. */
export const TEMPLATES: readonly Template[] = Object.freeze([
  {
    name: "starter",
    brief: "Reads Markdown files and tries one file too many: shows a denial and the line that allows it",
    files: ["agent.policy.jsonc", "agent.ts"],
    tests: true,
  },
  {
    name: "supply-chain-review",
    brief: "Asks about every npm package that the project locks, and writes a report",
    files: [
      "agent.policy.jsonc",
      "agent.ts",
      "review.ts",
      "review/ask.ts",
      "review/markdown.ts",
      "review/packages.ts",
    ],
    tests: false,
  },
  {
    name: "blank",
    brief: "Grants nothing: an agent that may only speak",
    files: ["agent.policy.jsonc", "agent.ts"],
    tests: false,
  },
]);

/**
 * Turns a file of a shipped policy into one of a project. In its own place a policy lies two folders below the project
 * and the declarations of agents one folder above it; in a project both lie in its folder.
 *
 * @param options `twokey` is the relative URL from the project to twokey, `../twokey` or `./vendor/twokey`.
 */
export function fromTemplate(text: string, options: { readonly twokey: string }): string {
  return text
    .replaceAll('"../../policy.schema.json"', () => JSON.stringify(`${options.twokey}/policy.schema.json`))
    .replaceAll(
      /"\.\.\/\.\.(?:\/((?!\.\.)[^"]*))?"/g,
      (whole, path?: string) => whole.endsWith('agent.d.ts"') ? whole : JSON.stringify(path ?? "."),
    )
    .replaceAll(
      /(<reference types=")\.\.\/((?:\.\.\/)*)agent\.d\.ts"/g,
      (_, head: string, up: string) => `${head}${up || "./"}agent.d.ts"`,
    );
}
