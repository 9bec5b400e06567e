/** @module */

/** Prints one JSON value as a line: what the bench reads of a script. */
export function writeLine(value: unknown): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
}
