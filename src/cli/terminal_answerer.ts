/**
 * Asks the person at the terminal what an agent wants to know.
 *
 * @module
 */
import { type AgentQuestion, type AnswerReply, MAX_ANSWER_TEXT, type PersonsAnswer } from "../launch/answerer.ts";
import { breakLine } from "../report/break_line.ts";
import { escapeText } from "../report/escape.ts";
import { columnsOf, err, styleFor } from "./io.ts";
import type { Progress } from "./progress.ts";
import type { TerminalLines } from "./terminal_lines.ts";

/** Lines of a question that are shown: more of them would push everything else off the screen. */
const MAX_LINES = 40;
/** Answers in one's own words to one question, at most. */
const MAX_TEXTS = 32;
/** Every character but those that control, hide or reorder others. */
const WRITTEN = /^[^\p{C}\p{Zl}\p{Zp}]$/u;

/** What a line comes to: answers, no answer at all, or that it has to be asked again. */
type Taken = readonly PersonsAnswer[] | "none" | "again";

/** Asks at the terminal, one question at a time. */
export class TerminalAnswerer {
  readonly #progress: Progress;
  readonly #terminal: TerminalLines;

  /** Asks by way of a reader that it may share with others who ask. */
  constructor(progress: Progress, terminal: TerminalLines) {
    this.#progress = progress;
    this.#terminal = terminal;
  }

  /** Asks. An end of input is no answer; an empty line is asked again. */
  async ask(question: AgentQuestion, signal: AbortSignal): Promise<AnswerReply> {
    this.#progress.hold();
    try {
      return await this.#terminal.dialogue(signal, {
        show: () =>
          err(`\n${questionLines(question, styleFor(Deno.stderr).heading, columnsOf(Deno.stderr)).join("\n")}\n`),
        talk: async () => {
          const answers = await this.#talk(question, signal);
          return answers === "none" ? { declined: true } : { answers };
        },
      });
    } finally {
      this.#progress.release();
    }
  }

  async #talk(question: AgentQuestion, signal: AbortSignal): Promise<Exclude<Taken, "again">> {
    while (true) {
      const taken = question.choices === undefined
        ? await this.#texts(question.several, signal)
        : await this.#choose(question.choices, question.several, signal);
      if (taken !== "again") return taken;
    }
  }

  async #choose(choices: readonly string[], several: boolean, signal: AbortSignal): Promise<Taken> {
    const numbers = choices.length === 1 ? "1" : `1-${choices.length}`;
    const line = await this.#line(`Answer (${numbers}${several ? ", several" : ""}, o, Ctrl-D for none): `, signal);
    if (line === null) return "none";
    const words = [...new Set(line.split(/[\s,]+/).filter((word) => word !== ""))];
    const picked = choicesOf(words, choices);
    if (words.length === 0 || picked === undefined || (!several && words.length > 1)) return "again";
    if (!words.includes("o")) return picked;
    const own = await this.#texts(false, signal);
    return own === "none" ? own : [...picked, ...own];
  }

  async #texts(several: boolean, signal: AbortSignal): Promise<Exclude<Taken, "again">> {
    const texts: PersonsAnswer[] = [];
    while (texts.length < (several ? MAX_TEXTS : 1)) {
      const prompt = texts.length === 0
        ? `Your words${several ? ", an empty line ends them" : ""} (Ctrl-D for none): `
        : "More, or an empty line: ";
      const line = await this.#line(prompt, signal);
      if (line === null) return "none";
      if (line.trim() !== "") texts.push({ text: line });
      else if (texts.length > 0) break;
    }
    return texts;
  }

  /** A line; `null` where there is none, or the question is withdrawn. */
  async #line(prompt: string, signal: AbortSignal): Promise<string | null> {
    err(prompt);
    const line = await this.#terminal.line({ signal, max: MAX_ANSWER_TEXT, taken: WRITTEN });
    if (line === undefined) err("\nthe question is withdrawn\n");
    else if (line === null) err("\nno answer given\n");
    return line ?? null;
  }
}

/** The choices behind numbers; `undefined` where one has none. `o` is no number. */
function choicesOf(words: readonly string[], choices: readonly string[]): readonly PersonsAnswer[] | undefined {
  const picked: PersonsAnswer[] = [];
  for (const word of words) {
    if (word === "o") continue;
    const choice = /^[1-9]\d?$/.test(word) ? choices[Number(word) - 1] : undefined;
    if (choice === undefined) return undefined;
    picked.push({ choice });
  }
  return picked;
}

/**
 * A question as it stands on the screen. Each of its lines is marked as the agent's: none can pass for one of ours.
 *
 * @param heading Makes the first line stand out.
 * @param columns Columns of the terminal: longer lines are broken here, with a mark, before it breaks them without one.
 */
export function questionLines(
  { tool, question, choices }: AgentQuestion,
  heading: (text: string) => string = (text) => text,
  columns: number = Infinity,
): string[] {
  const lines = question.split(/\r\n?|\n/);
  const more = lines.length - MAX_LINES;
  return [
    heading(`The agent asks by ${escapeText(tool)}, in its own words:`),
    ...lines.slice(0, MAX_LINES).flatMap((line) => breakLine(`  | ${escapeText(line)}`, columns)),
    ...(more > 0 ? [`  (${more} more ${more === 1 ? "line" : "lines"})`] : []),
    ...(choices ?? []).flatMap((choice, index) =>
      breakLine(`  ${String(index + 1).padStart(2)} | ${escapeText(choice)}`, columns)
    ),
    ...(choices === undefined ? [] : ["   o | in your own words"]),
  ];
}
