/**
 * What keeps the order of a run: a recorder notes it down, a rerun holds the agent to it. A plain run has neither.
 *
 * @module
 */
import type { AskedEntry, EndEntry } from "../audit/recording.ts";
import { ASKED } from "../audit/recording.ts";
import type { Redactor } from "../audit/redact.ts";
import type { Sha256 } from "../audit/sha256.ts";
import { canonical, type Json, type JsonObject, utf8Length } from "../json.ts";
import { copyIn } from "../membrane/copy.ts";
import type { Outcome } from "./ended.ts";
import { type Head, isId, MAX_OUTCOME_BYTES } from "./frame.ts";
import type { Answer } from "./outbox.ts";

/** How a session ends. */
export interface SessionEnd {
  readonly status: "ok" | "error";
  /** Reason slug; `done` when all is well. */
  readonly reason: string;
  /** What the agent threw, in its own words: untrusted. */
  readonly error?: JsonObject;
  /** JSON text of the module's `outcome` export. */
  readonly value?: string;
}

/** How a session ends whose agent came to its end; `outcome` is the JSON text of its module's export: untrusted. */
export function endWith(outcome: string | undefined): SessionEnd {
  if (outcome === undefined || !copyIn(outcome).ok) return { status: "ok", reason: "done" };
  if (utf8Length(outcome) > MAX_OUTCOME_BYTES) return { status: "error", reason: "outcome_too_large" };
  return { status: "ok", reason: "done", value: outcome };
}

/** What a session tells, and asks of, the keeper of its order. */
export interface Transcript {
  /** Whether timers are answered from a recording: none runs then. */
  readonly isRerun: boolean;
  /** Names where answers go, and what ends the session. Called once, before any other. */
  attach(session: { send(line: string): void; end(end: SessionEnd): void }): void;
  /** Takes a line of the agent before anything else does. Returns whether it may be handled. */
  asked(head: Head, body: string | undefined): boolean;
  /** Names the id that answers a call. */
  began(callId: string, id: number): void;
  /** Takes the outcome of a call as its record is made; returns further fields of that record. */
  settled(callId: string, outcome: Outcome): JsonObject;
  /** Takes an answer; sends it in its turn. */
  answer(answer: Answer): void;
  /** Called when a line was handled and nothing of it is left to do but what is asynchronous. */
  handled(): void;
  /** Takes the end of the session; returns how it ends in this run. */
  ended(end: SessionEnd): SessionEnd;
}

/** What digests are made with: values are scrubbed first, so that they are equal where a rerun is given a marker. */
export interface DigestOptions {
  readonly redactor: Pick<Redactor, "scrub" | "scrubValue">;
  readonly sha256: Sha256;
}

/** Longest name for people, in characters. */
const MAX_NAME = 256;
/** What counts of a head, beside its operation and id. */
const COMPARED = ["name", "bad", "do", "key", "surface", "ms"] as const;

/** Describes a line of the agent; `undefined` where its operation is none that is compared. */
export function askedEntry(head: Head, body: string | undefined, options: DigestOptions): AskedEntry | undefined {
  const { redactor, sha256 } = options;
  const what = ASKED.find((name) => name === head.op);
  if (what === undefined) return undefined;
  const whole: { [field: string]: Json } = { what };
  for (const name of COMPARED) {
    if (head[name] !== undefined) whole[name] = head[name] as Json;
  }
  if (body !== undefined) whole.body = plainOf(body);
  const name = nameOf(head);
  return {
    op: "asked",
    what,
    ...(isId(head.id) ? { id: head.id } : {}),
    ...(name === undefined ? {} : { name: redactor.scrub(name).slice(0, MAX_NAME).toWellFormed() }),
    sha256: sha256(canonical(redactor.scrubValue(whole))),
  };
}

/** Describes how a session ended. */
export function endEntry({ status, reason, error, value }: SessionEnd, options: DigestOptions): EndEntry {
  const { redactor, sha256 } = options;
  const whole = { status, reason, error: error ?? null, ...(value === undefined ? {} : { value: plainOf(value) }) };
  return { op: "end", status, reason, sha256: sha256(canonical(redactor.scrubValue(whole))) };
}

/** What a line carries: the value, or a text that is none wrapped so that it equals no value. */
function plainOf(body: string): Json {
  const copied = copyIn(body);
  return copied.ok ? { value: copied.value } : { text: body.toWellFormed() };
}

function nameOf({ op, name, do: act, key, surface }: Head): string | undefined {
  switch (op) {
    case "call":
      return typeof name === "string" ? name : undefined;
    case "state":
      return typeof act !== "string" ? undefined : typeof key === "string" ? `${act} ${key}` : act;
    case "closed":
      return typeof surface === "string" ? surface : undefined;
    default:
      return undefined;
  }
}

/** What an agent is sent for the outcome of a call. */
export function answerOf(id: number, outcome: Outcome): Answer {
  if (outcome.kind === "result") return { id, failed: false, text: outcome.text };
  const { kind, code, message } = outcome;
  return { id, failed: true, text: JSON.stringify({ outcome: kind, code, message }) };
}
