/**
 * Runs the agent of a log again, against its recording: the same modules, isolation, budgets, clock and seed, and a
 * host that is granted nothing at all.
 *
 * @module
 */
import type { Record as AuditRecord, RecordBody } from "../audit/record.ts";
import type { RecordingHeader } from "../audit/recording.ts";
import { isInside, resolvePath } from "../authority/path.ts";
import { DataError } from "../errors.ts";
import { canonical, deepFreeze, digest, isJsonObject, type Json, type JsonObject } from "../json.ts";
import { BUDGETS } from "../plan/budgets.ts";
import {
  absolute,
  type Budgets,
  type ExpectedEvents,
  type Isolation,
  ISOLATIONS,
  type Plan,
  type PlannedTool,
} from "../plan/plan.ts";
import type { LoadedPolicy } from "../policy/load.ts";
import { schemaProblem } from "../policy/event_schema_fact.ts";
import { policyFromFlags } from "../policy/from_flags.ts";
import { execute, type Executed, startGroundwork } from "./execute.ts";
import { ModuleError, readModule } from "./module_file.ts";
import { PACKAGED } from "./package_resolver.ts";
import { type PreparedRun, prepareRun } from "./prepare.ts";

/** Changed modules that an error names, at most. */
const MAX_NAMED = 10;

/** A verified recording, and the first record of the log that vouches for it. */
export interface Recorded {
  readonly start: AuditRecord;
  readonly header: RecordingHeader;
  /** Whole lines of the recording, the header included. */
  readonly bytes: Uint8Array;
  /** Head of the log, for the rerun's own first record. */
  readonly head: string;
}

/** How it is run again. */
export interface RerunOptions {
  /** Real absolute path of the project that holds the agent. */
  readonly project: string;
  /** Folder for the rerun's own folder; the default is where a run of this policy has it. */
  readonly runsDir?: string;
  /** Hears one line when something takes long. */
  onProgress?(line: string): void;
  onRecord(body: RecordBody): void;
  /** One line of standard error: untrusted, not escaped. */
  onStderr(source: "host" | "agent", line: string): void;
}

/** A rerun that has ended. */
export interface Rerun extends Executed {
  /** The bundle that ran, and the plan that grants nothing. */
  readonly prepared: PreparedRun;
}

/**
 * Runs an agent again.
 *
 * @throws {DataError} `rerun_changed` if the agent's modules are not, byte for byte, what the log says ran; `rerun_start`
 * if the log's first record is none of an agent's run.
 * @throws {AuditError} If the rerun's own log cannot be written.
 */
export async function rerunAgent(recorded: Recorded, options: RerunOptions): Promise<Rerun> {
  const { start, head } = recorded;
  const prepared = await prepareRerun(recorded, options);
  const executed = await execute(prepared, {
    groundwork: startGroundwork(),
    ...(options.runsDir === undefined ? {} : { runsDir: options.runsDir }),
    start: { command: "replay", rerun: { run_id: start.run_id, head } },
    rerun: { recording: recorded.bytes, clock: clockOf(start), seed: seedOf(start) },
    onRecord: (body) => options.onRecord(body),
    onStderr: (source, line) => options.onStderr(source, line),
  });
  return { ...executed, prepared };
}

/**
 * Compiles the plan of a rerun: what the agent can notice is as the log says, and nothing is granted.
 *
 * @throws {DataError} As {@linkcode rerunAgent}.
 */
export async function prepareRerun(
  { start, header }: Pick<Recorded, "start" | "header">,
  { project, onProgress }: Pick<RerunOptions, "project" | "onProgress">,
): Promise<PreparedRun> {
  const agent = start.agent ?? null;
  const entry = isJsonObject(agent) ? agent.entry : undefined;
  if (!isJsonObject(agent) || typeof entry !== "string") {
    throw badStart("it is not the run of an agent", "Name the log of a `twokey run --record`");
  }
  const places = { project, twokey: project, state: project };
  const path = resolvePath("/", absolute(entry, places));
  await assertUnchanged(agent, project);
  // Compiled from the agent alone: no root, no endpoint, no program, no variable. What follows adds none.
  const loaded = withPackages(await policyFromFlags({ agent: path }, project), agent);
  const bare = await prepareRun(loaded, { fresh: true, ...(onProgress === undefined ? {} : { onProgress }) });
  if (canonical(bare.plan.agent) !== canonical(agent)) {
    throw changed(["the list of its modules"]);
  }
  const { file, policy } = policyOf(start, bare);
  const plan: Plan = deepFreeze({
    ...bare.plan,
    name: typeof start.name === "string" ? start.name : bare.plan.name,
    policy,
    isolation: isolationOf(start),
    budgets: budgetsOf(start),
    tools: toolsOf(start),
    redact: [...header.redact],
    expectEvents: await expectedEventsOf(start, header),
    context: isJsonObject(header.context) ? header.context : {},
  });
  return { ...bare, loaded: { ...bare.loaded, file }, plan };
}

/** Lets the agent import the packages that the log names files of. */
function withPackages(loaded: LoadedPolicy, { modules }: JsonObject): LoadedPolicy {
  const names = new Set<string>();
  for (const module of Array.isArray(modules) ? modules as readonly Json[] : []) {
    const path = isJsonObject(module) && typeof module.path === "string" ? module.path : "";
    const name = /^\$\{npm\}\/((?:@[^/@]+\/)?[^/@]+)@/.exec(path)?.[1];
    if (name !== undefined) names.add(name);
  }
  return names.size === 0 ? loaded : { ...loaded, policy: { ...loaded.policy, packages: [...names] } };
}

