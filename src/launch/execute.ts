/**
 * Executes a prepared run: makes its folders, gathers its inputs, compiles its flags, launches it.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { RECORDING_FILE, RECORDING_VERSION } from "../audit/recording.ts";
import { SECRET_FIELDS } from "../audit/redact.ts";
import { ControlError, InputError } from "../errors.ts";
import { digest, type Json, type JsonObject, sha256 } from "../json.ts";
import { hostFlags } from "../plan/flags.ts";
import { CANARY_VARIABLE, IPV6_CANARY_ADDRESS, type Key1Options } from "../plan/key1.ts";
import { absolute, type Places, type Plan, portable } from "../plan/plan.ts";
import type { ApprovalOptions } from "./approver.ts";
import { type ChannelPaths, makeChannels } from "./channels.ts";
import { launch } from "./launch.ts";
import { assertPlatform } from "./platform.ts";
import type { LaunchOptions, RunEnd } from "./launch_options.ts";
import { openApprovals } from "./open_approvals.ts";
import { denoDirOf } from "../authority/deno_dir.ts";
import { startedBy } from "../plan/program_setup.ts";
import { findPrebuilt } from "./prebuilt.ts";
import { type PreparedRun, readCa, readFixtures } from "./prepare.ts";
import { prepareStarts, type ProgramStarts } from "./program_starts.ts";
import { assertRunId, makeRunDir, makeRunId, makeRunsDir } from "./run_dir.ts";
import { redactorOf, unusedSecrets } from "./run_secrets.ts";
import type { RunSession, RunSessionOptions } from "./run_session.ts";
import { type BaseSystem, findBaseSystem } from "./spawn.ts";
import { cacheKey, makeDir, makePrivateDir } from "./state_dir.ts";
import { unsetCredentials, withAdvice, withoutCredentialText } from "./unset_credentials.ts";

/** A run that was started early, while its policy was still being read. */
export interface Groundwork {
  readonly channels: Promise<ChannelPaths>;
  readonly base: Promise<BaseSystem>;
}

/** Starts what needs no policy. */
export function startGroundwork(): Groundwork {
  assertPlatform();
  const channels = makeChannels();
  // Whoever awaits it hears of a failure; until then it is not unhandled.
  channels.catch(() => {});
  return { channels, base: findBaseSystem() };
}

/** Drops what was started for a run that does not come. */
export async function dropGroundwork({ channels }: Groundwork): Promise<void> {
  try {
    await Deno.remove((await channels).dir, { recursive: true });
  } catch {
    // it was never made
  }
}

/** What the caller hands to a run beside its policy: data, no authority. */
export interface RunInputs {
  /** In place of the policy's `context`. */
  readonly context?: JsonObject;
  /** What the state starts with where no session holds one. */
  readonly state?: JsonObject;
  /** Name of the run and its folder; default: made from the time. */
  readonly runId?: string;
}

/** Options of {@linkcode execute}. */
export interface ExecuteOptions extends RunInputs {
  readonly groundwork: Groundwork;
  /** Folder for the run's own folder; the default is `.twokey/runs` in the project. */
  readonly runsDir?: string;
  /** Further fields of `run_start`. */
  readonly start?: JsonObject;
  /** Decides on every call and lets no tool act. */
  readonly dryRun?: boolean;
  /** Keeps what the agent asks and receives in a file beside the log, so that it can be run again. */
  readonly record?: boolean;
  /** Answers from a verified recording, on the clock and seed of its run. The plan must grant nothing. */
  readonly rerun?: { readonly recording: Uint8Array; readonly clock: number; readonly seed: string };
  /** Who approves calls that ask. */
  readonly approvals?: ApprovalOptions;
  /** Whether the run refuses whatever its lock does not say: programs must be confined then. */
  readonly locked?: boolean;
  /** Whether the policy's session is loaded and saved; it is not where something else than its agent runs. */
  readonly withSession?: boolean;
  /** Hears what whoever started the run should know of it before it begins: lines without a newline at the end. */
  onNotice?(text: string): void;
  onRecord(body: RecordBody): void;
  onStderr(source: "host" | "agent", line: string): void;
}

