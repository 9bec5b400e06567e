/**
 * Follows the chain of a log over its raw bytes, and names the first damage.
 *
 * @module
 */
import { ascii, holds, holdsText, type LineForm, lineForm, plainString } from "./line_form.ts";
import type { Block } from "./lines.ts";
import { GENESIS, OUTCOME_RECORD_TYPES } from "./record.ts";

/**
 * What was done to a log.
 *
 * - `edit`: a record was changed. - `deletion`: records are missing before this one. - `insertion`: this record was
 *   not there. - `reorder`: this record stands in the place of another that comes later.
 * - `truncation`: the end is missing. - `torn_tail`: the last line has no newline: its write was cut off, or its end cut.
 * - `wrong_head`: whole in itself, but not the log that the head was noted of. - `not_json`: the line is no record at
 *   all. - `wrong_run`: the record is of another run.
 *
 * Someone who rewrites every later hash as well leaves no trace in the file; only the head shows it.
 */
export type DamageKind =
  | "edit"
  | "deletion"
  | "insertion"
  | "reorder"
  | "truncation"
  | "torn_tail"
  | "wrong_head"
  | "not_json"
  | "wrong_run";

/** The first bad record of a log. */
export interface Damage {
  /** What was done, as far as the bytes tell. */
  readonly kind: DamageKind;
  /** 1-based line of the file. */
  readonly line: number;
  /** The number that the record at this place should have. */
  readonly seq: number;
  /** Byte of the file at which the line starts. */
  readonly offset: number;
  /** One clause for people; holds nothing from the log but numbers. */
  readonly detail: string;
}

/** A call that started and has no outcome. */
export interface InFlight {
  /** As in the records of the call. */
  readonly call_id: string;
  /** Tool that was called. */
  readonly tool: string;
  /** Number of its `tool_call`. */
  readonly seq: number;
}

/** Calls without an outcome that are kept in mind, at most: a hostile log must not fill the memory. */
const MAX_IN_FLIGHT = 1000;

const ENCODER = new TextEncoder();
const CALL_ID = ENCODER.encode('","call_id":"');
const TOOL = ENCODER.encode('","tool":"');
const RUN_END = "run_end";
const OUTCOMES = [...OUTCOME_RECORD_TYPES];

/** A first bad line whose name depends on what comes after it. */
interface Suspect {
  readonly at: { readonly line: number; readonly seq: number; readonly offset: number };
  readonly what: "not_a_line" | "own_hash" | "gap";
  /** `gap`: the number found. */
  readonly found: number;
  /** `not_a_line`: whether it is JSON all the same. */
  readonly json: boolean;
}

/** Takes a log block by block. After `end`, its fields say what was found. */
export class ChainCheck {
  readonly #sha256: (bytes: Uint8Array<ArrayBuffer>) => string;
  readonly #wanted: string | undefined;
  readonly #decoder = new TextDecoder();
  readonly #open = new Map<string, InFlight>();
  #runIdBytes: Uint8Array = new Uint8Array(0);
  #damage: Damage | undefined;
  #suspect: Suspect | undefined;

  /** Whole records in order, up to the first damage. */
  records = 0;
  /** Lines looked at. */
  lines = 0;
  /** Byte behind the last line looked at. */
  offset = 0;
  /** Hash of the last whole record. */
  head = GENESIS;
  /** Run id of the first record. */
  runId: string | null = null;
  /** Whether the last whole record is a `run_end`. */
  finished = false;
  /** Number of the record whose hash is the wanted head. */
  headSeq: number | null = null;

  /** @param sha256 64 lower-case digits. @param wanted The head that a caller noted. */
  constructor(sha256: (bytes: Uint8Array<ArrayBuffer>) => string, wanted?: string) {
    this.#sha256 = sha256;
    this.#wanted = wanted;
  }

