import assert from "node:assert/strict";
import { ToolError } from "../../../src/errors.ts";
import { callReader, type GitHubAnswers, withGitHub } from "../../net/github_world.ts";
import type { Called } from "../../net/network_run.ts";
import type { TlsWorld, WorldRequest } from "../../net/tls_world.ts";

const TOOL = "github.file.read";
const RAW = "application/vnd.github.raw+json";
const ARGS = { owner: "o", repo: "r", path: "x", ref: "topic/one" };

async function read(answers: GitHubAnswers, toolResultBytes = 8_388_608): Promise<{ called: Called; world: TlsWorld }> {
  return await withGitHub(answers, async (world) => ({
    called: await callReader(world, { tool: TOOL, args: ARGS, run: { toolResultBytes } }),
    world,
  }));
}

/** A file of more than a megabyte, as the API has it: the first answer holds nothing of it. */
const large = (bytes: Uint8Array, size = bytes.byteLength) => (request: WorldRequest) =>
  request.headers.accept === RAW
    ? { body: bytes, headers: { "content-type": `${RAW}; charset=utf-8` } }
    : { body: { type: "file", encoding: "none", content: "", size, sha: "1", path: "x" } };

Deno.test("githubFileRead asks for a file over one megabyte once more, as bytes, with the same ref", async () => {
  const text = "é\n".repeat(600_000);
  const { called, world } = await read(large(new TextEncoder().encode(text)));
  assert.deepEqual(called.result, {
    type: "file",
    path: "x",
    sha: "1",
    size: 1_800_000,
    encoding: "utf-8",
    content: text,
  });
  assert.deepEqual(
    world.requests.map(({ url }) => url),
    Array(2).fill("https://api.github.com/repos/o/r/contents/x?ref=topic%2Fone"),
  );
  assert.equal(called.note.media_type, "raw");
  const binary = new Uint8Array(1_100_000).fill(0xff);
  const other = await read(large(binary));
  assert.deepEqual(other.called.result, {
    type: "file",
    path: "x",
    sha: "1",
    size: 1_100_000,
    encoding: "base64",
    content: binary.toBase64(),
  });
});

Deno.test("githubFileRead never takes an empty or cut answer for the file", async () => {
  const bytes = new Uint8Array(1_000).fill(65);
  const cases: readonly [GitHubAnswers, string][] = [
    [large(bytes, 2_000), "invalid_json"],
    [large(new Uint8Array(0), 2_000), "invalid_json"],
    [large(bytes, 999), "invalid_json"],
    [large(bytes, 100 * 1_024 * 1_024 + 1), "too_large"],
    [() => ({ body: { type: "file", encoding: "base64", content: "aGk=", size: 3, sha: "1" } }), "invalid_json"],
    [() => ({ body: { type: "file", encoding: "base64", content: "!", size: 1, sha: "1" } }), "invalid_json"],
    [() => ({ body: { type: "file", encoding: "utf-16", content: "hi", size: 2, sha: "1" } }), "invalid_json"],
    [() => ({ body: { type: "file", encoding: "base64", content: "aGk=", sha: "1" } }), "invalid_json"],
    [() => ({ body: { type: "file", encoding: "base64", content: "aGk=", size: 2 } }), "invalid_json"],
    [() => ({ body: { type: "device", sha: "1" } }), "invalid_json"],
    [() => ({ body: { type: "symlink", sha: "1" } }), "invalid_json"],
    [() => ({ body: [{ type: "device", name: "x", path: "x", sha: "1", size: 1 }] }), "invalid_json"],
    [() => ({ body: "null" }), "invalid_json"],
  ];
  for (const [answers, code] of cases) {
    const { called: { error, result } } = await read(answers);
    assert.ok(error instanceof ToolError, JSON.stringify(result));
    assert.equal(error.code, code, error.message);
  }
});

Deno.test("githubFileRead says too_large, with the size, where the call may not receive the file", async () => {
  const { called: { error } } = await read(large(new Uint8Array(5_000)), 4_000);
  assert.ok(error instanceof ToolError && error.code === "too_large");
  assert.equal(error.fields.size, 5_000);
});
