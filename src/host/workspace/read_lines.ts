/**
 * Reads lines of one file of any size in constant memory, and digests the whole of it on the way.
 *
 * @module
 */
import { StreamSha256 } from "../../audit/sha256.ts";
import { ToolError } from "../../errors.ts";
import type { LineRange, LinesRead } from "../../tool/powers.ts";
import { type CallContext, deny } from "../context.ts";
import { isPathError, isStillAt, sameFile } from "../path_proof.ts";
import { type Encoding, sniffEncoding } from "./decode.ts";
import { Pace } from "./pace.ts";
import type { Place } from "./place.ts";
import type { WorkspaceContext } from "./workspace.ts";

/** Lines that one call shows, where it names no last one. */
export const MAX_LINES = 2000;

/** Text that one call shows, in UTF-16 units. */
export const MAX_TEXT_UNITS = 256 * 1024;

/** Longest line that is shown whole, in UTF-16 units. */
export const MAX_LINE_UNITS = 2000;

const CHUNK_BYTES = 256 * 1024;

/** A file that is open and proven. */
interface Opened extends Disposable {
  readonly file: Deno.FsFile;
  readonly info: Deno.FileInfo;
}

/**
 * Reads lines of a file and keeps in mind what it was.
 *
 * @throws {ToolError} `file_not_found`, `not_a_file` or `file_unreadable`. @throws {DenialError} `content_changed`, if
 * another file stands there by now, or this one was written while it was read.
 */
export async function readLines(
  context: WorkspaceContext,
  call: CallContext,
  place: Place,
  range: LineRange,
): Promise<LinesRead> {
  try {
    using opened = open(call, place);
    const pace = new Pace(context.run, call);
    const read = await readOpen(opened, { place, range, pace }, "utf-8") ??
      await readOpen(opened, { place, range, pace }, "unknown");
    const after = opened.file.statSync();
    const isSame = read !== undefined && after.size === read.bytes &&
      after.mtime?.getTime() === opened.info.mtime?.getTime();
    if (!isSame || !isStillAt(place.canonical, after)) throw deny(call, "content_changed");
    const whole = !read.cut && read.clipped === 0 && read.start === 1 && read.lines.length === read.totalLines;
    const { canonical } = place;
    context.observations.set(canonical, { sha256: read.sha256, complete: whole && read.encoding !== "binary" });
    return read;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      context.observations.set(place.canonical, { sha256: null, complete: true });
      throw new ToolError("file_not_found", `Cannot read "${place.shown}": nothing stands there`);
    }
    if (!isPathError(error)) throw error;
    throw new ToolError("file_unreadable", `Cannot read "${place.shown}": this user may not read it`);
  }
}

function open(call: CallContext, { canonical, shown }: Place): Opened {
  const seen = Deno.lstatSync(canonical);
  if (seen.isSymlink) throw deny(call, "symlink_refused");
  if (!seen.isFile) {
    const what = seen.isDirectory ? "it is a folder" : "it is a device, FIFO or socket";
    throw new ToolError("not_a_file", `Cannot read "${shown}": ${what}`);
  }
  const file = Deno.openSync(canonical, { read: true });
  const info = file.statSync();
  // Looked at twice: names that are swapped back and forth all the time may show one face to one look.
  const isProven = info.isFile && sameFile(info, seen) && isStillAt(canonical, info) && isStillAt(canonical, info);
  if (isProven) return { file, info, [Symbol.dispose]: () => file.close() };
  file.close();
  throw deny(call, "content_changed");
}

interface Reading {
  readonly place: Place;
  readonly range: LineRange;
  readonly pace: Pace;
}

/** Reads the file from its start. `undefined` where it is taken for UTF-8 and is not. */
async function readOpen(
  { file, info }: Opened,
  { place, range, pace }: Reading,
  text: "utf-8" | "unknown",
): Promise<LinesRead | undefined> {
  file.seekSync(0, Deno.SeekMode.Start);
  // Large enough for a small file, its end included, to come at once.
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, info.size + 1));
  const hash = new StreamSha256();
  const lines = new LineTaker(range);
  let encoding: Encoding | undefined;
  let decoder: TextDecoder | undefined;
  let bytes = 0;
  for (;;) {
    const count = file.readSync(buffer) ?? 0;
    if (count === 0) break;
    const chunk = buffer.subarray(0, count);
    hash.update(chunk);
    bytes += count;
    if (encoding === undefined) {
      const sniffed = sniffEncoding(chunk);
      encoding = sniffed.startsWith("utf-8") && text === "unknown" ? text : sniffed;
      decoder = encoding === "binary" ? undefined : makeDecoder(encoding);
    }
    try {
      lines.add(decoder?.decode(chunk, { stream: true }) ?? "");
    } catch {
      return undefined;
    }
    if (pace.isDue) await pace.turn();
  }
  try {
    lines.add(decoder?.decode() ?? "");
  } catch {
    return undefined;
  }
  const taken = lines.end();
  return { path: place.shown, bytes, sha256: hash.digest(), encoding: encoding ?? "utf-8", ...taken };
}

