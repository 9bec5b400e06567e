import * as v from "valibot";
import { ToolInputError } from "../../errors.ts";
import { utf8Length } from "../../json.ts";
import { defineTool } from "../../tool/define.ts";
import { fnv1a64 } from "./fnv1a64.ts";

const ENCODER = new TextEncoder();

/**
 * Creates one new text file below the write root; never changes one that exists.
 *
 * `path` is relative to the root with `/` between segments; empty and `.` segments are dropped. Result: the normalised
 * `{ path, bytes, hash, sha256 }`: the size in UTF-8 bytes, `fnv1a64:<16 hex>` and 64 hexadecimal digits of SHA-256 over
 * them. The file is there in full or not at all, with the mode 0644 less the process's mask.
 *
 * Denied: `artifact_path_not_admitted` (empty, absolute, `..`, a backslash or a control character),
 * `artifact_overwrite_denied`, `artifact_root_not_configured`, `symlink_refused`, `protected_path`. A content larger
 * than what is left of `artifactBytes`, the bytes of all files of a run, ends in `budget`.
 */
export const writeArtifact = defineTool({
  name: "writeArtifact",
  family: "fs",
  summary: "Creates one new text file below the write root",
  args: v.strictObject({
    path: v.pipe(v.string(), v.description("Path of the new file, relative to the write root")),
    content: v.pipe(v.string(), v.description("The whole text; written as UTF-8")),
  }),
  result: v.strictObject({ path: v.string(), bytes: v.number(), hash: v.string(), sha256: v.string() }),
  authority: { fs: "write" },
  effect: "write",
  audit: { args: { path: "keep", content: "digest" }, result: "keep" },
  nonClaims: ["overwrites nothing", "writes to the first write root only"],
  async prepare({ path, content }, resolve) {
    if (!content.isWellFormed()) {
      throw new ToolInputError(
        "tool_invalid_args",
        'Cannot call "writeArtifact": "content" must be well-formed text, it holds half of a surrogate pair',
      );
    }
    const target = await resolve.artifact(path);
    return {
      targets: [target],
      artifact: { target, content },
      note: { path: target.path, bytes: utf8Length(content) },
    };
  },
  async invoke({ target, content }, { write, sha256 }) {
    const bytes = ENCODER.encode(content);
    await write(target, bytes);
    return { path: target.path, bytes: bytes.length, hash: `fnv1a64:${fnv1a64(bytes)}`, sha256: await sha256(bytes) };
  },
});
