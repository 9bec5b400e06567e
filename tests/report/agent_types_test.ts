import assert from "node:assert/strict";
import { agentTypes, typeText } from "../../src/report/agent_types.ts";
import type { ToolManifests } from "../../src/tool/manifest.ts";
import manifestsJson from "../../src/tools/manifests.json" with { type: "json" };
import type { Json } from "../../src/json.ts";

const MANIFESTS = manifestsJson as unknown as ToolManifests;

Deno.test("typeText() prints schemas as types", () => {
  const cases: [Json, string][] = [
    [{}, "Json"],
    [true, "Json"],
    [false, "never"],
    [{ not: {} }, "never"],
    [{ type: "integer", minimum: 0 }, "number"],
    [{ type: ["string", "null"] }, "string | null"],
    [{ const: "a" }, '"a"'],
    [{ enum: ["a", 1, null] }, '"a" | 1 | null'],
    [{ enum: [{}] }, "Json"],
    [{ anyOf: [{ type: "string" }, { type: "string" }] }, "string"],
    [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } }, "readonly (string | null)[]"],
    [{ type: "array" }, "readonly Json[]"],
    [{ type: "array", prefixItems: [{ type: "string" }], items: false }, "readonly [string]"],
    [{ type: "object", properties: {} }, "JsonObject"],
    [{ type: "object", additionalProperties: false }, "Readonly<Record<string, never>>"],
    [{ type: "object", additionalProperties: { type: "number" } }, "Readonly<Record<string, number>>"],
    [
      { type: "object", properties: { "a-b": { type: "string" } }, required: [], additionalProperties: false },
      '{\n  readonly "a-b"?: string;\n}',
    ],
    [
      { type: "object", properties: { a: { const: true, description: "ends */ here\n." } }, required: ["a"] },
      "{\n  /** ends *\\/ here . */\n  readonly a: true;\n  readonly [name: string]: Json | undefined;\n}",
    ],
  ];
  for (const [schema, expected] of cases) assert.equal(typeText(schema), expected, JSON.stringify(schema));
});

Deno.test("typeText() ends for a schema that is nested without end", () => {
  let schema: Json = { type: "string" };
  for (let i = 0; i < 5000; i++) schema = { type: "array", items: schema };
  assert.match(typeText(schema), /^(readonly ){10,}Json(\[\]){10,}$/);
});

/** Type-checks an agent that stands beside the declarations; returns what the checker said. */
async function check(source: string): Promise<{ ok: boolean; text: string }> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/deno.json`, '{ "compilerOptions": { "exactOptionalPropertyTypes": true } }');
    await Deno.writeTextFile(`${folder}/agent.d.ts`, agentTypes(MANIFESTS));
    await Deno.writeTextFile(`${folder}/agent.ts`, `/// <reference types="./agent.d.ts" />\n${source}`);
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--no-lock", "agent.ts"],
      cwd: folder,
      env: { NO_COLOR: "1" },
    }).output();
    return { ok: success, text: new TextDecoder().decode(stderr) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("agentTypes() types every global that an agent has", async () => {
  const { ok, text } = await check(`
    const file = await callTool("readFile", { path: "a.md" });
    const length: number = file.content.length + file.bytes;
    const listed = await callTool("listFiles");
    const names: string[] = listed.files.map(({ path, source_hash }) => source_hash ?? path);
    const { vulns } = await callTool("osv.query", { package: { ecosystem: "npm", name: "x" }, version: "1.0.0" });
    const first: string | undefined = vulns[0]?.id;
    const packument = await callTool("npm.metadata", { package: "x" });
    const tags: Json | undefined = packument["dist-tags"];
    await callTool("echo");
    await callTool("echo", { any: ["thing", null, 1, { deep: true }] });
    emit({ kind: "x", length, names, first, tags });
    auditNote("a note");
    const controls: JsonObject = auditControls();
    await state.set("a", { b: [1] });
    const value: Json = await state.get("a");
    const gone: boolean = await state.delete("a");
    const keys: string[] = await state.list();
    await state.reset();
    console.log(context.anything, controls, value, gone, keys, new Date(), Math.random());
    setTimeout(() => clearTimeout(0), 1);
    try {
      await callTool("fail");
    } catch (error) {
      const { outcome, code, message, tool } = error as ToolCallError;
      if (outcome === "denied") console.error(code, message, tool);
    }
    const url = new URL("https://example.com");
    atob(btoa(url.href));
    structuredClone(new TextEncoder().encode("x"));
    close();
  `);
  assert.ok(ok, text);
});

Deno.test("agentTypes() refuses wrong names, arguments and results", async () => {
  const wrong = [
    'await callTool("raedFile", { path: "x" });',
    'await callTool("readFile");',
    'await callTool("readFile", { paht: "x" });',
    'await callTool("writeArtifact", { path: "x", content: 1 });',
    'const text: string = (await callTool("readFile", { path: "x" })).bytes;',
    "emit(new Map());",
    "context.x = 1;",
  ];
  const results = await Promise.all(wrong.map((source) => check(source)));
  for (const [i, { ok }] of results.entries()) assert.ok(!ok, wrong[i]);
});
