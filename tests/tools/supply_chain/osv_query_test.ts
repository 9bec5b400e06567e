import assert from "node:assert/strict";
import { ToolError, ToolInputError } from "../../../src/errors.ts";
import type { Json, JsonObject } from "../../../src/json.ts";
import type { FullPowers, FullResolve } from "../../../src/tool/define.ts";
import type { SendOptions } from "../../../src/tool/powers.ts";
import { osvQuery } from "../../../src/tools/supply_chain/osv_query.ts";
import { readFixture } from "../../fixture.ts";
import { callTool, withNetwork } from "../../net/network_run.ts";

const LODASH = { package: { ecosystem: "npm", name: "lodash" } };
const TARGET = { requirement: { kind: "network", target: "POST x", description: "x" } } as const;

/** Calls the tool with a service that answers page by page. */
async function ask(
  answer: (body: JsonObject, page: number) => Json,
  args: unknown = LODASH,
): Promise<{ result?: unknown; error?: unknown; bodies: JsonObject[]; note: JsonObject }> {
  const bodies: JsonObject[] = [];
  let note: JsonObject = {};
  const prepared = await osvQuery.prepare(args, { endpoint: () => TARGET } as unknown as FullResolve);
  assert.deepEqual(prepared.request.requirements, [TARGET.requirement]);
  const powers = {
    send: (_target: unknown, { body = {} }: SendOptions) => {
      bodies.push(body);
      return Promise.resolve({ status: 200, headers: {}, json: answer(body, bodies.length) });
    },
    note: (fields: JsonObject) => void (note = { ...note, ...fields }),
  } as unknown as FullPowers;
  try {
    return { result: await osvQuery.invoke(prepared, powers), bodies, note };
  } catch (error) {
    return { error, bodies, note };
  }
}

Deno.test("osvQuery follows page tokens in the JSON body and joins all pages", async () => {
  const { result, bodies, note } = await ask((_body, page) => ({
    vulns: [{ id: `V${page}`, extra: { kept: page } }],
    ...(page < 3 ? { next_page_token: `t${page}` } : {}),
  }));
  assert.deepEqual(result, { vulns: [1, 2, 3].map((page) => ({ id: `V${page}`, extra: { kept: page } })) });
  assert.deepEqual(bodies, [LODASH, { ...LODASH, page_token: "t1" }, { ...LODASH, page_token: "t2" }]);
  assert.deepEqual(note, { pages: 3, vulns: 3 });
});

Deno.test("osvQuery stops with pagination_stuck on a token that comes again, also after others", async () => {
  for (const tokens of [["a", "a"], ["a", "b", "a"]]) {
    const { error, bodies } = await ask((_body, page) => ({ vulns: [], next_page_token: tokens[page - 1] ?? "z" }));
    assert.ok(error instanceof ToolError);
    assert.equal(error.code, "pagination_stuck");
    assert.equal(bodies.length, tokens.length);
  }
});

Deno.test("osvQuery stops with pagination_stuck after 20 pages, and takes exactly 20", async () => {
  const endless = await ask((_body, page) => ({ vulns: [{ id: "A" }], next_page_token: `t${page}` }));
  assert.ok(endless.error instanceof ToolError);
  assert.equal(endless.error.code, "pagination_stuck");
  assert.equal(endless.bodies.length, 20);
  const twenty = await ask((_body, page) => ({
    vulns: [{ id: "A" }],
    next_page_token: page < 20 ? `t${page}` : "",
  }));
  assert.equal((twenty.result as { vulns: unknown[] }).vulns.length, 20);
});

Deno.test("osvQuery takes a missing list for none, and every other shape for an error", async () => {
  const none: readonly Json[] = [{}, { vulns: [] }, { next_page_token: "" }, { vulns: [], more: 1 }];
  for (const json of none) assert.deepEqual((await ask(() => json)).result, { vulns: [] });
  const wrong: readonly Json[] = [
    null,
    [],
    "",
    0,
    { vulns: null },
    { vulns: {} },
    { vulns: ["GHSA-x"] },
    { vulns: [{}] },
    { vulns: [{ id: "" }] },
    { vulns: [{ id: 1 }] },
    { vulns: [{ id: "A" }, null] },
    { vulns: [], next_page_token: 1 },
    { vulns: [], next_page_token: null },
    { code: 5, message: "not found" },
    { results: [] },
  ];
  for (const json of wrong) {
    const { error } = await ask(() => json);
    assert.ok(error instanceof ToolError, JSON.stringify(json));
    assert.equal(error.code, "invalid_json");
  }
});

Deno.test("osvQuery refuses arguments that are not its own", async () => {
  const wrong = [
    {},
    { package: "lodash" },
    { package: { ecosystem: "npm" } },
    { package: { ecosystem: "", name: "x" } },
    { package: { ecosystem: "npm", name: "" } },
    { package: { ecosystem: "npm", name: "x", purl: "y" } },
    { ...LODASH, version: "" },
    { ...LODASH, version: null },
    { ...LODASH, version: "1.0.0\n" },
    { ...LODASH, page_token: "x" },
    { package: { ecosystem: "Maven", name: "org.slf4j" } },
  ];
  for (const args of wrong) await assert.rejects(ask(() => ({}), args), ToolInputError, JSON.stringify(args));
});

Deno.test("osvQuery answers from a recording, with a miss for what was not recorded", async () => {
  const path = "answers.json";
  const text = JSON.stringify(readFixture("supply_chain", "osv.query").replies);
  await withNetwork({ fixtures: { [path]: text } }, async (network) => {
    const args = { ...LODASH, version: "4.17.20" };
    const found = await callTool(network, osvQuery, { args });
    const { vulns } = found.result as { vulns: { id: string; aliases: string[] }[] };
    const known = vulns.find(({ id }) => id === "GHSA-35jh-r3h4-6jhm");
    assert.deepEqual(known?.aliases, ["CVE-2021-23337"]);
    const miss = await callTool(network, osvQuery, { args: { ...LODASH, version: "9.9.9" } });
    assert.ok(miss.error instanceof ToolError);
    assert.equal(miss.error.code, "fixture_miss");
  });
});
