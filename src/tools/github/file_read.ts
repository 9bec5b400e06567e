import * as v from "valibot";
import { ToolError } from "../../errors.ts";
import type { Json, JsonObject } from "../../json.ts";
import { asObject, assertRef, defineReader, gitRef, type Reader, refuse, unexpected } from "./reader.ts";

const NAME = "github.file.read";

/** Largest file that the API hands out, in bytes. */
const MAX_FILE_BYTES = 100 * 1_024 * 1_024;

/** Entries of a folder that the API lists, at most; it says nothing where it leaves out more. */
const MAX_FOLDER = 1_000;

const shared = { path: v.string(), sha: v.string() };
const file = v.strictObject({
  type: v.literal("file"),
  ...shared,
  size: v.pipe(v.number(), v.description("Bytes of the file")),
  encoding: v.pipe(v.picklist(["utf-8", "base64"]), v.description("`base64` where the file is not UTF-8 text")),
  content: v.string(),
});
const folder = v.strictObject({
  type: v.literal("dir"),
  path: v.string(),
  entries: v.array(v.strictObject({
    type: v.picklist(["file", "dir", "symlink", "submodule"]),
    name: v.string(),
    ...shared,
    size: v.number(),
  })),
  complete: v.pipe(v.boolean(), v.description("Whether GitHub surely left out no entry")),
});
const link = v.strictObject({ type: v.literal("symlink"), ...shared, target: v.string() });
const submodule = v.strictObject({ type: v.literal("submodule"), ...shared, url: v.nullable(v.string()) });

/**
 * Reads one file, lists one folder, or says where a link or a submodule leads.
 *
 * Arguments: `{ owner, repo, path, ref? }`; `path` as it is in the repository, never percent-encoded; without `ref` the
 * default branch. Result by `type`: `file` with its whole content as text, or in base64 where it is not UTF-8; `dir`;
 * `symlink`; `submodule`. A file that cannot be had whole is an error `too_large`, never an empty one.
 */
export const githubFileRead = defineReader({
  name: NAME,
  summary: "Reads one file, or lists one folder, of a GitHub repository",
  entries: {
    path: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(1_024),
      v.description("Path of the file, without a leading slash"),
    ),
    ref: v.optional(gitRef(200, "A branch, a tag or a commit; without it, the default branch")),
  },
  path: "/contents/{+path}",
  query: ["ref"],
  result: v.union([file, folder, link, submodule]),
  nonClaims: [
    "GitHub lists 1,000 entries of a folder at most, and follows a link to a file of the same repository itself",
  ],
  places({ path, ref }) {
    if (ref !== undefined) assertRef(NAME, "ref", ref);
    if (/[\\\p{Cc}]/u.test(path) || path.split("/").some((segment) => ["", ".", ".."].includes(segment))) {
      throw refuse(
        NAME,
        '"path" must hold no backslash, no control character and no segment that is empty, "." or ".."',
      );
    }
    return { path };
  },
  parameters: ({ ref }) => ref === undefined ? {} : { ref },
  async read(reader, { path }) {
    const json = await reader.json();
    if (Array.isArray(json)) return readFolder(path, json);
    const entry = asObject(json);
    const { type, target, submodule_git_url: url = null } = entry;
    const own = { path, sha: textOf(entry, "sha") };
    if (type === "symlink") {
      if (typeof target !== "string") throw unexpected("the link leads nowhere");
      return { type: "symlink" as const, ...own, target };
    }
    if (type === "submodule" || (type === "file" && typeof url === "string")) {
      return { type: "submodule" as const, ...own, url: typeof url === "string" ? url : null };
    }
    if (type !== "file") throw unexpected("it is neither file, folder, link nor submodule");
    return await readContent(reader, entry, own);
  },
});

async function readContent(
  reader: Reader,
  entry: JsonObject,
  own: { readonly path: string; readonly sha: string },
): Promise<v.InferOutput<typeof file>> {
  const { size, encoding, content } = entry;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw unexpected("the file has no size");
  if (size > MAX_FILE_BYTES) throw tooLarge(size);
  // Above one megabyte the answer has no content, which must not pass for an empty file
  const isWhole = encoding === "base64" && typeof content === "string" && (content !== "" || size === 0);
  if (!isWhole && encoding !== "none" && encoding !== "base64") throw unexpected("the content has an unknown form");
  const bytes = isWhole ? decodeBase64(content) : await readRaw(reader, size);
  if (bytes.byteLength !== size) throw unexpected("the content is not as long as the file");
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { type: "file", ...own, size, encoding: "utf-8", content: text };
  } catch {
    return { type: "file", ...own, size, encoding: "base64", content: bytes.toBase64() };
  }
}

async function readRaw(reader: Reader, size: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { bytes } = await reader.bytes();
    reader.note({ media_type: "raw" });
    return bytes;
  } catch (error) {
    if (error instanceof ToolError && error.code === "response_byte_budget") throw tooLarge(size);
    throw error;
  }
}

/** GitHub breaks its base64 into lines. */
function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.fromBase64(text.replaceAll("\n", ""));
  } catch {
    throw unexpected("the content is not base64");
  }
}

const TYPES = ["file", "dir", "symlink", "submodule"] as const;

function readFolder(path: string, list: readonly Json[]): v.InferOutput<typeof folder> {
  const entries = list.map((json) => {
    const entry = asObject(json);
    const isSubmodule = typeof entry.submodule_git_url === "string";
    const type = TYPES.find((one) => one === (isSubmodule ? "submodule" : entry.type));
    const { size } = entry;
    if (type === undefined || typeof size !== "number") throw unexpected("the folder holds something unknown");
    return { type, name: textOf(entry, "name"), path: textOf(entry, "path"), sha: textOf(entry, "sha"), size };
  });
  return { type: "dir", path, entries, complete: entries.length < MAX_FOLDER };
}

function textOf(entry: JsonObject, key: string): string {
  const value = entry[key];
  if (typeof value !== "string" || value === "") throw unexpected(`it has no "${key}"`);
  return value;
}

function tooLarge(size: number): ToolError {
  return new ToolError("too_large", `Cannot read the file: it has ${size} bytes, more than this call may receive`, {
    fields: { error_kind: "response_byte_budget", retryable: false, size },
  });
}
