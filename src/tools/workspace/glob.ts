import * as v from "valibot";
import { MAX_AGENT_PATH_UNITS } from "../../authority/agent_path.ts";
import { ToolInputError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";
import { assertAgentPath } from "./agent_path.ts";
import { makePathPattern, MAX_PATH_PATTERN_UNITS } from "./path_pattern.ts";
import { describeSkipped, SKIPPED } from "./skipped.ts";

/** Files that come back where the call names no limit, and at most. */
const FILES = { usual: 500, most: 5000 };

/**
 * Finds files by name, as they are now.
 *
 * `pattern` is held against the whole path below `root`, or below the project without it: `*` and `?` stay within a
 * name, `**` stands for any number of folders, `[a-z]`, `[!a]` and `{a,b}` work, `\` makes a character stand for itself.
 * Left out are links, `.git`, what the policy or the gate denies, and, unless `hidden` or `ignored` ask for them, names
 * that start with a dot and what ignore files name. Result: `text` for models, `files` in the order of their text,
 * `total` with those beyond `limit`, `skipped` counts by reason, `complete`: whether everything was looked at.
 *
 * Error: `not_found`. Denied: as `ReadFile`, for `root`.
 */
export const Glob = defineTool({
  name: "Glob",
  family: "workspace",
  summary: "Finds files by a pattern over their paths, as they are now",
  args: v.strictObject({
    pattern: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MAX_PATH_PATTERN_UNITS),
      v.description("Pattern over the path below root: *, ?, **, [a-z], {a,b}"),
    ),
    root: v.optional(
      v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_AGENT_PATH_UNITS), v.description("Folder to look below")),
    ),
    hidden: v.optional(v.pipe(v.boolean(), v.description("Also names that start with a dot"))),
    ignored: v.optional(v.pipe(v.boolean(), v.description("Also what ignore files leave out"))),
    limit: v.optional(
      v.pipe(
        v.number(),
        v.integer("an integer"),
        v.minValue(1),
        v.maxValue(FILES.most),
        v.description("Most files; 500 without"),
      ),
    ),
  }),
  result: v.strictObject({
    trust: v.literal("untrusted"),
    text: v.string(),
    files: v.array(v.string()),
    total: v.number(),
    skipped: SKIPPED,
    complete: v.boolean(),
  }),
  authority: { fs: "browse" },
  effect: "read",
  audit: { args: { pattern: "keep", root: "keep", hidden: "keep", ignored: "keep", limit: "keep" }, result: "digest" },
  nonClaims: ["lists no folder and no link"],
  prepare({ pattern, root, hidden = false, ignored = false, limit = FILES.usual }, resolve) {
    assertAgentPath("Glob", "root", root);
    const compiled = makePathPattern(pattern);
    if ("fault" in compiled) {
      const message = `Cannot call "Glob": "pattern" must be a pattern over paths, ${compiled.fault}`;
      throw new ToolInputError("tool_invalid_args", message);
    }
    const targets = resolve.trees(root);
    const { matches: wants, mayHold } = compiled;
    return { targets, artifact: { targets, limit, files: { hidden, ignored, recursive: true, wants, mayHold } } };
  },
  async invoke({ targets, files: set, limit }, { findFiles, note }) {
    const found = await findFiles(targets, set, limit);
    note({ files: found.total });
    const { total, skipped, complete } = found;
    const files = [...found.files];
    return { trust: "untrusted", text: textOf(found), files, total, skipped, complete };
  },
});

function textOf(
  { files, total, complete, skipped }: {
    readonly files: readonly string[];
    readonly total: number;
    readonly complete: boolean;
    readonly skipped: Readonly<Record<string, number>>;
  },
): string {
  const lines = files.length === 0 ? ["[no file matches]"] : [...files];
  if (total > files.length) lines.push(`[${files.length} of ${total} files are shown: narrow the pattern]`);
  if (!complete) lines.push("[not everything was looked at: the time of the call ran short]");
  const left = describeSkipped(skipped);
  return (left === undefined ? lines : [...lines, left]).join("\n");
}
