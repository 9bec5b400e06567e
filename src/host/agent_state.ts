/**
 * The state that an agent keeps for the length of a run.
 *
 * @module
 */
import { type JsonObject, utf8Length } from "../json.ts";

/** A store of JSON texts by key, bounded in UTF-8 bytes of keys and values together. */
export class AgentState {
  readonly #texts = new Map<string, string>();
  /** Bytes that may be in use. */
  readonly maxBytes: number;
  #bytes = 0;

  /** @param initial What is in it at first; it has to fit. */
  constructor(maxBytes: number, initial: JsonObject = {}) {
    this.maxBytes = maxBytes;
    for (const [key, value] of Object.entries(initial)) this.set(key, JSON.stringify(value));
  }

  /** JSON text of an object that holds everything. */
  get text(): string {
    const members = [...this.#texts].map(([key, text]) => `${JSON.stringify(key)}:${text}`);
    return `{${members.join(",")}}`;
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** JSON text of a value; `null` where there is none. */
  get(key: string): string {
    return this.#texts.get(key) ?? "null";
  }

  /** Stores a value. Returns the bytes that were attempted if they are over the bound; nothing has changed then. */
  set(key: string, text: string): number | undefined {
    const after = this.#bytes - this.#sizeOf(key) + utf8Length(key) + utf8Length(text);
    if (after > this.maxBytes) return after;
    this.#texts.set(key, text);
    this.#bytes = after;
    return undefined;
  }

  /** Deletes a value; tells whether there was one. */
  delete(key: string): boolean {
    this.#bytes -= this.#sizeOf(key);
    return this.#texts.delete(key);
  }

  /** Keys in the order they were set. */
  keys(): readonly string[] {
    return [...this.#texts.keys()];
  }

  reset(): void {
    this.#texts.clear();
    this.#bytes = 0;
  }

  #sizeOf(key: string): number {
    const text = this.#texts.get(key);
    return text === undefined ? 0 : utf8Length(key) + utf8Length(text);
  }
}
