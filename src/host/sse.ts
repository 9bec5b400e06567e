/**
 * Server-sent events (WHATWG HTML, section 9.2) from bytes that arrive in pieces. Every byte is hostile.
 *
 * @module
 */

/** One event. */
export interface SseEvent {
  /** The `event` field; empty where the event has none. */
  readonly name: string;
  /** The `data` fields, joined by line feeds. */
  readonly data: string;
}

/** Why a stream cannot be read on. */
export class SseError extends Error {
  /** `too_long`: an event is larger than its limit. `not_text`: the bytes are not UTF-8. */
  readonly reason: "too_long" | "not_text";

  /** Made by {@linkcode SseParser} only. */
  constructor(reason: "too_long" | "not_text") {
    super(reason);
    this.reason = reason;
  }
}

/**
 * Takes a stream apart. Holds one event at most: what is longer than `limit` UTF-16 units, its field names included, ends
 * the stream. Lines end with LF, CRLF or CR, also across pieces; comments and unknown fields are dropped; an event that no
 * empty line ends is none.
 */
export class SseParser {
  readonly #limit: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  /** The line that has no end yet, in pieces: joining them at each piece would cost the square of their number. */
  #pieces: string[] = [];
  #held = 0;
  #name = "";
  #data: string[] = [];
  #dataUnits = 0;
  #afterReturn = false;

  /** Makes a parser for one stream. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a piece; returns the events that it completes, in order. @throws {SseError} For what it cannot read. */
  push(bytes: Uint8Array): readonly SseEvent[] {
    let text: string;
    try {
      text = this.#decoder.decode(bytes, { stream: true });
    } catch {
      throw new SseError("not_text");
    }
    const events: SseEvent[] = [];
    let at = 0;
    if (this.#afterReturn && text !== "") {
      if (text.startsWith("\n")) at = 1;
      this.#afterReturn = false;
    }
    const ends = new LineEnds(text);
    for (;;) {
      const end = ends.next(at);
      if (end < 0) break;
      this.#take(this.#lineWith(text.slice(at, end)), events);
      at = end + 1;
      if (text[end] !== "\r") continue;
      if (text[at] === "\n") at++;
      else if (at === text.length) this.#afterReturn = true;
    }
    if (at < text.length) {
      this.#pieces.push(text.slice(at));
      this.#held += text.length - at;
      this.#assertFits();
    }
    return events;
  }

  /** The line that `rest` completes. */
  #lineWith(rest: string): string {
    this.#held += rest.length;
    this.#assertFits();
    const line = this.#pieces.length === 0 ? rest : this.#pieces.join("") + rest;
    this.#pieces = [];
    this.#held = 0;
    return line;
  }

  #assertFits(): void {
    if (this.#held + this.#dataUnits > this.#limit) throw new SseError("too_long");
  }

  #take(line: string, events: SseEvent[]): void {
    if (line === "") {
      if (this.#data.length > 0) events.push({ name: this.#name, data: this.#data.join("\n") });
      this.#name = "";
      this.#data = [];
      this.#dataUnits = 0;
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    if (field !== "data" && field !== "event") return;
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#name = value;
    else {
      this.#data.push(value);
      // Empty lines count as well: a list of them takes memory
      this.#dataUnits += value.length + 1;
      this.#assertFits();
    }
  }
}

/** Finds the ends of the lines of a text: each of the two characters is looked for once over all of it. */
class LineEnds {
  readonly #text: string;
  #feed = -2;
  #back = -2;

  constructor(text: string) {
    this.#text = text;
  }

  /** Where the line that holds `from` ends; -1 where it does not. Never called with less than before. */
  next(from: number): number {
    if (this.#feed !== -1 && this.#feed < from) this.#feed = this.#text.indexOf("\n", from);
    if (this.#back !== -1 && this.#back < from) this.#back = this.#text.indexOf("\r", from);
    if (this.#feed < 0 || this.#back < 0) return Math.max(this.#feed, this.#back);
    return Math.min(this.#feed, this.#back);
  }
}
