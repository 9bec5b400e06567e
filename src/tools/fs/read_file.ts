import * as v from "valibot";
import { ToolInputError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";
import { MAX_PATH_UNITS } from "./max_path_units.ts";

/**
 * Reads one file of the collected source as text.
 *
 * `path` is relative to its read root (also with a leading `./`) or the absolute path; `root` is the label of a root and
 * is needed where two roots hold the same relative path. Result: `{ path, content, bytes, source_hash }` with the path
 * relative to the root, the size in UTF-8 bytes and `sha256:<hex>` of them. Content is untrusted text.
 *
 * Denied: `fs_read_path_not_admitted`, `fs_read_path_ambiguous`, the reason that `listFiles` gives for an unreadable
 * name, and `content_changed` for a file that is no longer what was collected or first read.
 */
export const readFile = defineTool({
  name: "readFile",
  family: "fs",
  summary: "Reads one file of the granted source as text",
  args: v.strictObject({
    path: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MAX_PATH_UNITS),
      v.description("Path relative to its read root, or absolute"),
    ),
    root: v.optional(
      v.pipe(v.string(), v.maxLength(MAX_PATH_UNITS), v.description("Label of the read root, where a path is in two")),
    ),
  }),
  result: v.strictObject({
    path: v.string(),
    content: v.string(),
    bytes: v.number(),
    source_hash: v.string(),
  }),
  authority: { fs: "read" },
  effect: "read",
  audit: { args: { path: "keep", root: "keep" }, result: "digest" },
  nonClaims: [
    "reads no file that was created after the start of the run",
    "reads no binary file and no part of a file",
  ],
  async prepare({ path, root }, resolve) {
    if (path.includes("\0")) {
      throw new ToolInputError("tool_invalid_args", 'Cannot call "readFile": "path" must be a path, it holds a NUL');
    }
    const target = await resolve.source(path, root);
    const { entry } = target;
    const note = entry === undefined
      ? {}
      : { path: entry.path, root: entry.root, bytes: entry.bytes, kind: entry.kind, source_hash: entry.source_hash };
    return { targets: [target], artifact: target, note };
  },
  async invoke(target, { read, note }) {
    const { path, content, bytes, sha256 } = await read(target);
    const source_hash = `sha256:${sha256}`;
    note({ path, bytes, source_hash });
    // In the order of canonical JSON, so that the log's digest of it needs no second print.
    return { bytes, content, path, source_hash };
  },
});