/** Compares every module with its digest before any of it is read as code. */
async function assertUnchanged({ modules }: JsonObject, project: string): Promise<void> {
  if (!Array.isArray(modules) || modules.length === 0) throw badStart("it names no module of an agent");
  const found: string[] = [];
  for (const module of modules as readonly Json[]) {
    if (!isJsonObject(module) || typeof module.path !== "string" || typeof module.sha256 !== "string") {
      throw badStart("its list of modules has no known form");
    }
    const path = resolvePath("/", absolute(module.path, { project, twokey: project, state: project }));
    // A package's files are proven where the bundle is made: against its lock, and then against this very list.
    if (module.path.startsWith(PACKAGED)) continue;
    if (!isInside(project, path) || path === project) {
      throw badStart("a module of its agent lies outside of the project", "Run it in the project of the run");
    }
    try {
      const { sha256 } = await readModule(project, path.slice(project.length + 1));
      if (sha256 !== module.sha256) found.push(`${module.path} is another`);
    } catch (error) {
      if (!(error instanceof ModuleError)) throw error;
      found.push(`${module.path} is ${error.message}`);
    }
  }
  if (found.length > 0) throw changed(found);
}

function changed(what: readonly string[]): DataError {
  const more = what.length > MAX_NAMED ? `, and ${what.length - MAX_NAMED} more` : "";
  return new DataError(
    "rerun_changed",
    `Cannot run again: the agent is not the one that was recorded: ${what.slice(0, MAX_NAMED).join(", ")}${more}`,
    { fix: "Check out what ran then, in the project of the run, or record a new run" },
  );
}

function badStart(what: string, fix?: string): DataError {
  const message = `Cannot run again: ${what}, as the log's first record says`;
  return new DataError("rerun_start", message, fix === undefined ? {} : { fix });
}

/** The policy as the log names it: for the rerun's own record and the place of its log; nothing of it is read. */
function policyOf(
  { policy }: AuditRecord,
  { places }: PreparedRun,
): { readonly file: string | null; readonly policy: Plan["policy"] } {
  if (!isJsonObject(policy) || typeof policy.sha256 !== "string") throw badStart("it names no policy");
  const path = typeof policy.path === "string" ? policy.path : null;
  return { file: path === null ? null : absolute(path, places), policy: { path, sha256: policy.sha256 } };
}

function isolationOf({ isolation }: AuditRecord): Isolation {
  const known = ISOLATIONS.find((name) => name === isolation);
  if (known === undefined) throw badStart("it has no isolation that this twokey knows");
  return known;
}

/** The budgets of the run; one that it did not have yet is the default. */
function budgetsOf({ budgets }: AuditRecord): Budgets {
  if (!isJsonObject(budgets)) throw badStart("it names no budgets");
  const entries = Object.entries(BUDGETS).map(([name, { value, min, max }]) => {
    const own = Object.hasOwn(budgets, name) ? budgets[name] : value;
    if (typeof own !== "number" || !Number.isSafeInteger(own) || own < min || own > max) {
      throw badStart(`its budget ${name} is out of bounds`);
    }
    return [name, own];
  });
  return Object.fromEntries(entries) as unknown as Budgets;
}

/** The names that were granted: an agent is told of them, and a call of any other is refused as it was then. */
function toolsOf({ tools }: AuditRecord): Record<string, PlannedTool> {
  if (!isJsonObject(tools)) throw badStart("it names no tools");
  return Object.fromEntries(
    Object.entries(tools).map(([name, manifest]) => [name, {
      family: "recorded",
      manifest: String(manifest),
      timeoutMs: BUDGETS.toolTimeoutMs.max,
      endpoints: {},
      rule: "/tools",
    }]),
  );
}

/** What was expected of events: as the recording holds it, where that is what the log has the digests of. */
async function expectedEventsOf(
  { expect_events: logged }: AuditRecord,
  { expect }: RecordingHeader,
): Promise<Record<string, ExpectedEvents>> {
  const expected: [string, ExpectedEvents][] = [];
  for (const [kind, known] of Object.entries(isJsonObject(logged) ? logged : {})) {
    const held = isJsonObject(expect) ? expect[kind] : undefined;
    if (!isJsonObject(known) || !isJsonObject(held)) {
      throw badStart(`it does not say what it expects of "${kind}" events`);
    }
    const { min, max, schema } = held;
    const hash = schema === undefined ? undefined : await digest(schema);
    if (min !== known.min || max !== known.max || hash !== known.schema_sha256) {
      throw badStart(`what it expects of "${kind}" events is not what the recording holds`);
    }
    if (schema !== undefined && await schemaProblem(schema) !== null) {
      throw badStart(`its schema of "${kind}" events is none that a policy could have`);
    }
    expected.push([kind, {
      min: Number(min),
      ...(max === undefined ? {} : { max: Number(max) }),
      ...(isJsonObject(schema) || typeof schema === "boolean" ? { schema: { value: schema } } : {}),
    }]);
  }
  return Object.fromEntries(expected);
}

function clockOf({ clock }: AuditRecord): number {
  if (typeof clock !== "number" || !Number.isSafeInteger(clock)) throw badStart("it has no clock");
  return clock;
}

function seedOf({ seed }: AuditRecord): string {
  if (typeof seed !== "string" || !/^[0-9a-f]{32}$/.test(seed)) throw badStart("it has no seed");
  return seed;
}
