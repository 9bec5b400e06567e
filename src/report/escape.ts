/**
 * Makes a text that somebody else wrote safe to print.
 *
 * @module
 */

/**
 * Control, format (bidi overrides and isolates, zero-width characters, tags), surrogate, private and unassigned
 * characters, line and paragraph separators, the fillers that look like nothing, and the backslash of the escapes.
 */
const UNSAFE_REGEXP = /[\p{C}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\\]/gu;

/** How a text is escaped. */
export interface EscapeOptions {
  /** Characters shown, at most; a longer text ends in `…`. */
  readonly max?: number;
}

/**
 * Escapes every character of an untrusted text that could move the cursor, colour, reorder or hide what is on the
 * screen, or start a line of its own. The result is one line; different texts stay different: `\n` and the like for the
 * common ones, `\u{1b}` for the rest, `\\` for a backslash.
 */
export function escapeText(text: string, { max = Infinity }: EscapeOptions = {}): string {
  const cut = text.length > max ? text.slice(0, max) : text;
  const safe = cut.replaceAll(UNSAFE_REGEXP, escapeCharacter);
  return cut.length < text.length ? `${safe}…` : safe;
}

/** Quotes a word for a POSIX shell, also that of `deno task`, where it needs it. */
export function shellWord(text: string): string {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What JSON may hold as it is and a terminal obeys or hides: DEL and C1, format characters, separators of lines. */
const UNSAFE_IN_JSON_REGEXP = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Escapes JSON text so that it may go to a terminal; it stays JSON of the same value. */
export function escapeJson(json: string): string {
  return json.replaceAll(UNSAFE_IN_JSON_REGEXP, (character) => {
    let escaped = "";
    for (let at = 0; at < character.length; at++) {
      escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
    }
    return escaped;
  });
}

function escapeCharacter(character: string): string {
  switch (character) {
    case "\n":
      return "\\n";
    case "\r":
      return "\\r";
    case "\t":
      return "\\t";
    case "\\":
      return "\\\\";
    default:
      return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  }
}
