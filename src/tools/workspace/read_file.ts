import * as v from "valibot";
import { MAX_AGENT_PATH_UNITS } from "../../authority/agent_path.ts";
import { ToolInputError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";
import type { LinesRead } from "../../tool/powers.ts";
import { assertAgentPath } from "./agent_path.ts";

const LINE = v.pipe(v.number(), v.integer("an integer"), v.minValue(1), v.maxValue(Number.MAX_SAFE_INTEGER));

/** Least width of a line number. */
const NUMBER_WIDTH = 4;

/**
 * Reads lines of one file as it is now.
 *
 * `path` is relative to the project, `<label>/…` below a root outside of it, or absolute inside of either. Without
 * `end_line` up to 2,000 lines come back, in any case no more than 256 KiB of text; `next_line` is where to go on, `null`
 * at the end. A line over 2,000 characters is cut and says so. Result: `text` for models (number, tab, line, and a note
 * in brackets at the end), `content` for programs (the lines, joined with `\n`), and what the whole file is: `bytes`,
 * `sha256`, `total_lines`, `encoding`, `eol`, `final_newline`. A binary file gives no lines. All of it is untrusted.
 *
 * Errors: `file_not_found`, `not_a_file`, `file_unreadable`. Denied: `fs_read_path_not_admitted` outside of every granted
 * root, `symlink_refused` for a link that leads out or nowhere, what the gate says of the file, and `content_changed` for
 * one that was replaced or written meanwhile.
 */
export const ReadFile = defineTool({
  name: "ReadFile",
  family: "workspace",
  summary: "Reads numbered lines of a file, as it is now",
  args: v.strictObject({
    path: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MAX_AGENT_PATH_UNITS),
      v.description("Path relative to the project, or absolute inside it"),
    ),
    start_line: v.optional(v.pipe(LINE, v.description("First line, from 1"))),
    end_line: v.optional(v.pipe(LINE, v.description("Last line; as many as fit without it"))),
  }),
  result: v.strictObject({
    trust: v.literal("untrusted"),
    text: v.string(),
    path: v.string(),
    content: v.string(),
    start_line: v.number(),
    end_line: v.number(),
    next_line: v.nullable(v.number()),
    total_lines: v.number(),
    cut_lines: v.number(),
    bytes: v.number(),
    sha256: v.string(),
    encoding: v.picklist(["utf-8", "utf-8-bom", "utf-16le", "utf-16be", "unknown", "binary"]),
    eol: v.picklist(["lf", "crlf", "mixed", "none"]),
    final_newline: v.boolean(),
  }),
  authority: { fs: "browse" },
  effect: "read",
  audit: { args: { path: "keep", start_line: "keep", end_line: "keep" }, result: "digest" },
  nonClaims: ["shows no binary file", "a file that an ignore file leaves out is read when it is named"],
  prepare({ path, start_line: start, end_line: end }, resolve) {
    assertAgentPath("ReadFile", "path", path);
    if (end !== undefined && end < (start ?? 1)) {
      const message = `Cannot call "ReadFile": "end_line" must be at least "start_line", got ${end} and ${start ?? 1}`;
      throw new ToolInputError("tool_invalid_args", message);
    }
    const target = resolve.file(path);
    return { targets: [target], artifact: { target, range: { start, end } }, note: { path: target.path } };
  },
  async invoke({ target, range }, { readLines, note }) {
    const read = await readLines(target, range);
    note({ bytes: read.bytes, source_hash: `sha256:${read.sha256}` });
    const last = read.start + read.lines.length - 1;
    return {
      trust: "untrusted",
      text: textOf(read, last),
      path: read.path,
      content: read.lines.join("\n"),
      start_line: read.start,
      end_line: last,
      next_line: last < read.totalLines && read.lines.length > 0 ? last + 1 : null,
      total_lines: read.totalLines,
      cut_lines: read.clipped,
      bytes: read.bytes,
      sha256: read.sha256,
      encoding: read.encoding,
      eol: read.eol,
      final_newline: read.finalNewline,
    };
  },
});

function textOf(read: LinesRead, last: number): string {
  const { encoding, bytes, lines, start, totalLines } = read;
  if (encoding === "binary") return `[binary file of ${bytes} bytes: no text is shown]`;
  if (bytes === 0) return "[empty file]";
  if (lines.length === 0) return `[nothing from line ${start} on: the file has ${totalLines} lines]`;
  const numbered = lines.map((line, index) => `${String(start + index).padStart(NUMBER_WIDTH)}\t${line}`);
  return [...numbered, `[${noteOf(read, last)}]`].join("\n");
}

function noteOf({ encoding, eol, finalNewline, clipped, start, totalLines }: LinesRead, last: number): string {
  const notes = [`lines ${start}-${last} of ${totalLines}`];
  if (last < totalLines) notes.push(`go on with start_line ${last + 1}`);
  if (clipped > 0) notes.push(clipped === 1 ? "1 long line is cut" : `${clipped} long lines are cut`);
  if (encoding === "unknown") notes.push("not valid UTF-8: some characters are shown as \ufffd");
  else if (encoding !== "utf-8") notes.push(encoding);
  if (eol === "crlf") notes.push("lines end with CRLF");
  if (eol === "mixed") notes.push("lines end with LF and CRLF");
  if (!finalNewline && last === totalLines) notes.push("no line end at the end");
  return notes.join("; ");
}
