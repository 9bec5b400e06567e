/**
 * The compiled form of a policy: all that later stages know. Frozen, digestible and portable: places inside the project
 * start with `${project}`, so the same policy and project give the same bytes on any machine.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import type { FileAccess } from "../authority/file_access.ts";
import type { RequirementKind } from "../authority/requirement.ts";
import type { CredentialSpec, Endpoint } from "../tool/define.ts";
import type { ApprovalTerms } from "./approval_terms.ts";
import type { ModelPlan } from "./model_plan.ts";
import type { ProcessPlan } from "./process_plan.ts";
import type { SkillPlan } from "./skill_plan.ts";

/** Every place where agent code can run: from the tightest, the default, to the loosest. */
export const ISOLATIONS = ["process", "worker", "compartment"] as const;

/** Where agent code runs. */
export type Isolation = typeof ISOLATIONS[number];

/**
 * A path that starts with `${project}`, `${twokey}` or `${state}`, or an absolute path outside of all three. A module of
 * a package is `${npm}/<name>@<version>/<file>`, wherever it was installed: it names what is in it, not a place.
 */
export type PortablePath = string;

/** One root that may be read. */
export interface ReadRoot {
  /** A folder or one file. */
  readonly root: PortablePath;
  /** What agents see of the root: relative to the project, else its last segment. Unique within the plan. */
  readonly label: string;
  /** Globs over the path relative to the root; empty admits everything. */
  readonly include: readonly string[];
  /** Globs that are never readable; they win over `include`. */
  readonly exclude: readonly string[];
  /** Set where the root is a file. */
  readonly file?: true;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** One root below which files may be created. */
export interface WriteRoot {
  /** A folder; made by the launcher where it does not exist. */
  readonly root: PortablePath;
  /** What agents and people see of the root, as in {@linkcode ReadRoot}. */
  readonly label: string;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** One granted tool. */
export interface PlannedTool {
  /** Group of the tool, for people. */
  readonly family: string;
  /** SHA-256 of the tool's manifest. */
  readonly manifest: string;
  /** What the tool's manifest says it does with files; absent: nothing, and the gate denies it every path. */
  readonly fs?: FileAccess;
  /** Whether the tool starts programs; absent: the gate denies it every command. */
  readonly process?: true;
  /** Whether the tool asks a person. */
  readonly asks?: true;
  /** Whether the tool loads skills; absent: the gate denies it every one. */
  readonly skills?: true;
  /** Whether the tool keeps the run's list of tasks. */
  readonly tasks?: true;
  /** Deadline of one call, in milliseconds, retries included. */
  readonly timeoutMs: number;
  /** Every request the tool may send, by the name the tool uses. */
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  /**
   * The service whose rules hold for the endpoints; `github`: {@linkcode Plan.github} narrows them; `model`: they are the
   * provider's of {@linkcode Plan.model}, and none where answers are recorded.
   */
  readonly service?: "github" | "model";
  /** How the tool's credential is sent; absent: it takes none. */
  readonly credential?: CredentialSpec;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** Whether a granted tool changes files that exist: without one, write roots only ever take new ones. */
export function editsFiles(plan: Pick<Plan, "tools">): boolean {
  return Object.values(plan.tools).some(({ fs }) => fs === "edit");
}

/** A narrowing rule of the policy's `gate` block. */
export interface GateRule {
  /** `ask` needs an approval of the very call; without one the run stops there. */
  readonly effect: "deny" | "ask";
  /** Kind of requirement that the rule speaks of. */
  readonly kind: RequirementKind;
  /** Tools the rule speaks of; empty means every tool. */
  readonly tools: readonly string[];
  /** A glob: over the path relative to the project for `filesystem.*`, over the URL for `network`, the text otherwise. */
  readonly match: string;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** Every limit of a run; all inclusive. */
export interface Budgets {
  /** Milliseconds of one call, its retries included. */
  readonly toolTimeoutMs: number;
  /** UTF-8 bytes of the arguments of one call. */
  readonly toolArgBytes: number;
  /** UTF-8 bytes of the result of one call. */
  readonly toolResultBytes: number;
  /** UTF-8 bytes of the arguments of all calls. */
  readonly totalArgBytes: number;
  /** UTF-8 bytes of the results of all calls. */
  readonly totalResultBytes: number;
  /** Attempted calls, the denied ones included. */
  readonly toolCalls: number;
  /** Calls at the same time; further ones wait. */
  readonly parallelCalls: number;
  /** Events that the agent emits. */
  readonly events: number;
  /** UTF-8 bytes of all events. */
  readonly eventBytes: number;
  /** UTF-8 bytes of the agent's state. */
  readonly stateBytes: number;
  /** UTF-8 bytes of all audit notes. */
  readonly noteBytes: number;
  /** Uses of the state, looks at the controls and uses after close, together. */
  readonly operations: number;
  /** Bytes of all written files. */
  readonly artifactBytes: number;
  /** Bytes of one file that is read as text; a larger one is listed, not read. */
  readonly readFileBytes: number;
  /** Bytes of one file that is edited or overwritten, before and after. */
  readonly editFileBytes: number;
  /** Files collected below all read roots; further ones are listed as over the limit. */
  readonly readFiles: number;
  /** Bytes that agent and host print on standard error. */
  readonly stderrBytes: number;
  /** Milliseconds of the whole run. */
  readonly wallMs: number;
  /** Milliseconds of processor time of the process that runs the agent. */
  readonly cpuMs: number;
  /** MiB of JavaScript heap, of the agent and of the host each. */
  readonly heapMb: number;
  /** MiB of resident memory of the process that runs the agent, buffers included. */
  readonly rssMb: number;
}

/** How the network tools get their answers. */
export interface NetworkPlan {
  /** Recorded answers; when any are named, nothing else is asked. */
  readonly fixtures: readonly { readonly path: PortablePath; readonly sha256: string }[];
  /** Persistent cache; `null`: none. `offline` asks nobody. A `null` limit is no limit. */
  readonly cache: {
    readonly dir: PortablePath;
    readonly mode: "read-through" | "offline";
    readonly maxAgeMs: number | null;
    readonly maxEntries: number | null;
  } | null;
  /** Attempts after the first, within the call's deadline. */
  readonly retryAttempts: number;
  /** Name of the variable that holds the proxy's URL, and the address it had when the plan was made. */
  readonly proxy: { readonly fromEnv: string } | null;
  /** Certificate authority beside the system's; `null`: none. */
  readonly ca: { readonly fromEnv: string } | { readonly file: PortablePath; readonly sha256: string } | null;
  /** Whether IPv6 is used; its private ranges are then not checked. */
  readonly ipv6: boolean;
}

/** One entry of the repositories that the GitHub tools may read. */
export interface RepositoryGrant {
  /** `owner/name`, or `owner/*` for all of an owner. Compared without case, as GitHub does. */
  readonly match: string;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** An npm package that the agent may import. */
export interface PlannedPackage {
  /** The registry's name, with its scope. */
  readonly name: string;
  /** Exact version, from the project's lock. */
  readonly version: string;
  /** Digest of the package's archive, as the lock writes it: `sha512-…`. The files themselves are in `agent.modules`. */
  readonly integrity: string;
  /** JSON Pointer into the policy: the listed package that this one is, or that brings it along. */
  readonly rule: string;
}

/** A denial that the policy expects: the run fails when it does not come. */
export interface ExpectedDenial {
  /** Tool whose call must be denied. */
  readonly tool: string;
  /** Reason slug; `null` accepts any. */
  readonly code: string | null;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** What the policy expects of the events of one kind. */
export interface ExpectedEvents {
  /** The least number of them. */
  readonly min: number;
  /** The largest number of them; absent: the budget alone. */
  readonly max?: number;
  /** What each of them must fit; absent: anything. */
  readonly schema?: {
    /** JSON Schema without faults, of the part that is checked here. */
    readonly value: JsonObject | boolean;
    /** The file it was read from, with its SHA-256; absent where it stands in the policy. */
    readonly file?: { readonly path: PortablePath; readonly sha256: string };
  };
}

/** Where the state of an agent is kept between runs. */
export interface SessionPlan {
  /** The session file. */
  readonly file: PortablePath;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** Path of the file that a reset sets a session file aside as. */
export function backupOf(path: string): string {
  return `${path}.reset-backup`;
}

/** Something the policy's author accepted in spite of a refusal of the compiler. */
export interface UnsafeGrant {
  /**
   * Which refusal was waived: `outside`, a root outside the project; `interpreter`, a command that runs other code or
   * takes any argument; `unconfined`, programs without confinement; `environment`, a variable that makes programs load
   * code.
   */
  readonly key: "outside" | "interpreter" | "unconfined" | "environment";
  /** The root, the name of the command or of the variable, as the policy names it; `*` for all programs. */
  readonly path: string;
  /** The author's words; printed by `explain`. */
  readonly reason: string;
  /** ISO date, `YYYY-MM-DD`, the last day it holds; `null` for the operator's own flags. */
  readonly expires: string | null;
}

/** A compiled policy. */
export interface Plan {
  /** Version of this form. */
  readonly version: 1;
  /** For people; by default the policy file's name without its ending. */
  readonly name: string;
  /** Digest of the policy's canonical JSON; the path is for people. */
  readonly policy: { readonly path: PortablePath | null; readonly sha256: string };
  /** Where agent code runs. */
  readonly isolation: Isolation;
  /** Sorted by name. */
  readonly tools: Readonly<Record<string, PlannedTool>>;
  /** Roots, and what no root gives access to. */
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
  /** How granted endpoints are reached; which ones, the tools say. */
  readonly network: NetworkPlan;
  /** What the GitHub tools may read; nothing, where empty. */
  readonly github: { readonly repos: readonly RepositoryGrant[] };
  /** The variable that holds the credential of each tool that has one, by the tool's name; each is also in `env`. */
  readonly credentials: Readonly<Record<string, { readonly env: string; readonly rule: string }>>;
  /** Programs that may be started; absent: none. */
  readonly process?: ProcessPlan;
  /** Models that may be asked; absent: none. */
  readonly model?: ModelPlan;
  /** Skills that may be loaded, by name; absent: none. */
  readonly skills?: Readonly<Record<string, SkillPlan>>;
  /** Rules that narrow the grants, in the order of the policy. */
  readonly gate: readonly GateRule[];
  /** How calls are approved; absent: as by default, and only rules ask. */
  readonly approvals?: ApprovalTerms;
  /** Every limit of the run. */
  readonly budgets: Budgets;
  /** Names of environment variables that the host may read. */
  readonly env: readonly string[];
  /** Field names whose values never reach the log, beside the built-in ones. */
  readonly redact: readonly string[];
  /** Events that the run is expected to emit, by kind. */
  readonly expectEvents: Readonly<Record<string, ExpectedEvents>>;
  /** Where the agent's state is kept between runs; absent: it ends with the run. */
  readonly session?: SessionPlan;
  /** Denials without which the run fails. */
  readonly expectDenials: readonly ExpectedDenial[];
  /** Plain JSON that agent code sees as `context`. */
  readonly context: JsonObject;
  /** Packages that the agent may import, sorted by name and version; absent: none. */
  readonly packages?: readonly PlannedPackage[];
  /** The agent's module; `null` where no agent was bundled. */
  readonly agent: {
    readonly entry: PortablePath;
    /** Every module of the agent with its SHA-256, sorted by path. */
    readonly modules: readonly { readonly path: PortablePath; readonly sha256: string }[];
  } | null;
  /** What the author accepted in spite of a refusal. */
  readonly unsafe: readonly UnsafeGrant[];
}

/** The absolute folders that a plan's places stand for on this machine. */
export interface Places {
  /** `${project}`: the folder of the nearest `deno.json` or `.git` at or above the policy. */
  readonly project: string;
  /** `${twokey}`: the folder of this product. */
  readonly twokey: string;
  /** `${state}`: the user's state of this project, outside of it. */
  readonly state: string;
}

/** The folder that holds the user's state of every project: no agent of one may see what another one keeps. */
export function stateHome({ state }: Pick<Places, "state">): string {
  const parent = state.slice(0, state.lastIndexOf("/"));
  return parent.endsWith("/twokey") ? parent : state;
}

/** Where the modules of a package are in a plan, the slash behind it included: `${npm}/<name>@<version>/`. */
export function packagePlace({ name, version }: Pick<PlannedPackage, "name" | "version">): string {
  return "${npm}/" + `${name}@${version}/`;
}

/** Whether the network tools of a plan ask the network: not where every answer is recorded, or the cache alone answers. */
export function asksNetwork({ fixtures, cache }: NetworkPlan): boolean {
  return fixtures.length === 0 && cache?.mode !== "offline";
}

/** One endpoint that a run may really ask. */
export interface AskedEndpoint {
  /** Name of the tool that asks it. */
  readonly tool: string;
  /** As declared. */
  readonly method: "GET" | "POST";
  /** As declared, with its places. */
  readonly url: string;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** Every endpoint that a run may really ask: what is recorded, or comes from an offline cache, is asked of nobody. */
export function askedEndpoints({ tools, network }: Plan): readonly AskedEndpoint[] {
  return Object.entries(tools).flatMap(([tool, { endpoints, service, rule }]) =>
    service === "model" || asksNetwork(network)
      ? Object.values(endpoints).map(({ method, url }) => ({ tool, method, url, rule }))
      : []
  );
}

/** Whether a portable path lies in the project, or is it. */
export function isInProject(path: PortablePath): boolean {
  return path === "${project}" || path.startsWith("${project}/");
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
