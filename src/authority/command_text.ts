/**
 * A command as one line of text that can be read back: what rules match and what logs show.
 *
 * @module
 */

/** A word that needs no quotes: nothing in it separates, quotes or hides. */
const BARE = /^[A-Za-z0-9_@%+=:,./~^{}*?!#()[\]<>|&;$'-]+$/;

/** Prints a command: words separated by one space, quoted as JSON where they are not plain. Unambiguous. */
export function printCommand(name: string, args: readonly string[]): string {
  return [name, ...args].map(printWord).join(" ");
}

/** Reads back what {@linkcode printCommand} printed; `null` for any other text. */
export function parseCommand(text: string): { readonly name: string; readonly args: readonly string[] } | null {
  const words: string[] = [];
  for (let at = 0; at <= text.length;) {
    const end = text[at] === '"' ? closingQuote(text, at) : nextSpace(text, at);
    if (end <= at || (end < text.length && text[end] !== " ")) return null;
    const word = readWord(text.slice(at, end));
    if (word === null) return null;
    words.push(word);
    at = end + 1;
  }
  const [name, ...args] = words;
  return name === undefined || printCommand(name, args) !== text ? null : { name, args };
}

function printWord(word: string): string {
  if (BARE.test(word)) return word;
  return JSON.stringify(word).replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) =>
      Array.from({ length: character.length }, (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`)
        .join(""),
  );
}

function readWord(word: string): string | null {
  if (!word.startsWith('"')) return word;
  try {
    const value: unknown = JSON.parse(word);
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}

function nextSpace(text: string, from: number): number {
  const at = text.indexOf(" ", from);
  return at < 0 ? text.length : at;
}

function closingQuote(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  return -1;
}
