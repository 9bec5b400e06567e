/**
 * The terminal: the only place that prints. Standard output carries what was asked for, standard error everything else.
 *
 * @module
 */
import { DataError, EXIT, type ExitCode, TwokeyError } from "../errors.ts";
import { escapeJson, escapeText } from "../report/escape.ts";
import { PLAIN, type Style } from "../report/style.ts";

const ENCODER = new TextEncoder();

/** Goes to the start of a terminal's line and takes away what stands there. */
export const CLEAR_LINE = "\r\x1b[2K";

/** Colours, as escape codes around a text that is already safe to print. */
const COLOURED: Style = Object.freeze({
  heading: paint(1),
  good: paint(32),
  bad: paint(31),
  warn: paint(33),
  dim: paint(2),
});

function paint(code: number): (text: string) => string {
  return (text) => `\x1b[${code}m${text}\x1b[0m`;
}

/** Prints text on standard output. */
export function out(text: string): void {
  write(Deno.stdout, text);
}

/** Prints text on standard error. */
export function err(text: string): void {
  write(Deno.stderr, text);
}

/** Prints lines of our own on standard error; what they quote may be somebody else's. */
export function errLines(text: string): void {
  err(`${text.split("\n").map((line) => escapeText(line)).join("\n")}\n`);
}

/** Prints one JSON value on standard output, on one line. What an agent wrote is in it, so it is safe for a terminal. */
export function outJson(value: unknown): void {
  out(`${escapeJson(JSON.stringify(value))}\n`);
}

/** The style for a stream: colour only on a terminal, and not where `NO_COLOR` is set. */
export function styleFor(stream: { isTerminal(): boolean }): Style {
  return !Deno.noColor && stream.isTerminal() ? COLOURED : PLAIN;
}

/** Columns that a line may take on a terminal; `undefined` where a stream is none. */
export function columnsOf(stream: { isTerminal(): boolean }): number | undefined {
  if (!stream.isTerminal()) return undefined;
  try {
    const { columns } = Deno.consoleSize();
    // Behind the last column some terminals begin a line already; one that was never told its size says 0.
    return columns > 0 ? columns - 1 : undefined;
  } catch {
    return undefined;
  }
}

function write(file: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = ENCODER.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
  } catch (error) {
    // Whoever read us has left; there is nobody to tell.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

/** Prints an error for people, or as JSON on standard output, and returns the exit code. */
export function reportError(error: unknown, options: { readonly json: boolean }): ExitCode {
  if (!(error instanceof TwokeyError)) {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    if (options.json) outJson({ error: { code: "internal", message: text } });
    else err(`error: internal fault: ${escapeText(text)}\n`);
    return EXIT.ended;
  }
  if (options.json) outJson({ error: errorJson(error) });
  else err(errorText(error, styleFor(Deno.stderr)));
  return error.exit;
}

/** The fields of an error for programs. */
function errorJson(error: TwokeyError): Record<string, unknown> {
  const { code, message, exit } = error;
  if (!(error instanceof DataError)) return { code, message, exit };
  const { position, fix } = error;
  const issues = "issues" in error ? { issues: error.issues } : {};
  return { code, message, exit, ...(position ?? {}), ...(fix === undefined ? {} : { fix }), ...issues };
}

function errorText(error: TwokeyError, style: Style): string {
  // A message may quote a file that somebody else wrote; its own line breaks are ours.
  const message = error.message.split("\n").map((line) => escapeText(line)).join("\n");
  const lines = [`${style.bad("error:")} ${message}`];
  if (error instanceof DataError) {
    const { position, fix } = error;
    if (position !== undefined && !("issues" in error && (error.issues as unknown[]).length > 1)) {
      lines.push(`  at ${escapeText(position.file)}:${position.line}:${position.column}`);
    }
    if (fix !== undefined) lines.push(`  fix: ${escapeText(fix)}`);
  }
  return `${lines.join("\n")}\n`;
}
