import * as v from "valibot";
import { MAX_AGENT_PATH_UNITS } from "../../authority/agent_path.ts";
import { ToolError, ToolInputError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";
import { applyEdits, type Edit, type EditProblem, lineBreaksOf, MAX_REPLACEMENTS } from "./apply_edits.ts";
import { findNear, type Near } from "./near_miss.ts";
import { assertAgentPath } from "./agent_path.ts";
import { SHA256_HEX } from "./sha256_hex.ts";
import { unifiedDiff } from "./unified_diff.ts";

/** Edits of one call, at most. */
const MAX_EDITS = 100;

/** UTF-16 units of the diff in a result, at most. */
const MAX_DIFF_UNITS = 32 * 1024;

const OLD = v.pipe(
  v.string(),
  v.minLength(1),
  v.description("Text that is replaced; must be in the file exactly once. A line feed matches every kind of line end"),
);
const NEW = v.pipe(v.string(), v.description("What takes its place; line feeds become line ends as the file has them"));
const REPLACE_ALL = v.pipe(v.boolean(), v.description("Replaces every occurrence; default: false"));

/**
 * Replaces texts in a file that the agent has read.
 *
 * `old` must be in the file exactly once, or `replace_all` is true. `edits` is a list of such edits in the place of `old`
 * and `new`: all are made or none, each is looked for in the file as it was read, and no two may touch the same text.
 * What no edit matches stays as it is, byte for byte: line ends, a byte order mark, a missing last line end, bytes that
 * are no UTF-8, the mode. The file must still be what `ReadFile` showed (some lines are enough, unless
 * `replace_all` is true), what this run wrote last, or what `expected_sha256` says. With `dry_run` nothing is changed.
 *
 * Result: `{ path, changed, dry_run, replacements, bytes, sha256, sha256_before, eol, diff, diff_truncated, trust, text }`;
 * `diff` is a unified diff, `text` says it all for a model. Content of the file is untrusted text.
 *
 * Errors: `no_match` (names the lines that are most like it), `ambiguous_match` (names the count and the lines),
 * `overlapping_edits`, `not_utf8`, and those of `WriteFile`; `file_not_found`, for this tool creates nothing. Denied: as
 * `WriteFile`, and whatever reading the file would be.
 */
export const EditFile = defineTool({
  name: "EditFile",
  family: "workspace",
  summary: "Replaces exact texts in a file that was read, all of them or none",
  args: v.strictObject({
    path: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MAX_AGENT_PATH_UNITS),
      v.description("Path relative to the project, or absolute inside it"),
    ),
    old: v.optional(OLD),
    new: v.optional(NEW),
    replace_all: v.optional(REPLACE_ALL),
    edits: v.optional(v.pipe(
      v.array(v.strictObject({ old: OLD, new: NEW, replace_all: v.optional(REPLACE_ALL) })),
      v.minLength(1),
      v.maxLength(MAX_EDITS),
      v.description(
        "Several edits at once, in the place of old and new; each is looked for in the file as it was read",
      ),
    )),
    expected_sha256: v.optional(v.pipe(
      v.string(),
      v.regex(SHA256_HEX),
      v.description("SHA-256 of the file that is edited, where it was not read in this run"),
    )),
    dry_run: v.optional(v.pipe(v.boolean(), v.description("Shows the diff and changes nothing; default: false"))),
  }),
  result: v.strictObject({
    path: v.string(),
    changed: v.boolean(),
    dry_run: v.boolean(),
    replacements: v.number(),
    bytes: v.number(),
    sha256: v.string(),
    sha256_before: v.string(),
    eol: v.picklist(["lf", "crlf", "mixed", "none"]),
    diff: v.string(),
    diff_truncated: v.boolean(),
    trust: v.literal("untrusted"),
    text: v.string(),
  }),
  authority: { fs: "edit" },
  effect: "write",
  audit: {
    args: {
      path: "keep",
      old: "digest",
      new: "digest",
      replace_all: "keep",
      edits: "digest",
      expected_sha256: "keep",
      dry_run: "keep",
    },
    result: "digest",
  },
  nonClaims: [
    "creates no file",
    "applies nothing that only looks like the text",
    "keeps no extended attributes and no access lists",
    "cannot see a change that another program makes at the very moment of the replacement",
    "follows no link, also none that stays inside the root",
  ],
  prepare({ path, old, new: text, replace_all, edits, expected_sha256, dry_run }, resolve) {
    assertAgentPath("EditFile", "path", path);
    const list = listOf({ old, new: text, replace_all }, edits);
    for (const [index, edit] of list.entries()) {
      const name = edits === undefined ? "" : `edits.${index}.`;
      for (const key of ["old", "new"] as const) {
        if (!edit[key].isWellFormed()) {
          throw invalid(`"${name}${key}" must be well-formed text, it holds half of a surrogate pair`);
        }
      }
    }
    const target = resolve.fileToChange(path);
    const read = resolve.sameFileToRead(target);
    return {
      targets: [read, target],
      artifact: {
        target,
        edits: list,
        isList: edits !== undefined,
        options: {
          verb: "edit",
          read,
          // A unique text shows that its place was seen; what is replaced everywhere must have been seen everywhere.
          known: list.some(({ replaceAll }) => replaceAll) ? "all" : "lines",
          mustExist: true,
          dryRun: dry_run ?? false,
          expectedSha256: expected_sha256,
        } as const,
      },
      note: { path: target.path, edits: list.length },
    };
  },
  async invoke({ target, edits, isList, options }, { change, note }) {
    const { path } = target;
    const done = await change(target, options, (before = new Uint8Array(), limit) => {
      if (isUtf16(before)) throw failed(path, "not_utf8", "it is UTF-16 by its mark, and only UTF-8 can be edited");
      const applied = applyEdits(before, edits, { limit });
      if (applied.kind !== "done") throw explain(path, applied, { before, edits, isList });
      const { bytes: after, spans } = applied;
      return {
        bytes: after,
        describe: () => ({
          replacements: spans.length,
          eol: lineBreaksOf(after),
          diff: unifiedDiff({ path, before, after, spans, limit: MAX_DIFF_UNITS }),
        }),
      };
    });
    const { changed, bytes, sha256, sha256Before, description: { replacements, eol, diff } } = done;
    note({ replacements, dry_run: options.dryRun });
    const what = !changed ? "unchanged" : options.dryRun ? "would be edited" : "edited";
    const shown = diff.truncated ? `${diff.text}(the diff is not complete)\n` : diff.text;
    return {
      path,
      changed,
      dry_run: options.dryRun,
      replacements,
      bytes,
      sha256,
      sha256_before: sha256Before ?? "",
      eol,
      diff: diff.text,
      diff_truncated: diff.truncated,
      trust: "untrusted" as const,
      text: `${what}: ${path} (${count(replacements, "replacement")}, ${bytes} bytes)\n${shown}`,
    };
  },
});