function makeDecoder(encoding: Exclude<Encoding, "binary">): TextDecoder {
  const label = encoding === "utf-16le" || encoding === "utf-16be" ? encoding : "utf-8";
  return new TextDecoder(label, { fatal: encoding === "utf-8" || encoding === "utf-8-bom" });
}

/** Splits text that comes in pieces into lines, counts all and keeps those of a range. */
class LineTaker {
  readonly #start: number;
  readonly #end: number;
  readonly #maxLines: number;
  readonly #lines: string[] = [];
  #units = 0;
  #cut = false;
  #clipped = 0;
  /** Number of the line that is being read. */
  #line = 1;
  /** What is kept of it, and how long it is in all. */
  #kept = "";
  #length = 0;
  /** Whether the last unit was a `\r`: a `\n` may follow in the next piece. */
  #afterReturn = false;
  #lf = 0;
  #crlf = 0;

  constructor({ start = 1, end }: LineRange) {
    this.#start = start;
    this.#end = end ?? Infinity;
    this.#maxLines = end === undefined ? MAX_LINES : Infinity;
  }

  add(text: string): void {
    for (let at = 0; at < text.length;) {
      const found = text.indexOf("\n", at);
      const stop = found < 0 ? text.length : found;
      this.#extend(text, at, stop);
      if (found >= 0) this.#finishLine();
      at = stop + 1;
    }
  }

  /** Ends the file. */
  end(): Omit<LinesRead, "path" | "bytes" | "sha256" | "encoding"> {
    const finalNewline = this.#length === 0 && !this.#afterReturn && this.#line > 1;
    if (this.#length > 0 || this.#afterReturn) {
      // A return at the very end ends no line: it belongs to it.
      if (this.#afterReturn) this.#append("\r");
      this.#take();
      this.#line++;
    }
    const eol = this.#crlf === 0 ? (this.#lf === 0 ? "none" : "lf") : this.#lf === 0 ? "crlf" : "mixed";
    return {
      eol,
      finalNewline,
      totalLines: this.#line - 1,
      start: this.#start,
      lines: this.#lines,
      cut: this.#cut,
      clipped: this.#clipped,
    };
  }

  get #isWanted(): boolean {
    return this.#line >= this.#start && this.#line <= this.#end && !this.#cut;
  }

  #extend(text: string, from: number, to: number): void {
    if (from === to) return;
    if (this.#afterReturn) this.#append("\r");
    this.#afterReturn = text.charCodeAt(to - 1) === 13;
    const end = this.#afterReturn ? to - 1 : to;
    const room = this.#isWanted ? Math.max(0, MAX_LINE_UNITS - this.#kept.length) : 0;
    if (room > 0) this.#kept += text.slice(from, Math.min(end, from + room));
    this.#length += end - from;
  }

  #append(char: string): void {
    if (this.#isWanted && this.#kept.length < MAX_LINE_UNITS) this.#kept += char;
    this.#length += char.length;
    this.#afterReturn = false;
  }

  #finishLine(): void {
    if (this.#afterReturn) this.#crlf++;
    else this.#lf++;
    this.#afterReturn = false;
    this.#take();
    this.#line++;
  }

  #take(): void {
    if (this.#isWanted) {
      const missing = this.#length - this.#kept.length;
      const text = missing === 0 ? this.#kept : `${this.#kept.toWellFormed()} [${missing} characters cut]`;
      if (this.#lines.length >= this.#maxLines || this.#units + text.length > MAX_TEXT_UNITS) {
        this.#cut = true;
      } else {
        this.#lines.push(text);
        this.#units += text.length + 1;
        if (missing > 0) this.#clipped++;
      }
    }
    this.#kept = "";
    this.#length = 0;
  }
}
