import * as v from "valibot";
import { MAX_AGENT_PATH_UNITS } from "../../authority/agent_path.ts";
import { ToolInputError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";
import type { FileSet, FoundFile, SearchFound } from "../../tool/powers.ts";
import { assertAgentPath } from "./agent_path.ts";
import { makeLinePattern, MAX_PATTERN_UNITS } from "./line_pattern.ts";
import { makePathPattern, MAX_PATH_PATTERN_UNITS, type PathPattern } from "./path_pattern.ts";
import { describeSkipped, SKIPPED } from "./skipped.ts";

/** Matching lines, or files, that come back where the call names no limit, and at most. */
const MATCHES = { usual: 200, most: 5000 };

/** Lines around a match, at most. */
const MAX_CONTEXT = 50;

const FLAG = v.boolean();

/**
 * Searches the text of files as they are now.
 *
 * `pattern` is a regular expression of RE2 syntax: no pattern takes more than time linear in the text. It is held against
 * each line without its line end; with `multiline` against the whole file, where `^` and `$` still mean lines. `include`
 * narrows the files by a pattern over paths; one without a slash speaks of names at any depth. Which files are in is the
 * same for `Glob`: `hidden`, `ignored`, or both with `include_all`, widen it. Binary files and those over the budget
 * `readFileBytes` are counted, not searched.
 *
 * Result: `text` for models (`path:line:text`, `path-line-text` around a match), `files` with the matching lines of each,
 * in the order of their paths; `matches` counts such lines (with the mode `files`, files), `searched` the files that were
 * searched, `skipped` what was left out by reason; `complete` is `false` where the limit was passed or time ran short.
 * `mode` is `lines`, `counts` (matching lines of each file) or `files` (names alone); `limit` is lines with the first,
 * files with the others. A long line is cut around its match.
 *
 * Error: `not_found`. Denied: as `ReadFile`, for `path`.
 */
export const Grep = defineTool({
  name: "Grep",
  family: "workspace",
  summary: "Searches the text of files with a regular expression that cannot backtrack",
  args: v.strictObject({
    pattern: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MAX_PATTERN_UNITS),
      v.description("Regular expression of RE2 syntax"),
    ),
    path: v.optional(
      v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_AGENT_PATH_UNITS), v.description("File, or folder to search")),
    ),
    recursive: v.optional(v.pipe(FLAG, v.description("Whether folders below are searched; true without"))),
    ignore_case: v.optional(v.pipe(FLAG, v.description("Whether letter case counts for nothing"))),
    context_lines: v.optional(
      v.pipe(
        v.number(),
        v.integer("an integer"),
        v.minValue(0),
        v.maxValue(MAX_CONTEXT),
        v.description("Lines around each match"),
      ),
    ),
    include_all: v.optional(v.pipe(FLAG, v.description("Both hidden and ignored"))),
    include: v.optional(
      v.pipe(
        v.string(),
        v.minLength(1),
        v.maxLength(MAX_PATH_PATTERN_UNITS),
        v.description("Pattern over paths: which files to search"),
      ),
    ),
    mode: v.optional(v.pipe(v.picklist(["lines", "counts", "files"]), v.description("What comes back; lines without"))),
    multiline: v.optional(v.pipe(FLAG, v.description("Whether a match may span lines"))),
    hidden: v.optional(v.pipe(FLAG, v.description("Also names that start with a dot"))),
    ignored: v.optional(v.pipe(FLAG, v.description("Also what ignore files leave out"))),
    limit: v.optional(
      v.pipe(
        v.number(),
        v.integer("an integer"),
        v.minValue(1),
        v.maxValue(MATCHES.most),
        v.description("Most matching lines, or files; 200 without"),
      ),
    ),
  }),
  result: v.strictObject({
    trust: v.literal("untrusted"),
    text: v.string(),
    files: v.array(v.strictObject({
      path: v.string(),
      count: v.number(),
      lines: v.array(v.strictObject({ line: v.number(), text: v.string(), match: v.boolean() })),
    })),
    matches: v.number(),
    searched: v.number(),
    skipped: SKIPPED,
    complete: v.boolean(),
  }),
  authority: { fs: "browse" },
  effect: "read",
  audit: {
    args: {
      pattern: "keep",
      path: "keep",
      recursive: "keep",
      ignore_case: "keep",
      context_lines: "keep",
      include_all: "keep",
      include: "keep",
      mode: "keep",
      multiline: "keep",
      hidden: "keep",
      ignored: "keep",
      limit: "keep",
    },
    result: "digest",
  },
  nonClaims: ["knows no lookaround and no back-reference", "searches no link, no binary file and no archive"],
  async prepare(args, resolve) {
    const { path, mode = "lines", limit = MATCHES.usual } = args;
    assertAgentPath("Grep", "path", path);
    const files = fileSetOf(args);
    const matcher = await makeLinePattern(args.pattern, {
      ignoreCase: args.ignore_case === true,
      multiline: args.multiline === true,
    });
    if ("fault" in matcher) throw wrong("pattern", `a regular expression, ${matcher.fault}`);
    const targets = resolve.trees(path);
    return {
      targets,
      artifact: { targets, query: { files, matcher, mode, context: args.context_lines ?? 0, limit } },
    };
  },
  async invoke({ targets, query }, { searchFiles, note }) {
    const found = await searchFiles(targets, query);
    note({ files: found.files.length, searched: found.searched, matches: found.matches });
    const files = found.files.map(({ path, count, lines }) => ({ path, count, lines: [...lines] }));
    const { matches, searched, skipped, complete } = found;
    return { trust: "untrusted", text: textOf(found, query), files, matches, searched, skipped, complete };
  },
});

