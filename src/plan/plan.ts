/**
 * The compiled form of a policy: all that later stages know. Frozen, digestible and portable: places inside the project
 * start with `${project}`, so the same policy and project give the same bytes on any machine.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import type { RequirementKind } from "../authority/requirement.ts";
import type { Endpoint } from "../tool/define.ts";

/** Where agent code runs. */
export type Isolation = "process" | "worker" | "compartment";

/** A path that starts with `${project}`, `${twokey}` or `${state}`, or an absolute path outside of all three. */
export type PortablePath = string;

/** One root that may be read. */
export interface ReadRoot {
  readonly root: PortablePath;
  /** What agents see of the root: relative to the project, else its last segment. Unique within the plan. */
  readonly label: string;
  /** Globs over the path relative to the root; empty admits everything. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** One root below which files may be created. */
export interface WriteRoot {
  readonly root: PortablePath;
  readonly label: string;
  readonly rule: string;
}

/** One granted tool. */
export interface PlannedTool {
  readonly family: string;
  /** SHA-256 of the tool's manifest. */
  readonly manifest: string;
  /** Which roots the tool's manifest says it needs; absent: none, and the gate denies it every path. */
  readonly fs?: "read" | "write";
  readonly timeoutMs: number;
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  readonly rule: string;
}

/** A narrowing rule of the policy's `gate` block. */
export interface GateRule {
  readonly effect: "deny" | "ask";
  readonly kind: RequirementKind;
  /** Tools the rule speaks of; empty means every tool. */
  readonly tools: readonly string[];
  /** A glob: over the path relative to the project for `filesystem.*`, over the URL for `network`, the text otherwise. */
  readonly match: string;
  readonly rule: string;
}

/** Every limit of a run; all inclusive. */
export interface Budgets {
  readonly toolTimeoutMs: number;
  readonly toolArgBytes: number;
  readonly toolResultBytes: number;
  readonly totalArgBytes: number;
  readonly totalResultBytes: number;
  readonly toolCalls: number;
  readonly parallelCalls: number;
  readonly events: number;
  readonly eventBytes: number;
  readonly stateBytes: number;
  readonly noteBytes: number;
  readonly artifactBytes: number;
  readonly readFileBytes: number;
  readonly readFiles: number;
  readonly stderrBytes: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly heapMb: number;
  readonly rssMb: number;
}

/** How the network tools get their answers. */
export interface NetworkPlan {
  /** Recorded answers; when any are named, nothing else is asked. */
  readonly fixtures: readonly { readonly path: PortablePath; readonly sha256: string }[];
  readonly cache: {
    readonly dir: PortablePath;
    readonly mode: "read-through" | "offline";
    readonly maxAgeMs: number | null;
    readonly maxEntries: number | null;
  } | null;
  readonly retryAttempts: number;
  /** Name of the variable that holds the proxy's URL, and the address it had when the plan was made. */
  readonly proxy: { readonly fromEnv: string } | null;
  readonly ca: { readonly fromEnv: string } | { readonly file: PortablePath } | null;
  readonly ipv6: boolean;
}

/** A denial that the policy expects: the run fails when it does not come. */
export interface ExpectedDenial {
  readonly tool: string;
  /** Reason slug; `null` accepts any. */
  readonly code: string | null;
  readonly rule: string;
}

/** Something the policy's author accepted in spite of a refusal of the compiler. */
export interface UnsafeGrant {
  readonly key: "outside";
  readonly path: string;
  readonly reason: string;
  /** ISO date, `YYYY-MM-DD`, the last day it holds; `null` for the operator's own flags. */
  readonly expires: string | null;
}

/** A compiled policy. */
export interface Plan {
  readonly version: 1;
  readonly name: string;
  /** Digest of the policy's canonical JSON; the path is for people. */
  readonly policy: { readonly path: PortablePath | null; readonly sha256: string };
  readonly isolation: Isolation;
  /** Sorted by name. */
  readonly tools: Readonly<Record<string, PlannedTool>>;
  readonly fs: {
    readonly read: readonly ReadRoot[];
    readonly write: readonly WriteRoot[];
    /**
     * What no tool may write, whether it exists or not. An entry that starts with `/` or `${` is a place with all below
     * it, kept by both keys; any other is a name (`*` for any run of characters) at any depth, kept by key 2.
     */
    readonly protected: readonly PortablePath[];
    /** What no tool may read below a read root, in the same two forms. A name gives way where the policy names it. */
    readonly secret: readonly PortablePath[];
  };
  readonly network: NetworkPlan;
  readonly gate: readonly GateRule[];
  readonly budgets: Budgets;
  /** Names of environment variables that the host may read. */
  readonly env: readonly string[];
  /** Field names whose values never reach the log, beside the built-in ones. */
  readonly redact: readonly string[];
  /** Events the run must emit: kind to the least number of them. */
  readonly expectEvents: Readonly<Record<string, number>>;
  readonly expectDenials: readonly ExpectedDenial[];
  readonly context: JsonObject;
  readonly agent: {
    readonly entry: PortablePath;
    /** Every module of the agent with its SHA-256, sorted by path. */
    readonly modules: readonly { readonly path: PortablePath; readonly sha256: string }[];
  } | null;
  readonly unsafe: readonly UnsafeGrant[];
}

/** The absolute folders that a plan's places stand for on this machine. */
export interface Places {
  readonly project: string;
  readonly twokey: string;
  readonly state: string;
}

/** Makes a portable path absolute. */
export function absolute(path: PortablePath, places: Places): string {
  for (const name of ["project", "twokey", "state"] as const) {
    const mark = "${" + name + "}";
    if (path === mark) return places[name];
    if (path.startsWith(mark + "/")) return places[name] + path.slice(mark.length);
  }
  return path;
}

/** Makes an absolute path portable: the innermost place that holds it is named. */
export function portable(path: string, places: Places): PortablePath {
  const names = (["project", "twokey", "state"] as const).toSorted((a, b) => places[b].length - places[a].length);
  for (const name of names) {
    if (path === places[name]) return "${" + name + "}";
    if (path.startsWith(places[name] + "/")) return "${" + name + "}" + path.slice(places[name].length);
  }
  return path;
}
