import * as v from "valibot";
import { ToolInputError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";
import { MAX_PATH_UNITS } from "./max_path_units.ts";

/**
 * Lists the collected source: every name found at the start of the run, readable or not, with the reason.
 *
 * `path` narrows the listing to one file or to what lies below one folder; `root`, the label of a root, to that root.
 * Result: `{ files: [{ path, root, bytes, kind, readable, reason, source_hash }], complete }`, in the order of the roots
 * and paths. A folder that was not entered is one entry. `source_hash` is `null` until a file is first read. `complete`
 * is `false` when a limit left names out or unread. Names are untrusted text.
 *
 * Denied: `fs_read_path_not_admitted` where nothing was collected at `path`, or the reason of the folder above it.
 */
export const listFiles = defineTool({
  name: "listFiles",
  family: "fs",
  summary: "Lists the granted source, with the reason for each name that cannot be read",
  args: v.strictObject({
    path: v.optional(
      v.pipe(
        v.string(),
        v.minLength(1),
        v.maxLength(MAX_PATH_UNITS),
        v.description("A file, or a folder to look below; everything without it"),
      ),
    ),
    root: v.optional(v.pipe(v.string(), v.maxLength(MAX_PATH_UNITS), v.description("Label of one read root"))),
  }),
  result: v.strictObject({
    files: v.array(v.strictObject({
      path: v.string(),
      root: v.string(),
      bytes: v.number(),
      kind: v.string(),
      readable: v.boolean(),
      reason: v.string(),
      source_hash: v.nullable(v.string()),
    })),
    complete: v.boolean(),
  }),
  authority: { fs: "read" },
  effect: "read",
  audit: { args: { path: "keep", root: "keep" }, result: "digest" },
  nonClaims: ["shows no file that was created after the start of the run"],
  prepare({ path, root }, resolve) {
    if (path?.includes("\0")) {
      throw new ToolInputError("tool_invalid_args", 'Cannot call "listFiles": "path" must be a path, it holds a NUL');
    }
    const targets = resolve.sources(path, root);
    return { targets, artifact: targets };
  },
  invoke(targets, { list, note }) {
    const files = [...list(targets)];
    note({ files: files.length });
    const complete = files.every((file) => file.kind !== "limit");
    return { files, complete };
  },
});
