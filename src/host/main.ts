/**
 * The host: the process that holds the tools, under exactly the permissions that the plan compiles to.
 *
 * Order at start: open the pipes and give up the right to open them; read the plan; load the tools' powers; attest; say
 * so; and only then let the agent begin.
 *
 * @module
 */
import { auditValue, makeRedactor, MIN_SECRET_BYTES, type Redactor } from "../audit/redact.ts";
import { GrowingSha256 } from "../audit/sha256.ts";
import type { RecordBody } from "../audit/record.ts";
import { BugError, ControlError, EXIT, TwokeyError } from "../errors.ts";
import { isSecretVariable } from "../authority/variables.ts";
import { type Gate, makeGate } from "../gate/decide.ts";
import { type Json, type JsonObject, sha256 as webSha256, utf8Length } from "../json.ts";
import type { Isolate, IsolateEvents } from "../isolate/isolate.ts";
import { mayAsk } from "../plan/approval_terms.ts";
import type { Places, Plan } from "../plan/plan.ts";
import { type Key1, key1 } from "../plan/key1.ts";
import { type ProgramSetup, startedBy } from "../plan/program_setup.ts";
import type { AuditMode, Tool } from "../tool/define.ts";
import { TOOLS } from "../tools/registry.ts";
import { attest, type AttestOptions } from "./attest.ts";
import type { CallHost } from "./call.ts";
import type { RunContext } from "./context.ts";
import { type Credentials, readCredentials } from "./credentials.ts";
import { Deadlines } from "./deadlines.ts";
import type { EventCheck } from "./event_check.ts";
import { MAX_OUTCOME_BYTES } from "./frame.ts";
import { auditOf, modelNote } from "./model_records.ts";
import { loadParts, PowerBox } from "./powers.ts";
import { openOnce, readFirstLine } from "./pipes.ts";
import { RecordChannel } from "./records.ts";
import { Session } from "./session.ts";
import type { SessionEnd } from "./transcript.ts";

/** A host that has opened its pipes and read its first line. */
interface Started {
  readonly init: Init;
  readonly channel: RecordChannel;
  readonly ends: { readonly fromAgent: Deno.FsFile; readonly toAgent: Deno.FsFile } | undefined;
  readonly credentials: Credentials;
  readonly redactor: Redactor;
}

/** The first line of the launcher. */
interface Init {
  readonly plan: Plan;
  readonly places: Places;
  readonly fixtures: Readonly<Record<string, string>>;
  readonly cacheKey: string;
  readonly caPem: string | null;
  readonly code: string;
  readonly clock: number;
  readonly seed: string;
  readonly canary: string;
  readonly dryRun: boolean;
  /** What the state starts with. */
  readonly state: JsonObject;
  /** The session that keeps it; absent where it ends with the run. */
  readonly session?: {
    readonly turnId: number;
    /** The list of tasks that the run before left. */
    readonly tasks?: JsonObject;
  };
  /** Credentials of the policy that the run does not use, by the name of their variable; absent where there are none. */
  readonly hidden?: Readonly<Record<string, string>>;
  /** How programs are started; absent where the plan names none. */
  readonly programs?: ProgramSetup;
  /** Notes down what the agent asks and receives. */
  readonly record?: true;
  /** Answers from a recording of so many bytes, which the launcher sends when it is asked to, and acts on nothing. */
  readonly rerun?: { readonly bytes: number };
}

/** The parts that hold the two keys. The shipped host is made of {@linkcode SHIPPED}. */
export interface HostParts {
  /** Proves key 1. @throws {ControlError} If it does not hold. */
  attest(permissions: Key1, options: AttestOptions): Promise<JsonObject>;
  /** Key 2: makes the one function that decides. */
  makeGate(plan: Plan, places: Places): Gate;
  /** Key 2: loaders of every tool that a plan can grant, by name. */
  readonly tools: typeof TOOLS;
}

/** The parts of the shipped host. */
export const SHIPPED: HostParts = Object.freeze({ attest, makeGate, tools: TOOLS });