/** An executed run. */
export interface Executed {
  /** How it ended, as `run_end` says. */
  readonly end: RunEnd;
  /** Name of the run's folder: `YYYYMMDD-HHMMSS-<6 hex>`. */
  readonly runId: string;
  /** Absolute path of the audit log. */
  readonly auditPath: string;
}

/**
 * Executes a prepared run.
 *
 * @throws {AuditError} If its log cannot be written. @throws {ControlError} If its programs must be confined and cannot be.
 */
export async function execute(prepared: PreparedRun, options: ExecuteOptions): Promise<Executed> {
  const { plan, places } = prepared;
  const egress = new EgressRecords();
  let starts: ProgramStarts | undefined;
  let session: RunSession | undefined;
  try {
    const [base, channels, fixtures, caPem, proxy] = await Promise.all([
      options.groundwork.base,
      options.groundwork.channels,
      readFixtures(plan, places),
      readCa(plan, places),
      readProxy(plan),
      makePrivateDir(places.state),
    ]);
    if (options.runId !== undefined) assertRunId(options.runId);
    if (options.state !== undefined) {
      const { assertStateFits } = await import("./run_session.ts");
      assertStateFits(options.state, plan, "--state-json");
    }
    await makeRoots(plan, places);
    // Before programs are prepared: what is to be hidden from them must be there, and nobody may make it later.
    if (plan.process !== undefined) await makeRunsDir(prepared, options.runsDir);
    if (options.withSession === true) session = await openSession({ plan, places, initial: options.state });
    starts = await prepareStarts({
      plan,
      places,
      programs: prepared.programs,
      locked: options.locked ?? false,
      env: (name) => Deno.env.get(name),
      onEgress: (fields) => egress.take(fields),
    });
    const gathered = { base, channels, fixtures, caPem, proxy, starts, egress, session };
    return await executeWith(prepared, options, gathered);
  } catch (error) {
    await dropGroundwork(options.groundwork);
    throw error;
  } finally {
    session?.close();
    await starts?.close();
  }
}

/** Most runs keep no session, and do not load what keeps one. */
async function openSession(options: RunSessionOptions): Promise<RunSession | undefined> {
  if (options.plan.session === undefined) return undefined;
  const { RunSession } = await import("./run_session.ts");
  return await RunSession.open(options);
}

/** What was gathered for a run. */
interface Gathered {
  readonly base: BaseSystem;
  readonly channels: ChannelPaths;
  readonly fixtures: Readonly<Record<string, string>>;
  readonly caPem: string | undefined;
  readonly proxy: Key1Options;
  readonly starts: ProgramStarts | undefined;
  readonly egress: EgressRecords;
  readonly session: RunSession | undefined;
}

