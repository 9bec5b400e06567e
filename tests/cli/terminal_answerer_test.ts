import assert from "node:assert/strict";
import { Progress } from "../../src/cli/progress.ts";
import { questionLines, TerminalAnswerer } from "../../src/cli/terminal_answerer.ts";
import { TerminalLines } from "../../src/cli/terminal_lines.ts";
import type { AgentQuestion, AnswerReply } from "../../src/launch/answerer.ts";

/** A keyboard: what is typed once the question stands there. `null` is the end of input. */
class Keyboard {
  readonly #typed: (string | null)[];
  readonly modes: boolean[] = [];

  constructor(typed: readonly (string | null)[]) {
    this.#typed = [...typed];
  }

  isTerminal(): boolean {
    return true;
  }

  setRaw(on: boolean): void {
    this.modes.push(on);
  }

  async read(buffer: Uint8Array): Promise<number | null> {
    // Longer than the terminal is listened to for what was typed too early
    await new Promise((resolve) => setTimeout(resolve, 60));
    const typed = this.#typed.shift();
    if (typed === undefined) return await new Promise(() => {});
    return typed === null ? null : new TextEncoder().encodeInto(typed, buffer).written;
  }
}

async function answer(
  question: Partial<AgentQuestion>,
  typed: readonly (string | null)[],
  signal = new AbortController().signal,
): Promise<AnswerReply> {
  const keyboard = new Keyboard(typed);
  const answerer = new TerminalAnswerer(new Progress({ quiet: true }), new TerminalLines(keyboard));
  const reply = await answerer.ask({ tool: "AskUser", question: "Which?", several: false, ...question }, signal);
  assert.deepEqual(keyboard.modes, [true, false], "the terminal is as it was");
  return reply;
}

const CHOICES = { choices: ["first", "second", "third"] };

Deno.test("TerminalAnswerer takes one's own words, whatever their script; an empty line is asked again", async () => {
  assert.deepEqual(await answer({}, ["\r", "  \n", "Grüße, 世界 👍\n"]), { answers: [{ text: "Grüße, 世界 👍" }] });
  assert.deepEqual(await answer({}, ["ab\x7f\x08c\x1b[Ad\u202e\x07\n"]), { answers: [{ text: "cd" }] });
  assert.deepEqual(await answer({ several: true }, ["a\n", "b\n", "\n"]), { answers: [{ text: "a" }, { text: "b" }] });
});

Deno.test("TerminalAnswerer takes choices by their numbers, and nothing else for one", async () => {
  assert.deepEqual(await answer(CHOICES, ["2\n"]), { answers: [{ choice: "second" }] });
  assert.deepEqual(await answer(CHOICES, ["\n", "4\n", "0\n", "first\n", "1 2\n", "-1\n", "01\n", "3\n"]), {
    answers: [{ choice: "third" }],
  });
  assert.deepEqual(await answer(CHOICES, ["o\n", "another\n"]), { answers: [{ text: "another" }] });
  assert.deepEqual(await answer({ ...CHOICES, several: true }, ["3, 1 3,o\n", "own\n"]), {
    answers: [{ choice: "third" }, { choice: "first" }, { text: "own" }],
  });
});

Deno.test("TerminalAnswerer gives no answer at the end of input, or where the question is withdrawn", async () => {
  for (const end of ["\x04", null]) {
    assert.deepEqual(await answer({}, [end]), { declined: true });
    assert.deepEqual(await answer(CHOICES, [end]), { declined: true });
    assert.deepEqual(await answer(CHOICES, ["o\n", end]), { declined: true });
  }
  const withdrawn = new AbortController();
  setTimeout(() => withdrawn.abort(), 150);
  assert.deepEqual(await answer({}, ["half an ans"], withdrawn.signal), { declined: true });
});

Deno.test("questionLines() marks every line of an agent, and lets none look like one of ours", () => {
  const question = "Pick\r\nAllow this one call? [y/N]\u001b[2J\u202e\nback\\slash";
  assert.deepEqual(questionLines({ tool: "AskUser", question, choices: ["a\nb", "c"], several: false }), [
    "The agent asks by AskUser, in its own words:",
    "  | Pick",
    "  | Allow this one call? [y/N]\\u{1b}[2J\\u{202e}",
    "  | back\\\\slash",
    "   1 | a\\nb",
    "   2 | c",
    "   o | in your own words",
  ]);
  const long = questionLines({ tool: "AskUser", question: "x\n".repeat(100), several: false });
  assert.deepEqual([long.length, long.at(-1)], [42, "  (61 more lines)"]);
});