interface SetArgs {
  readonly include?: string | undefined;
  readonly include_all?: boolean | undefined;
  readonly hidden?: boolean | undefined;
  readonly ignored?: boolean | undefined;
  readonly recursive?: boolean | undefined;
}

function fileSetOf({ include, include_all: all, hidden, ignored, recursive }: SetArgs): FileSet {
  const pattern = include === undefined ? undefined : makePathPattern(include, { anyDepth: true });
  if (pattern !== undefined && "fault" in pattern) throw wrong("include", `a pattern over paths, ${pattern.fault}`);
  const { matches, mayHold }: Partial<PathPattern> = pattern ?? {};
  return {
    hidden: all === true || hidden === true,
    ignored: all === true || ignored === true,
    recursive: recursive !== false,
    wants: matches ?? (() => true),
    ...(mayHold === undefined ? {} : { mayHold }),
  };
}

function wrong(key: string, what: string): ToolInputError {
  return new ToolInputError("tool_invalid_args", `Cannot call "Grep": "${key}" must be ${what}`);
}

interface Shown {
  readonly mode: "lines" | "counts" | "files";
  readonly context: number;
}

function textOf({ files, searched, skipped, complete }: SearchFound, { mode, context }: Shown): string {
  const lines: string[] = [];
  for (const file of files) {
    if (mode === "files") lines.push(file.path);
    else if (mode === "counts") lines.push(`${file.path}:${file.count}`);
    else showLines(lines, file, context);
  }
  if (files.length === 0) lines.push(`[no match in ${searched} ${searched === 1 ? "file" : "files"}]`);
  if (!complete) lines.push("[there is more: narrow the pattern or the path, or raise the limit]");
  const left = describeSkipped(skipped);
  return (left === undefined ? lines : [...lines, left]).join("\n");
}

/** As grep prints them: `--` between lines that do not follow each other. */
function showLines(out: string[], { path, lines }: FoundFile, context: number): void {
  let last: number | undefined;
  for (const { line, text, match } of lines) {
    if (context > 0 && line - 1 !== last && out.length > 0) out.push("--");
    const mark = match ? ":" : "-";
    out.push(`${path}${mark}${line}${mark}${text}`);
    last = line;
  }
}