/** One edit as it comes. */
interface RawEdit {
  readonly old: string | undefined;
  readonly new: string | undefined;
  readonly replace_all: boolean | undefined;
}

/** The edits of a call, from either of the two ways to write them. */
function listOf(
  single: RawEdit,
  edits: readonly { old: string; new: string; replace_all?: boolean | undefined }[] | undefined,
): readonly Edit[] {
  if (edits !== undefined) {
    const extra = (["old", "new", "replace_all"] as const).find((key) => single[key] !== undefined);
    if (extra !== undefined) throw invalid(`"${extra}" must be left out where "edits" is given`);
    return edits.map((edit) => ({ old: edit.old, new: edit.new, replaceAll: edit.replace_all ?? false }));
  }
  if (single.old === undefined) throw invalid('"old" is missing, expected string');
  if (single.new === undefined) throw invalid('"new" is missing, expected string');
  return [{ old: single.old, new: single.new, replaceAll: single.replace_all ?? false }];
}

function invalid(problem: string): ToolInputError {
  return new ToolInputError("tool_invalid_args", `Cannot call "EditFile": ${problem}`);
}

/** Whether a file says by its first two bytes that it is UTF-16. */
function isUtf16([first, second]: Uint8Array): boolean {
  return first === 0xff && second === 0xfe || first === 0xfe && second === 0xff;
}

interface Attempt {
  readonly before: Uint8Array;
  readonly edits: readonly Edit[];
  readonly isList: boolean;
}

/** Says why nothing was changed: where to look, and no text of the file, which the log would keep. */
function explain(path: string, problem: EditProblem, { before, edits, isList }: Attempt): ToolError {
  const name = (index: number): string => isList ? `edits.${index}.old` : "old";
  switch (problem.kind) {
    case "no_match": {
      const near = findNear(before, edits[problem.index]?.old ?? "");
      const fields = { edit: problem.index, near: near.map(({ line, endLine }) => [line, endLine]) };
      return failed(path, "no_match", `"${name(problem.index)}" is nowhere in it${nearText(near)}`, fields);
    }
    case "ambiguous_match": {
      const { index, count: times, lines } = problem;
      const more = times > lines.length ? " and further ones" : "";
      const where = `on ${lines.length === 1 ? "line" : "lines"} ${[...new Set(lines)].join(", ")}${more}`;
      const what = `"${name(index)}" is in it ${times} times, ${where}; add the text around one, or give "replace_all"`;
      return failed(path, "ambiguous_match", what, { edit: index, count: times, lines });
    }
    case "too_many_matches":
      return failed(
        path,
        "too_large",
        `"${name(problem.index)}" is in it ${problem.count} times, at most ${MAX_REPLACEMENTS} can be replaced`,
      );
    case "overlap": {
      const what = `"${name(problem.other)}" and "${name(problem.index)}" touch the same text on line ${problem.line}`;
      return failed(path, "overlapping_edits", what, { edit: problem.index });
    }
    case "too_large":
      return failed(path, "too_large", `it would have ${problem.bytes} bytes`);
  }
}

function nearText(near: readonly Near[]): string {
  if (near.length === 0) return "";
  const places = near.map(({ line, endLine, difference }) =>
    `${line === endLine ? `line ${line}` : `lines ${line} to ${endLine}`} (${difference})`
  );
  return `; most like it: ${places.join(", ")}`;
}

function failed(
  path: string,
  code: string,
  problem: string,
  fields: Readonly<Record<string, unknown>> = {},
): ToolError {
  return new ToolError(code, `Cannot edit "${path}": ${problem}`, { fields: { path, ...fields } });
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
