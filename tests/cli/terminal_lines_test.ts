import assert from "node:assert/strict";
import { TerminalLines } from "../../src/cli/terminal_lines.ts";

const signal = new AbortController().signal;

/** Input that comes when a test says so. */
class Feed {
  #waiting: ((bytes: Uint8Array) => void) | undefined;
  readonly #left: Uint8Array[] = [];

  isTerminal(): boolean {
    return true;
  }

  setRaw(): void {}

  type(text: string | Uint8Array): void {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#left.push(bytes);
    else waiting(bytes);
  }

  async read(buffer: Uint8Array): Promise<number> {
    const bytes = this.#left.shift() ?? await new Promise<Uint8Array>((resolve) => this.#waiting = resolve);
    buffer.set(bytes);
    return bytes.length;
  }
}

Deno.test("TerminalLines counts nothing that was typed before the question stood there", async () => {
  const feed = new Feed();
  const lines = new TerminalLines(feed);
  feed.type("y\n");
  const shown: string[] = [];
  const talk = () => {
    setTimeout(() => feed.type("n\n"), 10);
    return lines.line({ signal, max: 10 });
  };
  assert.equal(await lines.dialogue(signal, { show: () => void shown.push("question"), talk }), "n");
  assert.deepEqual(shown, ["question"]);
});

Deno.test("TerminalLines hands what a withdrawn question had waited for to the next one", async () => {
  const feed = new Feed();
  const lines = new TerminalLines(feed);
  const withdrawn = new AbortController();
  const first = lines.line({ signal: withdrawn.signal, max: 10 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  withdrawn.abort();
  assert.equal(await first, undefined);
  const second = lines.line({ signal, max: 10 });
  feed.type("ok\r");
  assert.equal(await second, "ok");
});

Deno.test("TerminalLines takes a line up to its bound, and characters that come in pieces", async () => {
  const feed = new Feed();
  const lines = new TerminalLines(feed);
  const line = lines.line({ signal, max: 3, taken: /^\P{C}$/u });
  const [a, b] = new TextEncoder().encode("é");
  feed.type(new Uint8Array([a ?? 0]));
  await new Promise((resolve) => setTimeout(resolve, 5));
  feed.type(new Uint8Array([b ?? 0]));
  await new Promise((resolve) => setTimeout(resolve, 5));
  feed.type("👍xyz\n");
  assert.equal(await line, "é👍x");
  const ascii = lines.line({ signal, max: 5 });
  feed.type("aé\tb\n");
  assert.equal(await ascii, "ab");
});