/** Values over this size are digested in the log even where a tool says that they are kept. */
const MAX_KEPT_BYTES = 65_536;
/** Answers as large as the whole state that an agent may ask for before it reads. */
const MAX_UNREAD_STATES = 64;
/** Longest text of a fault that is no error of ours, in characters. */
const MAX_FAULT = 2000;
/** What a line of the agent may hold beside its body. */
const HEAD_BYTES = 65_536;
/** Bytes from which on an asynchronous hash is the faster one, until the fast one is loaded. */
const LARGE_BYTES = 16_384;

if (import.meta.main) await runHost(SHIPPED);

/**
 * Runs a host to its end, with the pipes that its arguments name. The process ends with it.
 *
 * A host of other parts is for tests, which leave out one key to see the other hold alone.
 */
export async function runHost(hostParts: HostParts): Promise<void> {
  const [recordsPath, answersPath, agentToHost, hostToAgent, launcherPid] = Deno.args;
  if (
    recordsPath === undefined || answersPath === undefined || agentToHost === undefined || hostToAgent === undefined
  ) {
    return Deno.exit(EXIT.usage);
  }
  if (Deno.ppid !== Number(launcherPid)) return Deno.exit(EXIT.ended);
  const records = openOnce("write", recordsPath);
  const answers = openOnce("read", answersPath);
  const init = JSON.parse(readFirstLine(answers)) as Init;
  const isProcess = init.plan.isolation === "process";
  const ends = isProcess
    ? { fromAgent: openOnce("read", agentToHost), toAgent: openOnce("write", hostToAgent) }
    : undefined;
  let redactor = makeRedactor({ fields: init.plan.redact, secrets: new Map() });
  const channel = new RecordChannel({ records, answers }, (value) => redactor.redact(value));
  try {
    const { credentials, secrets } = readCredentials(init.plan, (name) => Deno.env.get(name), { sends: !init.dryRun });
    const known = new Map([...secrets, ...passedSecrets(init), ...Object.entries(init.hidden ?? {})]);
    redactor = makeRedactor({ fields: init.plan.redact, secrets: known });
    await serve(hostParts, { init, channel, ends, credentials, redactor });
  } catch (error) {
    leave(channel, error);
  }
}

async function serve(
  hostParts: HostParts,
  { init, channel, ends, credentials, redactor }: Started,
): Promise<void> {
  const { plan, places } = init;
  const hash = new GrowingSha256();
  const run = makeRunContext(init, channel, { hash, credentials });
  const { programs } = init;
  const decide = hostParts.makeGate(plan, places);
  const parts = await loadParts(run, {
    decide,
    caPem: init.caPem ?? undefined,
    questions: (callId, question) => channel.question(callId, question),
    tasks: init.session?.tasks,
    programs: programs === undefined ? undefined : {
      setup: programs,
      scrub: () => redactor.stream(),
      tell: (word, pid) => programs.namespaced ? undefined : channel.control(word, { pid }),
    },
  });
  const permissions = key1(plan, places, programs === undefined ? {} : { run: startedBy(programs) });
  const attestation = await hostParts.attest(permissions, {
    canaryPath: init.canary,
    ipv4: () => parts.network?.ipv4Canary(),
  });
  for (const body of parts.source?.manifestRecords() ?? []) channel.send(body);
  const ownControls = controlsOf(init);
  const order = init.record === undefined && init.rerun === undefined
    ? undefined
    : await (await import("./order.ts")).makeOrder(init, {
      tools: hostParts.tools,
      channel,
      redactor,
      sha256: hash.digest,
      controls: ownControls,
    });
  channel.send({ type: "authority_check", ...attestation, ...order?.fields });

  const over = Promise.withResolvers<SessionEnd>();
  const box = new PowerBox(run, parts);
  const host = {
    ...makeCallHost(run, channel, { tools: hostParts.tools, decide, box, dryRun: init.dryRun }),
    ...order?.calls,
  };
  const controls = order?.controls ?? ownControls;
  const session = new Session({
    plan,
    host,
    controls,
    state: init.state,
    keepsState: init.session !== undefined,
    eventChecks: await eventChecks(plan),
    transcript: order?.transcript,
    record: (body) => channel.send(body),
    end: over.resolve,
    fault: over.reject,
  });
  const isolate = await makeIsolate(plan, ends, {
    line: (line) => session.line(line),
    gone: (reason) => session.gone(reason),
  });
  session.attach(isolate);
  await isolate.ready();
  channel.control("ready", attestation);
  if (channel.readLine() !== "go") throw new ControlError("control_no_go", "Cannot start: the launcher said no");
  // A realm that is locked down may not load it any more.
  if (plan.isolation === "compartment") await hash.load();
  const start = {
    context: JSON.stringify(plan.context),
    controls: JSON.stringify(controls),
    now: init.clock,
    seed: init.seed,
    ordered: order !== undefined,
  };
  await isolate.start(start, init.code);
  isolate.serve(session).catch(over.reject);
  const end = await over.promise;
  if (init.session !== undefined && end.status === "ok") {
    channel.hand("state", session.stateText);
    if (parts.tasks !== undefined) channel.hand("tasks", parts.tasks.text);
  }
  channel.control("end", end as unknown as JsonObject);
  Deno.exit(EXIT.ok);
}