  /** Calls without an outcome among the whole records. */
  get inFlight(): readonly InFlight[] {
    return [...this.#open.values()];
  }

  /** Looks at a block; `false` once nothing that follows can change what is known. */
  take(block: Block): boolean {
    const { bytes } = block;
    for (let from = 0; from < bytes.length;) {
      const newline = block.kind === "lines" ? bytes.indexOf(0x0a, from) : -1;
      const to = newline === -1 ? bytes.length : newline;
      const offset = block.offset + from;
      if (this.#suspect !== undefined) this.#settle(bytes, from, to, newline !== -1);
      else if (newline === -1) this.#damage = this.#tail(block.kind === "overlong", offset);
      else this.#line(bytes, from, to, offset);
      if (this.#damage !== undefined) return false;
      from = to + 1;
    }
    return true;
  }

  /** Says that the file has ended; returns the damage. */
  end(): Damage | null {
    if (this.#damage === undefined && this.#suspect !== undefined) this.#damage = this.#unsettled(this.#suspect);
    return this.#damage ?? null;
  }

  #line(bytes: Uint8Array<ArrayBuffer>, from: number, to: number, offset: number): void {
    this.lines++;
    this.offset = offset + (to - from) + 1;
    const at = { line: this.lines, seq: this.records + 1, offset };
    if (this.finished) {
      this.#damage = { ...at, kind: "insertion", detail: "something follows the end of the run" };
      return;
    }
    const form = lineForm(bytes, from, to);
    if (form === undefined) {
      if (to === from) this.#damage = { ...at, kind: "insertion", detail: "the line is blank" };
      else if (bytes[to - 1] === 0x0d && bytes[to - 2] === 0x7d) {
        this.#damage = { ...at, kind: "edit", detail: "its line end was changed to CRLF" };
      }
      this.#suspect = { at, what: "not_a_line", found: 0, json: this.#isJson(bytes.subarray(from, to)) };
      return;
    }
    const hash = this.#sha256(bytes.subarray(from, form.hashed));
    if (!holdsText(bytes, form.hash, hash)) {
      this.#suspect = { at, what: "own_hash", found: form.seq, json: true };
      return;
    }
    this.#known(bytes, from, to, { form, hash, at });
  }

  /** A line that is a record, and unchanged since it got its hash: does it belong here? */
  #known(
    bytes: Uint8Array<ArrayBuffer>,
    from: number,
    to: number,
    { form, hash, at }: { form: LineForm; hash: string; at: Suspect["at"] },
  ): void {
    const [runFrom, runTo] = form.runId;
    if (
      this.runId !== null && !(runTo - runFrom === this.#runIdBytes.length && holds(bytes, runFrom, this.#runIdBytes))
    ) {
      this.#damage = { ...at, kind: "wrong_run", detail: "the record is of another run" };
      return;
    }
    if (form.seq > at.seq) {
      this.#suspect = { at, what: "gap", found: form.seq, json: true };
      return;
    }
    if (form.seq < at.seq) {
      this.#damage = { ...at, kind: "insertion", detail: `record ${form.seq} stands here a second time` };
      return;
    }
    if (!holdsText(bytes, form.prev, this.head)) {
      const detail = "it does not follow from the record before it: that one, or this, was written anew";
      this.#damage = { ...at, kind: "edit", detail };
      return;
    }
    if (this.runId === null) {
      this.#runIdBytes = bytes.slice(runFrom, runTo);
      this.runId = ascii(bytes, runFrom, runTo);
      if (!isType(bytes, form, "run_start")) {
        this.#damage = { ...at, kind: "edit", detail: "the first record is not the start of the run" };
        return;
      }
    }
    this.records = at.seq;
    this.head = hash;
    if (hash === this.#wanted) this.headSeq = at.seq;
    this.finished = isType(bytes, form, RUN_END);
    this.#followCalls(bytes, from, to, form);
  }

  #followCalls(bytes: Uint8Array<ArrayBuffer>, from: number, to: number, form: LineForm): void {
    const starts = isType(bytes, form, "tool_call");
    if (!starts && !OUTCOMES.some((type) => isType(bytes, form, type))) return;
    if (!starts && this.#open.size === 0) return;
    const call = this.#callOf(bytes, from, to, form);
    if (call === undefined) return;
    if (!starts) this.#open.delete(call.call_id);
    else if (this.#open.size < MAX_IN_FLIGHT) this.#open.set(call.call_id, call);
  }

  /** The call of a record: read in place where it stands behind the type, as the host writes it; else parsed. */
  #callOf(bytes: Uint8Array<ArrayBuffer>, from: number, to: number, form: LineForm): InFlight | undefined {
    const id = plainString(bytes, form.type[1], CALL_ID);
    const tool = id === undefined ? undefined : plainString(bytes, id[1], TOOL);
    if (id !== undefined && tool !== undefined) {
      return { call_id: ascii(bytes, id[0], id[1]), tool: ascii(bytes, tool[0], tool[1]), seq: form.seq };
    }
    try {
      const record = JSON.parse(this.#decoder.decode(bytes.subarray(from, to))) as {
        call_id?: unknown;
        tool?: unknown;
      };
      if (typeof record.call_id !== "string") return undefined;
      return { call_id: record.call_id, tool: typeof record.tool === "string" ? record.tool : "", seq: form.seq };
    } catch {
      return undefined; // its hash is right, so this is what the launcher was given; whose call it was stays unknown
    }
  }

  /** Looks, behind a bad line, for the next good record: its number tells what happened to the bad one. */
  #settle(bytes: Uint8Array<ArrayBuffer>, from: number, to: number, whole: boolean): void {
    const suspect = this.#suspect;
    const form = suspect === undefined || !whole ? undefined : lineForm(bytes, from, to);
    if (suspect === undefined || form === undefined) return;
    const follows = holdsText(bytes, form.prev, this.head) && form.seq === suspect.at.seq;
    // In a gap only the missing record itself counts; the others are the rest of the file.
    if (suspect.what === "gap" && !follows) return;
    if (!holdsText(bytes, form.hash, this.#sha256(bytes.subarray(from, form.hashed)))) return;
    const { at, what, found } = suspect;
    if (what === "gap") {
      const detail = `record ${found} stands here, record ${at.seq} comes later`;
      this.#damage = { ...at, kind: "reorder", detail };
    } else if (follows) {
      this.#damage = { ...at, kind: "insertion", detail: `something stands before record ${at.seq}` };
    } else if (what === "not_a_line" && !suspect.json) {
      this.#damage = { ...at, kind: "not_json", detail: "the line is not JSON" };
    } else {
      this.#damage = { ...at, kind: "edit", detail: editDetail(what) };
    }
  }

  /** Names a bad line behind which no good record came. */
  #unsettled({ at, what, found, json }: Suspect): Damage {
    if (what === "gap") {
      const count = found - at.seq;
      const detail = count === 1 ? `record ${at.seq} is missing` : `records ${at.seq} to ${found - 1} are missing`;
      return { ...at, kind: "deletion", detail };
    }
    if (what === "not_a_line" && !json) return { ...at, kind: "not_json", detail: "the line is not JSON" };
    return { ...at, kind: "edit", detail: editDetail(what) };
  }

  /** Names what stands behind the last newline. */
  #tail(overlong: boolean, offset: number): Damage {
    const at = { line: this.lines + 1, seq: this.records + 1, offset };
    if (overlong) return { ...at, kind: "not_json", detail: "the line is longer than any record" };
    if (this.finished) return { ...at, kind: "insertion", detail: "something follows the end of the run" };
    return { ...at, kind: "torn_tail", detail: "the last line was not written to its end" };
  }

  #isJson(bytes: Uint8Array): boolean {
    try {
      JSON.parse(this.#decoder.decode(bytes));
      return true;
    } catch {
      return false;
    }
  }
}

function editDetail(what: Suspect["what"]): string {
  return what === "own_hash" ? "its hash is not that of its bytes" : "the line does not have the form of a record";
}

function isType(bytes: Uint8Array, { type: [from, to] }: LineForm, type: string): boolean {
  return to - from === type.length && holdsText(bytes, from, type);
}