async function executeWith(
  prepared: PreparedRun,
  options: ExecuteOptions,
  { base, channels, fixtures, caPem, proxy, starts, egress, session }: Gathered,
): Promise<Executed> {
  const { plan, places } = prepared;
  const now = Date.now();
  const runId = options.runId ?? makeRunId(now);
  const state = session?.state ?? options.state ?? {};
  const { clock, seed } = options.rerun ?? { clock: now, seed: crypto.getRandomValues(new Uint8Array(16)).toHex() };
  // Before the run's folder is made: a run that cannot be asked about leaves none.
  const approvals = await openApprovals(prepared, options);
  const [auditDir, key] = await Promise.all([
    makeRunDir(prepared, runId, {
      ...(options.runsDir === undefined ? {} : { runsDir: options.runsDir }),
      named: options.runId !== undefined,
    }),
    cacheKey(places.state),
  ]);
  const unset = options.dryRun === true ? [] : unsetCredentials(plan, (name) => Deno.env.get(name));
  for (const one of unset) if (one.optional) options.onNotice?.(withoutCredentialText(one, prepared.loaded));
  if (options.state !== undefined && session?.loaded.existed === true) {
    options.onNotice?.(
      `note: --state-json counts for nothing: the session holds a state, of turn ${session.turnId}; ` +
        "`twokey reset` starts it anew",
    );
  }
  const start = await startRecord(prepared, {
    clock,
    seed,
    proxy,
    extra: {
      ...starts?.record,
      ...await inputRecord(options, session?.loaded.existed === true),
      state_controls: {
        mode: session === undefined ? "run" : "session",
        file: session === undefined ? null : plan.session?.file ?? null,
        max_state_bytes: plan.budgets.stateBytes,
        close_revocation: "enforced",
      },
      ...approvals?.start,
      ...questionsIn(plan, options),
      ...(unset.length === 0 ? {} : { credentials_unset: unset.map(({ env }) => env) }),
      ...options.start,
      ...(options.dryRun === true ? { dry_run: true } : {}),
      ...(options.record === true
        ? { recording: { file: RECORDING_FILE, version: RECORDING_VERSION, bundle: await sha256(prepared.code) } }
        : {}),
    },
  });
  const run = starts === undefined ? {} : { run: startedBy(starts.setup) };
  const hidden = unusedSecrets(prepared);
  const end = await launch({
    // what the caller hands over is no part of the plan, which a lock covers
    plan: options.context === undefined ? plan : { ...plan, context: options.context },
    state,
    session,
    places,
    base,
    channels,
    hostFlags: hostFlags(plan, places, { ...proxy, ...startGrants(channels, plan), ...run }),
    hostEnv: hostEnv(plan),
    hostMain: findPrebuilt("host") ?? `${places.twokey}/src/host/main.ts`,
    agentBoot: `${places.twokey}/src/isolate/process_boot.js`,
    code: prepared.code,
    fixtures,
    redactor: redactorOf(plan, { passed: starts?.setup.passed ?? {}, hidden }),
    hidden,
    cacheKey: key,
    caPem,
    runId,
    auditPath: `${auditDir}/audit.jsonl`,
    start,
    clock,
    seed,
    programs: starts === undefined ? undefined : {
      setup: starts.setup,
      prefix: starts.prefix,
      attach: (write) => egress.attach(write),
      findWritten: starts.findWritten,
      ended: () => starts.endEgress(),
    },
    approvals: approvals?.parts,
    answerer: answererOf(options),
    dryRun: options.dryRun ?? false,
    recordingPath: options.record === true ? `${auditDir}/${RECORDING_FILE}` : undefined,
    rerun: options.rerun?.recording,
    onRecord: options.onRecord,
    onStderr: options.onStderr,
  });
  return { end: withAdvice(end, unset, prepared.loaded), runId, auditPath: `${auditDir}/audit.jsonl` };
}

/** What the egress process says, kept until there is a log. */
class EgressRecords {
  readonly #waiting: JsonObject[] = [];
  #write: ((body: RecordBody) => void) | undefined;