/** Says why the host cannot go on, as far as it still can, and ends it. */
function leave(channel: RecordChannel, error: unknown): never {
  const code = error instanceof TwokeyError ? error.code : "host_fault";
  const message = error instanceof TwokeyError ? error.message : textOf(error);
  try {
    channel.control("fault", { code, message });
  } catch {
    // the launcher is gone as well
  }
  return Deno.exit(error instanceof TwokeyError ? error.exit : EXIT.ended);
}

/** Text of whatever was thrown: printing it may itself fail. */
function textOf(error: unknown): string {
  try {
    return String(error).slice(0, MAX_FAULT);
  } catch {
    return "what was thrown cannot be printed";
  }
}

/** Values that programs are given under the names of secrets: no program shows them to an agent or to the log. */
function passedSecrets({ programs }: Init): [string, string][] {
  return Object.entries(programs?.passed ?? {}).filter(([name, value]) =>
    isSecretVariable(name) && utf8Length(value) >= MIN_SECRET_BYTES
  );
}

function makeRunContext(
  { plan, places, fixtures, cacheKey, seed }: Init,
  channel: RecordChannel,
  { hash, credentials }: { readonly hash: GrowingSha256; readonly credentials: Credentials },
): RunContext {
  const secret = new Set(Object.values(plan.credentials).map(({ env }) => env));
  return {
    plan,
    places,
    fixtures,
    cacheKey: Uint8Array.fromHex(cacheKey),
    credentials,
    env: (name) => plan.env.includes(name) && !secret.has(name) ? Deno.env.get(name) : undefined,
    temporaryOwner: seed.slice(0, 8),
    now: Date.now,
    sha256: (data) => {
      if (hash.isFast || data.length <= LARGE_BYTES) return hash.digest(data);
      hash.spend(data.length);
      return webSha256(data);
    },
    record: (body) => channel.send(body),
  };
}

function makeCallHost(
  run: RunContext,
  channel: RecordChannel,
  { tools: loaders, decide, box, dryRun }: {
    readonly tools: HostParts["tools"];
    readonly decide: Gate;
    readonly box: PowerBox;
    readonly dryRun: boolean;
  },
): CallHost {
  const { plan } = run;
  const tools = new Map<string, Tool | Promise<Tool>>();
  return {
    budgets: plan.budgets,
    dryRun,
    timeoutMs: (name) => Object.hasOwn(plan.tools, name) ? plan.tools[name]?.timeoutMs : undefined,
    tool: (name) => {
      const known = tools.get(name);
      if (known !== undefined) return known;
      const loading = loadTool(loaders, name).then((tool) => {
        tools.set(name, tool);
        return tool;
      });
      tools.set(name, loading);
      return loading;
    },
    resolver: (tool) => box.resolver(tool),
    powers: (tool, call) => box.powers(tool, call),
    decide,
    turn: (name) => box.turn(name),
    auditOf: (tool) => auditOf(plan, tool),
    note: (tool) => ({ ...run.credentials.note(tool), ...modelNote(plan, tool, run.credentials) }),
    audit: (value, mode, { bytes, printed }) => {
      const bounded = mode === "keep" && bytes > MAX_KEPT_BYTES ? boundedMode(value) : mode;
      return auditValue(value, bounded, { sha256: run.sha256, printed });
    },
    record: (body) => channel.send(body),
    recordAndWait: (body: RecordBody) => channel.sendAndWait(body),
    ...(mayAsk(plan) ? { approve: (callId, question) => channel.ask(callId, { ...question }) } : {}),
    now: Date.now,
    deadlines: new Deadlines(Date.now),
    totals: { calls: 0, argBytes: 0, resultBytes: 0 },
  };
}

