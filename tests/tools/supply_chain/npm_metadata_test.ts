import assert from "node:assert/strict";
import fc from "fast-check";
import { ToolError, ToolInputError } from "../../../src/errors.ts";
import type { Json } from "../../../src/json.ts";
import type { FullPowers, FullResolve } from "../../../src/tool/define.ts";
import { npmMetadata } from "../../../src/tools/supply_chain/npm_metadata.ts";
import { withRegistry } from "../../../src/tools/supply_chain/npm_registry.ts";
import { readFixture } from "../../fixture.ts";
import { callTool, withNetwork } from "../../net/network_run.ts";

/** The path that a name leads to; what the tool throws is thrown. */
async function pathOf(name: unknown): Promise<string> {
  return await withNetwork({}, async (network) => {
    const resolver = network.resolver(npmMetadata.name) as unknown as FullResolve;
    const { request } = await npmMetadata.prepare({ package: name }, resolver);
    const target = request.requirements[0]?.target ?? "";
    const prefix = withRegistry("GET https://<npm-registry>/");
    assert.ok(target.startsWith(prefix), target);
    return target.slice(prefix.length);
  });
}

Deno.test("npmMetadata takes names of the old grammar and leads each to its one path", async () => {
  const right = [
    ["lodash", "lodash"],
    ["@types/node", "@types%2fnode"],
    ["@scope/fs", "@scope%2ffs"],
    ["@scope/_x", "@scope%2f_x"],
    ["@scope/.x", "@scope%2f.x"],
    ["JSONStream", "JSONStream"],
    ["a..b", "a..b"],
    ["a~'!()*", "a~'!()*"],
    ["-", "-"],
    ["x".repeat(214), "x".repeat(214)],
  ] as const;
  for (const [name, path] of right) assert.equal(await pathOf(name), path);
});

Deno.test("npmMetadata refuses names that are none, before any URL is built", async () => {
  const wrong = [
    "",
    ".",
    "..",
    "%2e%2e",
    "a%2fb",
    "@types%2fnode",
    "a?b",
    "a#b",
    "a\\b",
    "a b",
    " a",
    "a\n",
    "a/b",
    "a/..",
    "@a",
    "@/b",
    "@a/",
    "@a/b/c",
    "@../b",
    "@a/..",
    "@a/.",
    "@@a/b",
    "_session",
    ".hidden",
    "node_modules",
    "favicon.ico",
    "é",
    "a@1.0.0",
    "x".repeat(215),
    7,
    null,
  ];
  for (const name of wrong) await assert.rejects(pathOf(name), ToolInputError, JSON.stringify(name));
  assert.throws(() => npmMetadata.prepare({ package: "a", version: "1" }, {} as FullResolve), ToolInputError);
});

Deno.test("npmMetadata leads any text to one segment below the root, or refuses it", async () => {
  const parts = fc.constantFrom("@", "/", "..", ".", "%2f", "%2e", "a", "B", "_", "-", "\\", "?", "#", " ", "é", "\0");
  const name = fc.oneof(fc.array(parts, { maxLength: 8 }).map((all) => all.join("")), fc.string({ unit: "binary" }));
  await fc.assert(
    fc.asyncProperty(name, async (text) => {
      let path: string;
      try {
        path = await pathOf(text);
      } catch (error) {
        assert.ok(error instanceof ToolInputError);
        return;
      }
      assert.match(path, /^(?:@[^/%@]+%2f)?[^/%@]+$/);
      assert.equal(decodeURIComponent(path), text);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("npmMetadata returns the packument itself, and refuses one of another package or no object", async () => {
  const call = async (json: Json): Promise<unknown> => {
    const endpoint = () => ({ requirement: { kind: "network", target: "GET x", description: "x" } });
    const prepared = await npmMetadata.prepare({ package: "left-pad" }, { endpoint } as unknown as FullResolve);
    const send = () => Promise.resolve({ status: 200, headers: {}, json });
    return await npmMetadata.invoke(prepared, { send } as unknown as FullPowers);
  };
  const packument = { name: "left-pad", "dist-tags": { latest: "1.3.0" }, versions: {}, unknown: [1] };
  assert.equal(await call(packument), packument);
  for (const json of [[], null, "x", { name: "right-pad" }, { name: null }]) {
    await assert.rejects(call(json), (error) => {
      assert.ok(error instanceof ToolError, JSON.stringify(json));
      assert.equal(error.code, "invalid_json");
      return true;
    });
  }
});

Deno.test("npmMetadata answers from a recording, also that a package does not exist", async () => {
  const path = "answers.json";
  const text = JSON.stringify(readFixture("supply_chain", "npm.metadata").replies);
  await withNetwork({ fixtures: { [path]: text } }, async (network) => {
    const found = await callTool(network, npmMetadata, { args: { package: "valibot" } });
    assert.equal((found.result as { name: string }).name, "valibot");
    const scoped = await callTool(network, npmMetadata, { args: { package: "@stricli/core" } });
    assert.equal((scoped.result as { name: string }).name, "@stricli/core");
    const gone = await callTool(network, npmMetadata, { args: { package: "gone" } });
    assert.ok(gone.error instanceof ToolError);
    assert.equal(gone.error.fields.status_code, 404);
  });
});
