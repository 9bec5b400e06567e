/**
 * What the steps of the compiler share: the policy, the facts, and the list of refusals.
 *
 * @module
 */
import { isInside, pathProblem } from "../authority/path.ts";
import { portable, type PortablePath } from "../plan/plan.ts";
import type { ToolManifest, ToolManifests } from "../tool/manifest.ts";
import type { Facts, PathFact } from "./inspect.ts";
import type { LoadedPolicy } from "./load.ts";
import type { PolicyIssue } from "./policy_error.ts";

/** One refusal, before its place is looked up. */
export interface Refusal {
  /** JSON Pointer. */
  readonly at: string;
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}

/** The state of one compilation. */
export class Check {
  readonly loaded: LoadedPolicy;
  readonly manifests: ToolManifests;
  readonly facts: Facts;
  readonly issues: PolicyIssue[] = [];
  readonly usedUnsafe: Set<number> = new Set();

  constructor(loaded: LoadedPolicy, manifests: ToolManifests, facts: Facts) {
    this.loaded = loaded;
    this.manifests = manifests;
    this.facts = facts;
  }

  /** Notes a refusal; the compilation goes on, so that one run shows them all. */
  refuse({ at, code, message, fix }: Refusal): void {
    this.issues.push({ code, message, position: this.loaded.positionOf(at), fix });
  }

  /** The manifest of a tool, by own property only: a tool named `constructor` does not exist. */
  manifest(name: string): ToolManifest | undefined {
    return Object.hasOwn(this.manifests, name) ? this.manifests[name] : undefined;
  }

  /** Manifests of the granted tools that exist. */
  granted(): readonly ToolManifest[] {
    return (this.loaded.policy.tools ?? []).flatMap((name) => this.manifest(name) ?? []);
  }

  /** Names the value at a pointer the way its author wrote it, in quotes. */
  name(at: string): string {
    return `"${this.loaded.nameOf(at)}"`;
  }

  /** The fix of authority at a pointer that no granted tool can use, in the words of where it was granted. */
  removeOrGrant(at: string, users: readonly ToolManifest[]): string {
    if (users.length === 0) return "Remove it";
    if (this.loaded.isOperators(at)) return `Add ${users.map(({ name }) => `--tool=${name}`).join(" or ")}`;
    return `Remove it, or add one of these to "tools": ${users.map(({ name }) => quote(name)).join(", ")}`;
  }

  portable(path: string): PortablePath {
    return portable(path, this.facts.places);
  }

  /**
   * The fact of the path at a pointer, with its problems as text and its links refused; `undefined` after a refusal.
   * The operator's own word may lead through a link: its real path is what is granted then.
   */
  path(at: string, text: string): PathFact | undefined {
    const problem = pathProblem(text);
    if (problem !== null) {
      const message = `Cannot use ${this.name(at)} ${quote(text)}: ${problem.problem}`;
      this.refuse({ at, code: "policy_bad_path", message, fix: problem.fix });
      return undefined;
    }
    const fact = this.facts.paths.get(at);
    if (fact === undefined) {
      const message = `Cannot use ${this.name(at)} ${quote(text)}: nobody looked at it`;
      this.refuse({ at, code: "policy_bad_path", message, fix: "Load the policy again" });
      return undefined;
    }
    const followed = fact.real.includes(",") ? fact.real : null;
    if (followed !== null || fact.path.includes(",")) {
      const message = `Cannot use ${this.name(at)} ${quote(text)}: a folder above it has a comma in its name`;
      const fix = "Move the project: Deno splits lists of paths at commas";
      this.refuse({ at, code: "policy_bad_path", message, fix });
      return undefined;
    }
    if (fact.real === fact.path) return fact;
    if (this.loaded.isOperators(at) && fact.kind !== "other") return { ...fact, path: fact.real };
    const message = `Cannot use ${this.name(at)} ${quote(text)}: it is a link or leads through one`;
    const fix = fact.kind === "other"
      ? "Name a folder or file that exists"
      : `Name what the link leads to: ${fact.real}`;
    this.refuse({ at, code: "policy_link", message, fix });
    return undefined;
  }

  /**
   * Refuses a path outside the project without an entry in `unsafe.outside`. The operator's own word needs none.
   * @returns Whether the path may be used.
   */
  insideOrAccepted(at: string, path: string): boolean {
    if (isInside(this.facts.places.project, path) || this.loaded.isOperators(at)) return true;
    const entries = this.loaded.policy.unsafe?.outside ?? [];
    const index = entries.findIndex((_, i) => {
      const accepted = this.facts.paths.get(`/unsafe/outside/${i}/root`);
      return accepted !== undefined && isInside(accepted.path, path);
    });
    if (index >= 0) {
      this.usedUnsafe.add(index);
      return true;
    }
    this.refuse({
      at,
      code: "policy_outside_project",
      message: `Cannot use ${this.name(at)} ${quote(path)}: it lies outside the project`,
      fix: `Add to "unsafe": { "outside": [{ "root": ${quote(path)}, "reason": "…", "expires": "YYYY-MM-DD" }] }`,
    });
    return false;
  }
}

/** A text in JSON's quotes, cut where it is long. */
export function quote(text: string): string {
  return JSON.stringify(text.length <= 200 ? text : `${text.slice(0, 197)}...`);
}