function loadTool(tools: HostParts["tools"], name: string): Promise<Tool> {
  const load = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (load === undefined) {
    throw new BugError("bug_no_tool", "Cannot load a tool: the plan grants one that is not there");
  }
  return load();
}

/** A value that is a small part of something large is kept all the same. */
function boundedMode(value: Json): AuditMode {
  return JSON.stringify(value).length > MAX_KEPT_BYTES ? "digest" : "keep";
}

async function makeIsolate(
  plan: Plan,
  ends: { fromAgent: Deno.FsFile; toAgent: Deno.FsFile } | undefined,
  events: IsolateEvents,
): Promise<Isolate> {
  const { toolArgBytes, toolResultBytes, parallelCalls, eventBytes, stateBytes, noteBytes } = plan.budgets;
  // a module's outcome may be the result of a tool, as it was
  const outcomeBytes = Math.min(toolResultBytes, MAX_OUTCOME_BYTES);
  const maxLineBytes = Math.max(toolArgBytes, eventBytes, stateBytes, noteBytes, outcomeBytes) + HEAD_BYTES;
  switch (plan.isolation) {
    case "process": {
      if (ends === undefined) throw new BugError("bug_no_ends", "Cannot join the agent: its pipes are not open");
      const { ProcessIsolate } = await import("../isolate/process.ts");
      const maxQueuedBytes = parallelCalls * toolResultBytes + MAX_UNREAD_STATES * stateBytes + maxLineBytes;
      return new ProcessIsolate(ends, events, { maxLineBytes, maxQueuedBytes });
    }
    case "worker": {
      const { WorkerIsolate } = await import("../isolate/worker.ts");
      return new WorkerIsolate(events, maxLineBytes);
    }
    case "compartment": {
      const { CompartmentIsolate } = await import("../isolate/compartment.ts");
      return new CompartmentIsolate(events);
    }
  }
}

/** Loads the checker of events where a schema needs one: most runs do not pay for it. */
async function eventChecks(plan: Plan): Promise<ReadonlyMap<string, EventCheck>> {
  if (Object.values(plan.expectEvents).every(({ schema }) => schema === undefined)) return new Map();
  const { loadEventChecks } = await import("./event_check.ts");
  return await loadEventChecks(plan);
}

/** What an agent may know of its own bounds: no path, no host. */
function controlsOf({ plan, session }: Init): JsonObject {
  const { isolation, budgets, tools, expectEvents, redact } = plan;
  const expected = Object.entries(expectEvents).map(([kind, { min, max, schema }]): [string, JsonObject] => [
    kind,
    { min, max: max ?? null, schema: schema !== undefined },
  ]);
  return {
    isolation,
    tools: Object.keys(tools),
    budgets: { ...budgets },
    registry: "explicit",
    ambient_authority: "denied_by_default",
    events: {
      expected: Object.fromEntries(expected),
      max_events: budgets.events,
      max_event_bytes: budgets.eventBytes,
    },
    state: {
      mode: session === undefined ? "run" : "session",
      turn_id: session?.turnId ?? null,
      max_state_bytes: budgets.stateBytes,
    },
    redaction: { fields: [...redact], known_secrets: "enforced" },
    revocation: "close",
  };
}
