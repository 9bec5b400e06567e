import * as v from "valibot";
import { MAX_AGENT_PATH_UNITS } from "../../authority/agent_path.ts";
import { ToolInputError } from "../../errors.ts";
import { utf8Length } from "../../json.ts";
import { defineTool } from "../../tool/define.ts";
import { assertAgentPath } from "./agent_path.ts";
import { SHA256_HEX } from "./sha256_hex.ts";

const ENCODER = new TextEncoder();

/**
 * Creates a text file below a write root, or replaces one that the agent has read.
 *
 * `path` is relative to the project, `<label>/…` below a root outside of it, or absolute. A file that exists is replaced
 * only if it is still what `ReadFile` showed in full and at once, what this run wrote last, or what `expected_sha256` says. Folders
 * are made. Result: `{ path, created, changed, bytes, sha256, sha256_before, text }`; the same content again is not
 * written. The file is the old or the new one in full, also after a crash; it keeps its mode, a new one has 0644 less the
 * process's mask.
 *
 * Errors: `not_read`, `stale`, `not_a_file`, `not_replaceable`, `too_large`, `write_failed`, `lock_unavailable`. Denied:
 * `artifact_path_not_admitted`, `artifact_root_not_configured`, `symlink_refused`, `hard_link_refused`, `protected_path`,
 * `secret_name`, `exclude_pattern`. What is over `artifactBytes` ends in `budget`.
 */
export const WriteFile = defineTool({
  name: "WriteFile",
  family: "workspace",
  summary: "Creates a text file, or replaces one that was read, as a whole",
  args: v.strictObject({
    path: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MAX_AGENT_PATH_UNITS),
      v.description("Path relative to the project, or absolute inside it"),
    ),
    content: v.pipe(v.string(), v.description("The whole text; written as UTF-8, its line ends as they are")),
    expected_sha256: v.optional(v.pipe(
      v.string(),
      v.regex(SHA256_HEX),
      v.description("SHA-256 of the file that is replaced, where it was not read in this run"),
    )),
  }),
  result: v.strictObject({
    path: v.string(),
    created: v.boolean(),
    changed: v.boolean(),
    bytes: v.number(),
    sha256: v.string(),
    sha256_before: v.nullable(v.string()),
    text: v.string(),
  }),
  authority: { fs: "edit" },
  effect: "write",
  audit: { args: { path: "keep", content: "digest", expected_sha256: "keep" }, result: "keep" },
  nonClaims: [
    "keeps no extended attributes and no access lists",
    "cannot see a change that another program makes at the very moment of the replacement",
    "follows no link, also none that stays inside the root",
  ],
  prepare({ path, content, expected_sha256 }, resolve) {
    assertAgentPath("WriteFile", "path", path);
    if (!content.isWellFormed()) throw invalid('"content" must be well-formed text, it holds half of a surrogate pair');
    const target = resolve.fileToChange(path);
    return {
      targets: [target],
      artifact: { target, content, expectedSha256: expected_sha256 },
      note: { path: target.path, bytes: utf8Length(content) },
    };
  },
  async invoke({ target, content, expectedSha256 }, { change }) {
    const options = { verb: "write", known: "all", mustExist: false, dryRun: false, expectedSha256 } as const;
    const bytes = ENCODER.encode(content);
    const done = await change(target, options, () => ({ bytes, describe: () => undefined }));
    const { path, created, changed, sha256, sha256Before } = done;
    const what = created ? "created" : changed ? "replaced" : "unchanged";
    return {
      path,
      created,
      changed,
      bytes: bytes.length,
      sha256,
      sha256_before: sha256Before,
      text: `${what}: ${path} (${bytes.length} bytes)`,
    };
  },
});

function invalid(problem: string): ToolInputError {
  return new ToolInputError("tool_invalid_args", `Cannot call "WriteFile": ${problem}`);
}
