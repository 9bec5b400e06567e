/**
 * Breaks long lines before a terminal does.
 *
 * @module
 */

/** What stands before the rest of a broken line, as wide as the labels of a request. */
const REST = "        | ";

/** Columns that are assumed where nobody knows how many there are. */
export const DEFAULT_COLUMNS = 80;
/** Columns of a line, at least: a narrower terminal breaks lines itself. */
const MIN_COLUMNS = 24;

/**
 * Breaks a line that holds somebody else's text into lines of at most `columns`. Each but the first begins with a mark:
 * where a terminal broke the line, the text could be laid out so that its rest looks like a line of ours.
 *
 * @param line Escaped, without codes of a terminal. Every character beyond ASCII is taken to be two columns wide.
 */
export function breakLine(line: string, columns: number = DEFAULT_COLUMNS): string[] {
  const limit = Math.max(MIN_COLUMNS, columns);
  const lines: string[] = [];
  let start = 0;
  let used = 0;
  for (let at = 0; at < line.length;) {
    const code = line.codePointAt(at) ?? 0;
    const width = code < 0x80 ? 1 : 2;
    if (used + width > limit) {
      lines.push(line.slice(start, at));
      start = at;
      used = REST.length;
    }
    used += width;
    at += code > 0xffff ? 2 : 1;
  }
  lines.push(line.slice(start));
  return lines.map((text, index) => index === 0 ? text : `${REST}${text}`);
}
