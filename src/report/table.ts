/**
 * Prints rows as columns.
 *
 * @module
 */
import { escapeText } from "./escape.ts";

/** A cell; numbers stand to the right. */
export type Cell = string | number | null;

/** Characters of one cell, at most. */
const MAX_CELL = 80;

/**
 * Prints a table: two blanks between columns, numbers to the right, `-` for `null`, columns that hold only zeros and
 * `null` left out. Every text is escaped.
 *
 * @returns One line for the heads and one for each row; no line for no rows.
 */
export function tableLines(heads: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  if (rows.length === 0) return [];
  const kept = heads.map((_, i) => i).filter((i) => rows.some((row) => (row[i] ?? 0) !== 0));
  const cells = rows.map((row) => kept.map((i) => cellText(row[i] ?? null)));
  const names = kept.map((i) => heads[i] ?? "");
  const right = kept.map((i) => rows.every((row) => typeof (row[i] ?? 0) === "number"));
  const widths = names.map((name, i) => Math.max(width(name), ...cells.map((row) => width(row[i] ?? ""))));
  return [names, ...cells].map((row) =>
    row.map((text, i) => {
      const gap = " ".repeat((widths[i] ?? 0) - width(text));
      return right[i] === true ? gap + text : text + gap;
    }).join("  ").trimEnd()
  );
}

function cellText(cell: Cell): string {
  if (cell === null || cell === "") return "-";
  return typeof cell === "number" ? String(cell) : escapeText(cell, { max: MAX_CELL });
}

function width(text: string): number {
  return [...text].length;
}
