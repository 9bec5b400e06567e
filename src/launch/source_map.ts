/**
 * Source maps (version 3) as far as bundles need them: taken off a text, asked for a position, moved along with edits,
 * put back.
 *
 * @module
 */
import type { Position } from "../errors.ts";

/** A source map as JSON. */
export interface SourceMap {
  readonly version: 3;
  readonly sourceRoot: string;
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

/**
 * One mapping: column in the text, then index of the source, its 0-based line and its column, then index of the name.
 * The last four, or the last one, may be missing.
 */
export type Segment = [column: number, source?: number, line?: number, sourceColumn?: number, name?: number];

const MARK = "//# sourceMappingURL=data:application/json;base64,";
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Takes the inline source map off the end of a text; the body keeps its last newline. */
export function splitInlineMap(code: string): { readonly body: string; readonly map: SourceMap | undefined } {
  const at = code.lastIndexOf(MARK);
  if (at < 0 || (at > 0 && code[at - 1] !== "\n")) return { body: code, map: undefined };
  const base64 = code.slice(at + MARK.length).trimEnd();
  if (!/^[A-Za-z0-9+/]+=*$/.test(base64)) return { body: code, map: undefined };
  const json = new TextDecoder().decode(Uint8Array.fromBase64(base64));
  const map: unknown = JSON.parse(json);
  return isSourceMap(map) ? { body: code.slice(0, at), map } : { body: code, map: undefined };
}

/** Puts a source map at the end of a text, as a comment in its last line. */
export function withInlineMap(body: string, map: SourceMap): string {
  const json = new TextEncoder().encode(JSON.stringify(map));
  return `${body}${body.endsWith("\n") || body === "" ? "" : "\n"}${MARK}${json.toBase64()}\n`;
}

/** Whether a parsed JSON value is a source map. */
export function isSourceMap(value: unknown): value is SourceMap {
  return typeof value === "object" && value !== null && "version" in value && value.version === 3 &&
    "sources" in value && Array.isArray(value.sources) && value.sources.every((item) => typeof item === "string") &&
    "mappings" in value && typeof value.mappings === "string";
}

/** Reads the mappings: one list of segments for each line. */
export function decodeMappings(mappings: string): Segment[][] {
  const last = [0, 0, 0, 0];
  return mappings.split(";").map((line) => {
    let column = 0;
    if (line === "") return [];
    return line.split(",").map((text) => {
      const [first = 0, ...rest] = decodeNumbers(text);
      column += first;
      const fields = rest.map((delta, i) => last[i] = (last[i] ?? 0) + delta);
      return [column, ...fields] as Segment;
    });
  });
}

/** Prints mappings. */
export function encodeMappings(lines: readonly (readonly Segment[])[]): string {
  const last = [0, 0, 0, 0];
  return lines.map((segments) => {
    let column = 0;
    return segments.map(([at, ...fields]) => {
      let text = encodeNumber(at - column);
      column = at;
      fields.forEach((field, i) => {
        text += encodeNumber((field ?? 0) - (last[i] ?? 0));
        last[i] = field ?? 0;
      });
      return text;
    }).join(",");
  }).join(";");
}

/**
 * Finds what a place in the text came from. Places between two mappings count on from the one before, over line ends as
 * well (a template literal has one mapping). Lines and columns are 0-based.
 */
export function originalPosition(
  map: SourceMap,
  place: { readonly line: number; readonly column: number },
): { readonly source: string; readonly line: number; readonly column: number } | undefined {
  const lines = decodeMappings(map.mappings);
  for (let line = Math.min(place.line, lines.length - 1); line >= 0; line--) {
    const segment = (lines[line] ?? []).findLast(([at]) => line < place.line || at <= place.column);
    if (segment === undefined || isRepeated(segment, lines[line - 1]?.at(-1))) continue;
    const [at, source, sourceLine, sourceColumn] = segment;
    const name = source === undefined ? undefined : map.sources[source];
    if (name === undefined || sourceLine === undefined || sourceColumn === undefined) return undefined;
    return line === place.line
      ? { source: name, line: sourceLine, column: sourceColumn + place.column - at }
      : { source: name, line: sourceLine + place.line - line, column: place.column };
  }
  return undefined;
}

/** Inside of a literal esbuild starts each further line with the mapping of the literal's start. */
function isRepeated(segment: Segment, before: Segment | undefined): boolean {
  return segment[0] === 0 && before !== undefined && segment[1] === before[1] && segment[2] === before[2] &&
    segment[3] === before[3];
}

/** Offsets at which the lines of a text start. */
export function lineStarts(text: string): number[] {
  return [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
}

/** Index of the last item whose key is at most `value`, in a list sorted by key; -1 if there is none. */
export function lastAtOrBefore<T>(items: readonly T[], value: number, keyOf: (item: T) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && keyOf(item) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Where in the agent's source an offset of a bundle comes from; without a map, where in the bundle it is. */
export function sourcePosition(
  { body, map }: { readonly body: string; readonly map: SourceMap | undefined },
  at: number,
): Position {
  const starts = lineStarts(body);
  const line = lastAtOrBefore(starts, at, Number);
  const column = at - (starts[line] ?? 0);
  const original = map === undefined ? undefined : originalPosition(map, { line, column });
  if (original === undefined) return { file: "agent bundle", line: line + 1, column: column + 1 };
  return { file: decodeURIComponent(original.source), line: original.line + 1, column: original.column + 1 };
}

/** Base-64 digits of five bits and a mark that more follow; the lowest bit of a number is its sign. */
function decodeNumbers(text: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const character of text) {
    const digit = DIGITS.indexOf(character);
    value += (digit & 31) << shift;
    shift += 5;
    if ((digit & 32) !== 0) continue;
    numbers.push((value & 1) === 1 ? -(value >>> 1) : value >>> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}

function encodeNumber(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = "";
  do {
    const digit = rest & 31;
    rest >>>= 5;
    text += DIGITS[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return text;
}
