/**
 * What a run needs, and how it ended.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import type { Redactor } from "../audit/redact.ts";
import type { Position } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { Places, Plan, PortablePath } from "../plan/plan.ts";
import type { ProgramSetup } from "../plan/program_setup.ts";
import type { ChannelPaths } from "./channels.ts";
import type { RunSession } from "./run_session.ts";
import type { ApprovalsOptions } from "./approvals.ts";
import type { QuestionsOptions } from "./questions.ts";
import type { BaseSystem } from "./spawn.ts";

/** What a run needs. */
export interface LaunchOptions {
  readonly plan: Plan;
  readonly places: Places;
  readonly base: BaseSystem;
  readonly channels: ChannelPaths;
  /** Deno flags of the host, FIFOs included. */
  readonly hostFlags: readonly string[];
  /** Environment of the host: exactly what the plan names, and what Deno itself needs. */
  readonly hostEnv: Readonly<Record<string, string>>;
  readonly hostMain: string;
  readonly agentBoot: string;
  /** The agent's checked bundle. */
  readonly code: string;
  /** Recorded answers and other inputs that the launcher read and checked, by the path that the plan names. */
  readonly fixtures: Readonly<Record<string, string>>;
  /** Knows the credentials of the policy: what either process prints is scrubbed of them. */
  readonly redactor: Redactor;
  /** Credentials of the policy that the run does not use, by the name of their variable: the host keeps them out of the log. */
  readonly hidden?: Readonly<Record<string, string>>;
  /** 64 hexadecimal digits; authenticates cache envelopes. */
  readonly cacheKey: string;
  /** Text of the certificate authority that the plan names. */
  readonly caPem: string | undefined;
  readonly runId: string;
  readonly auditPath: string;
  /** Fields of `run_start`, without its type. */
  readonly start: JsonObject;
  readonly clock: number;
  readonly seed: string;
  /** How programs are started, and what gives the host a namespace for them; absent where the plan names none. */
  readonly programs?: {
    readonly setup: ProgramSetup;
    readonly prefix: readonly string[];
    /** Is handed what writes a record of the launcher's own, once the log is open. */
    attach(write: (body: RecordBody) => void): void;
    /** What a confined program wrote that no tool may write; asked once the host is gone, and every program with it. */
    findWritten(): PortablePath | undefined;
    /** Called once no program is left, before the run's last record: what was counted meanwhile is handed over. */
    ended(): Promise<void>;
  } | undefined;
  /** What the agent's state starts with; absent: nothing. */
  readonly state?: JsonObject;
  /** What keeps the state between runs; absent where it ends with the run. */
  readonly session?: RunSession | undefined;
  /** How calls that ask are approved; absent where none can ask. */
  readonly approvals?: Omit<ApprovalsOptions, "plan" | "runId" | "redactor" | "now" | "turns"> | undefined;
  /** Who answers what agents ask; absent where nobody does. */
  readonly answerer?: QuestionsOptions["answerer"];
  /** Decides on every call and lets no tool act. */
  readonly dryRun?: boolean;
  /** Path of the recording to make; absent: none is made. */
  readonly recordingPath?: string | undefined;
  /** A verified recording to answer from; the plan grants nothing then. */
  readonly rerun?: Uint8Array | undefined;
  /** Every record of the host, once it is in the log. */
  onRecord(body: RecordBody): void;
  /** One line of standard error: untrusted, not escaped. */
  onStderr(source: "host" | "agent", line: string): void;
}

/** How a run ended. */
export interface RunEnd {
  /** `ok` only with the reason `done`. */
  readonly status: "ok" | "error";
  /** Reason slug; `done` when all is well. */
  readonly reason: string;
  /** What the agent threw: untrusted. */
  readonly error: JsonObject | undefined;
  /** JSON text of the module's `outcome` export. */
  readonly value: string | undefined;
  /** What the host attested before the agent started. */
  readonly attestation: JsonObject | undefined;
  /** A control that did not hold, with what is known of it; where a line of the policy is behind it, its place and the fix. */
  readonly control:
    | { readonly code: string; readonly message: string; readonly position?: Position; readonly fix?: string }
    | undefined;
  /** Calls that had started and have no outcome. */
  readonly inFlight: readonly { readonly call_id: string; readonly tool: string }[];
  /** Hash of the last record, for `audit verify --head`. */
  readonly head: string;
  /** Records in the log, `run_end` included. */
  readonly records: number;
}
