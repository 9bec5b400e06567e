/**
 * The questions of one run to a person. The host says what a tool wants to know; who is asked, and what counts as an
 * answer, is decided here.
 *
 * @module
 */
import type { Redactor } from "../audit/redact.ts";
import { AuditError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { Plan } from "../plan/plan.ts";
import { after } from "./after.ts";
import {
  type AgentQuestion,
  type Answerer,
  type AnswerReply,
  MAX_ANSWER_TEXT,
  type PersonsAnswer,
} from "./answerer.ts";
import type { Turns } from "./turns.ts";

const MAX_QUESTION = 4096;
const MAX_CHOICES = 32;
const MAX_CHOICE = 256;
/** A day: the longest time that a question can give. */
const MAX_TIMEOUT_MS = 86_400_000;
/** Longer ones would be cut by the pipe's other end. */
const NOT_ASCII_REGEXP = /[^ -~]/g;

/** Who answers, for the log. */
export type AnswerVia = "terminal" | "callback" | "headless";

/** What the questions of a run are made of. */
export interface QuestionsOptions {
  readonly plan: Plan;
  readonly redactor: Redactor;
  readonly answerer?: { readonly answer: Answerer; readonly via: "terminal" | "callback" } | undefined;
  /** Approvals wait in the same line. */
  readonly turns: Turns;
}

/** What the run does for its questions. */
export interface QuestionsRun {
  /** Sends the host one line. */
  answer(line: string): void;
  /** A question of a call begins or ends: meanwhile neither the run's clock nor the call's runs on. */
  asking(callId: string, on: boolean): void;
}

/** What became of a question. */
type Settled =
  | { readonly status: "answered"; readonly answers: readonly PersonsAnswer[] }
  | { readonly status: "no_human" | "declined" | "timeout" | "failed" };

/** The questions of one run. */
export class Questions {
  readonly #options: QuestionsOptions;
  readonly #run: QuestionsRun;
  readonly #known = new Set<string>();
  readonly #over = new AbortController();

  constructor(options: QuestionsOptions, run: QuestionsRun) {
    this.#options = options;
    this.#run = run;
  }

  /** Takes what the host asks. The answer goes to the host whenever there is one. @throws {AuditError} If it is no question. */
  ask(body: JsonObject): void {
    const { call_id: callId, timeout_ms: timeoutMs } = body;
    if (typeof callId !== "string" || this.#known.has(callId)) throw notAQuestion();
    const question = this.#read(body);
    const ms = typeof timeoutMs === "number" && timeoutMs > 0 ? Math.min(timeoutMs, MAX_TIMEOUT_MS) : undefined;
    this.#known.add(callId);
    this.#settle(callId, question, ms);
  }

  /** Withdraws what is still asked. */
  close(): void {
    this.#over.abort();
  }

  async #settle(callId: string, question: AgentQuestion, timeoutMs: number | undefined): Promise<void> {
    const { answerer, turns } = this.#options;
    this.#run.asking(callId, true);
    const settled: Settled = answerer === undefined
      ? { status: "no_human" }
      : await turns.next(() => this.#askNow(question, answerer.answer, timeoutMs));
    this.#run.asking(callId, false);
    const reply = { call_id: callId, via: answerer?.via ?? "headless", ...settled };
    this.#run.answer(`d ${asciiJson(reply as unknown as Json)}`);
  }

  /** Never rejects. */
  async #askNow(question: AgentQuestion, answer: Answerer, timeoutMs: number | undefined): Promise<Settled> {
    if (this.#over.signal.aborted) return { status: "declined" };
    const withdrawn = new AbortController();
    const late = Promise.withResolvers<Settled>();
    const withdraw = (status: "timeout" | "declined") => {
      late.resolve({ status });
      withdrawn.abort();
    };
    const onOver = () => withdraw("declined");
    this.#over.signal.addEventListener("abort", onOver, { once: true });
    const takeBack = timeoutMs === undefined ? undefined : after(timeoutMs, () => withdraw("timeout"));
    try {
      return await Promise.race([callAnswerer(answer, question, withdrawn.signal), late.promise]);
    } finally {
      takeBack?.();
      this.#over.signal.removeEventListener("abort", onOver);
    }
  }

  /** Reads a question of the host, which is believed no more than any other of its lines. */
  #read({ tool, question, choices, several }: JsonObject): AgentQuestion {
    const { plan, redactor: { scrub } } = this.#options;
    if (typeof tool !== "string" || !Object.hasOwn(plan.tools, tool) || plan.tools[tool]?.asks !== true) {
      throw notAQuestion();
    }
    if (!isText(question, MAX_QUESTION) || typeof several !== "boolean") throw notAQuestion();
    if (choices === undefined) return { tool, question: scrub(question), several };
    if (!Array.isArray(choices) || choices.length > MAX_CHOICES) throw notAQuestion();
    if (!(choices as readonly Json[]).every((choice) => isText(choice, MAX_CHOICE))) throw notAQuestion();
    return { tool, question: scrub(question), choices: choices as readonly string[], several };
  }
}

async function callAnswerer(answer: Answerer, question: AgentQuestion, signal: AbortSignal): Promise<Settled> {
  try {
    return settledOf(await answer(question, signal), question);
  } catch {
    return { status: "failed" };
  }
}

/** What an answer comes to: only one that fits its question is one. */
function settledOf(reply: AnswerReply, { choices = [], several }: AgentQuestion): Settled {
  if ("declined" in reply) return { status: "declined" };
  const { answers } = reply;
  if (!Array.isArray(answers) || answers.length === 0 || answers.length > (several ? MAX_CHOICES + 1 : 1)) {
    return { status: "failed" };
  }
  const kept: PersonsAnswer[] = [];
  for (const answer of answers as readonly Partial<{ choice: unknown; text: unknown }>[]) {
    if (typeof answer.choice === "string") {
      const { choice } = answer;
      if (!choices.includes(choice) || kept.some((one) => "choice" in one && one.choice === choice)) {
        return { status: "failed" };
      }
      kept.push({ choice });
    } else if (typeof answer.text === "string" && answer.text.length <= MAX_ANSWER_TEXT) {
      kept.push({ text: answer.text.toWellFormed() });
    } else return { status: "failed" };
  }
  return { status: "answered", answers: kept };
}

/** JSON of ASCII alone: the host takes a line apart byte by byte. */
function asciiJson(value: Json): string {
  return JSON.stringify(value).replaceAll(
    NOT_ASCII_REGEXP,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function isText(value: Json | undefined, max: number): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= max;
}

function notAQuestion(): AuditError {
  return new AuditError("audit_question", "Cannot take a line of the host: it asks no question that there could be");
}