  take(fields: JsonObject): void {
    if (this.#write === undefined) this.#waiting.push(fields);
    else this.#write({ type: "process_egress", ...fields });
  }

  attach(write: (body: RecordBody) => void): void {
    this.#write = write;
    for (const fields of this.#waiting.splice(0)) this.take(fields);
  }
}

function answererOf({ approvals }: ExecuteOptions): LaunchOptions["answerer"] {
  const { answer, via = "callback" } = approvals ?? {};
  return answer === undefined ? undefined : { answer, via };
}

/** Who is there for the questions of agents, where any can ask. */
function questionsIn({ tools }: Plan, options: ExecuteOptions): JsonObject {
  if (!Object.values(tools).some(({ asks }) => asks === true)) return {};
  return { user_questions: { mode: answererOf(options)?.via ?? "headless" } };
}

/** Makes the folders that the host may write into; the host itself cannot make what lies above them. */
async function makeRoots(plan: Plan, places: Places): Promise<void> {
  for (const { root } of plan.fs.write) {
    const path = absolute(root, places);
    await makeDir(path, { above: path.startsWith(`${places.project}/`) ? places.project : "/", mode: 0o755 });
  }
  const { cache } = plan.network;
  if (cache !== null) await makePrivateDir(absolute(cache.dir, places));
}

/** What is expected of events, with a schema by its digest. */
async function expectRecord(expectEvents: Plan["expectEvents"]): Promise<JsonObject> {
  const fields = await Promise.all(
    Object.entries(expectEvents).map(async ([kind, { min, max, schema }]): Promise<[string, JsonObject]> => [kind, {
      min,
      ...(max === undefined ? {} : { max }),
      ...(schema === undefined ? {} : { schema_sha256: await digest(schema.value) }),
    }]),
  );
  return Object.fromEntries(fields);
}

/**
 * What the caller handed over, by its digest: a later run on the same data can tell. `isKept`: the session holds a state,
 * which counts in place of that.
 */
async function inputRecord({ context, state }: RunInputs, isKept: boolean): Promise<JsonObject> {
  return {
    ...(context === undefined ? {} : { context_sha256: await digest(context) }),
    ...(state === undefined ? {} : { state_sha256: await digest(state), state_by: isKept ? "session" : "flag" }),
  };
}

async function startRecord(
  { plan, places }: PreparedRun,
  { clock, seed, proxy, extra }: { clock: number; seed: string; proxy: Key1Options; extra: JsonObject },
): Promise<JsonObject> {
  const { agent, budgets, isolation, name, policy, tools, unsafe, expectDenials, expectEvents } = plan;
  return {
    name,
    policy,
    plan: await digest(plan),
    agent: agent === null ? null : { entry: agent.entry, modules: agent.modules as unknown as Json },
    tools: Object.fromEntries(Object.entries(tools).map(([tool, { manifest }]) => [tool, manifest])),
    isolation,
    deno: Deno.version.deno,
    platform: `${Deno.build.os}-${Deno.build.arch}`,
    flags: hostFlags(plan, places, { portable: true, ...(proxy.proxyAddress === undefined ? {} : proxy) }),
    clock,
    seed,
    budgets: { ...budgets },
    expect_denials: expectDenials.map(({ tool, code }) => ({ tool, code })),
    expect_events: await expectRecord(expectEvents),
    event_budget: { max_events: budgets.events, max_event_bytes: budgets.eventBytes },
    audit_redaction: { common_fields: [...SECRET_FIELDS], policy_fields: [...plan.redact], known_secrets: "enforced" },
    unsafe: unsafe.map((grant) => ({ ...grant, path: portable(grant.path, places) })),
    ...extra,
  };
}

/** What the host needs at start alone: it gives these grants up before the agent starts. */
export function startGrants(channels: ChannelPaths, { isolation, network }: Plan): Key1Options {
  const { records, answers, agentToHost, hostToAgent } = channels;
  const process = isolation === "process";
  return {
    extraRead: process ? [answers, agentToHost] : [answers],
    extraWrite: process ? [records, hostToAgent] : [records],
    ...(network.ipv6 ? {} : { extraNet: [IPV6_CANARY_ADDRESS] }),
  };
}

/** The host's environment: the variables that the plan names, Deno's cache, and a canary that nobody was granted. */
function hostEnv(plan: Plan): Record<string, string> {
  const cache = denoDirOf((name) => Deno.env.get(name));
  const env: Record<string, string> = { [CANARY_VARIABLE]: "visible", ...(cache === null ? {} : { DENO_DIR: cache }) };
  for (const name of plan.env) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/** The address of the proxy that a plan names, as it is in the caller's environment now. */
async function readProxy({ network: { proxy } }: Plan): Promise<Key1Options> {
  if (proxy === null) return {};
  const value = Deno.env.get(proxy.fromEnv);
  if (value === undefined || value === "") {
    throw new InputError("proxy_unset", `Cannot use the proxy: the variable "${proxy.fromEnv}" is not set`);
  }
  const url = URL.parse(value);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new ControlError(
      "control_proxy",
      `Cannot use the proxy: the variable "${proxy.fromEnv}" must hold http://host:port or https://host:port`,
    );
  }
  const port = url.port === "" ? (url.protocol === "http:" ? "80" : "443") : url.port;
  return { proxyAddress: `${url.hostname}:${port}`, proxyResolved: await resolve(url.hostname) };
}

async function resolve(hostname: string): Promise<string[]> {
  if (/^[\d.]+$/.test(hostname) || hostname.startsWith("[")) return [];
  if (hostname === "localhost") return ["127.0.0.1"];
  try {
    return await Deno.resolveDns(hostname, "A");
  } catch {
    return [];
  }
}
