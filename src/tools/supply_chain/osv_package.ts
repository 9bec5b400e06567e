/**
 * How each ecosystem of OSV writes the name of a package. OSV answers a name in the wrong form with an empty list, which
 * reads as "no vulnerabilities", so such a name must never be sent.
 *
 * @module
 */
import { ToolInputError } from "../../errors.ts";

interface Shape {
  readonly pattern: RegExp;
  /** For people. */
  readonly form: string;
}

/** Ecosystems whose names have a form that can be told from others. Source: the OSV schema, "defined ecosystems". */
const SHAPES: ReadonlyMap<string, Shape> = new Map([
  ["crates.io", { pattern: /^[A-Za-z][A-Za-z0-9_-]*$/, form: "a crate name" }],
  ["GitHub Actions", { pattern: /^[A-Za-z0-9-]+\/[A-Za-z0-9._/-]+$/, form: "owner/name" }],
  ["Go", { pattern: /^[A-Za-z0-9][A-Za-z0-9._~!+/-]*$/, form: "a module path without scheme and `.git`" }],
  ["Hex", { pattern: /^[A-Za-z0-9_]+$/, form: "a package name" }],
  ["Maven", { pattern: /^[A-Za-z0-9._-]+:[A-Za-z0-9._-]+$/, form: "group:artifact" }],
  ["npm", { pattern: /^(?:@[A-Za-z0-9._~!'()*-]+\/)?[A-Za-z0-9._~!'()*-]+$/, form: "name or @scope/name" }],
  ["NuGet", { pattern: /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, form: "a package id" }],
  ["Packagist", { pattern: /^[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/, form: "vendor/name" }],
  ["Pub", { pattern: /^[A-Za-z0-9_]+$/, form: "a package name" }],
  ["PyPI", {
    pattern: /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/,
    form: "a project name without version and extras",
  }],
  ["RubyGems", { pattern: /^[A-Za-z0-9._-]+$/, form: "a gem name" }],
  ["SwiftURL", { pattern: /^[A-Za-z0-9.-]+\/[A-Za-z0-9._/-]+$/, form: "host/path without scheme and `.git`" }],
]);

/** Ecosystems by their lower-case name: OSV knows each in one spelling only. */
const BY_LOWER: ReadonlyMap<string, string> = new Map([...SHAPES.keys()].map((name) => [name.toLowerCase(), name]));

/**
 * Refuses a package that OSV cannot know under this name. `Maven:<repository>` and the like are judged as `Maven`;
 * ecosystems without an entry take any printable name.
 *
 * @throws {ToolInputError} `tool_invalid_args`, naming the form that is right.
 */
export function assertOsvPackage(ecosystem: string, name: string): void {
  for (const [field, text] of [["package.ecosystem", ecosystem], ["package.name", name]] as const) {
    if (!isPrintable(text)) {
      throw refuse(`"${field}" must hold printable text only, without space around it`);
    }
  }
  const base = ecosystem.split(":", 1)[0] ?? ecosystem;
  const known = BY_LOWER.get(base.toLowerCase());
  if (known === undefined) return;
  if (known !== base) throw refuse(`"package.ecosystem" must be written "${known}"`);
  const shape = SHAPES.get(known);
  const isRepository = (known === "Go" || known === "SwiftURL") && name.endsWith(".git");
  if (shape !== undefined && (!shape.pattern.test(name) || isRepository)) {
    throw refuse(`"package.name" of ecosystem "${known}" must be ${shape.form}`);
  }
}

/** Whether a text holds nothing that cannot be seen, and no space around it. */
export function isPrintable(text: string): boolean {
  return text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text) && text.trim() === text;
}

function refuse(what: string): ToolInputError {
  return new ToolInputError("tool_invalid_args", `Cannot call "osv.query": ${what}`);
}
