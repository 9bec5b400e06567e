import assert from "node:assert/strict";
import { DataError } from "../../src/errors.ts";
import { loadFixtures, parseFixture } from "../../src/plan/fixtures.ts";
import { withRegistry } from "../../src/tools/supply_chain/npm_registry.ts";

const LODASH = { ecosystem: "npm", name: "lodash" };

function exchanges(change: { request?: object; response?: object; top?: object } = {}): string {
  const value = {
    version: 1,
    recorded: "2026-07-01",
    exchanges: [{
      request: { method: "GET", url: "https://<npm-registry>/left-pad", ...change.request },
      response: { status: 200, body: { name: "left-pad" }, ...change.response },
    }],
    ...change.top,
  };
  return JSON.stringify(value, null, 2);
}

Deno.test("parseFixture() reads a list of OSV queries as exchanges with the OSV endpoint", () => {
  const text = JSON.stringify({
    queries: [
      { package: LODASH, version: "4.17.20", response: { vulns: [] } },
      { package: LODASH, response: { vulns: [{ id: "A" }] } },
    ],
  });
  const common = { method: "POST", url: "https://api.osv.dev/v1/query", file: "f.json", recorded: null };
  assert.deepEqual(parseFixture(text, "f.json"), [
    {
      ...common,
      body: '{"package":{"ecosystem":"npm","name":"lodash"},"version":"4.17.20"}',
      reply: { status: 200, headers: {}, text: '{"vulns":[]}', bytes: 12 },
    },
    {
      ...common,
      body: '{"package":{"ecosystem":"npm","name":"lodash"}}',
      reply: { status: 200, headers: {}, text: '{"vulns":[{"id":"A"}]}', bytes: 22 },
    },
  ]);
});

Deno.test("parseFixture() fills in the registry's host, also in bodies, and keeps known headers only", () => {
  const response = { headers: { etag: '"1"', "set-cookie": "x" }, body: { t: "https://<npm-registry>/a.tgz" } };
  const [exchange] = parseFixture(exchanges({ response }), "f.json");
  assert.equal(exchange?.url, withRegistry("https://<npm-registry>/left-pad"));
  assert.equal(exchange?.recorded, "2026-07-01");
  assert.deepEqual(exchange?.reply.headers, { etag: '"1"' });
  assert.equal(exchange?.reply.text, withRegistry('{"t":"https://<npm-registry>/a.tgz"}'));
});

Deno.test("parseFixture() says where a file is wrong and what would be right", () => {
  const cases: readonly [string, RegExp, number, number][] = [
    ["", /it is not JSON$/, 1, 1],
    ['{"queries":[\n{"package":}]}', /it is not JSON$/, 2, 12],
    ['{"queries":[', /it is not JSON$/, 1, 13],
    ["[]", /expected an object with "exchanges" or "queries"$/, 1, 1],
    ['{"queries":{}}', /\/queries expected Array, got Object$/, 1, 12],
    [
      '{"queries":[\n  {"package":{"ecosystem":"","name":"x"},"response":{}}]}',
      /\/queries\/0\/package\/ecosystem expected >=1, got 0$/,
      2,
      27,
    ],
    [
      '{"queries":[\n  {"package":{"ecosystem":"npm","name":"x"},"response":[]}]}',
      /\/queries\/0\/response expected an object, got Array$/,
      2,
      56,
    ],
    [
      '{"queries":[{"package":{"ecosystem":"npm","name":"x"},"response":{},\n"extra":1}]}',
      /\/queries\/0\/extra is not a known key$/,
      2,
      9,
    ],
    [exchanges({ top: { version: 2 } }), /\/version expected 1, got 2$/, 2, 14],
    [exchanges({ top: { recorded: "2026-02-30" } }), /\/recorded expected a day in the form YYYY-MM-DD/, 3, 15],
    [exchanges({ request: { method: "PUT" } }), /\/exchanges\/0\/request\/method expected /, 7, 19],
    [exchanges({ request: { url: "http://x.test/" } }), /\/exchanges\/0\/request\/url expected an https URL/, 8, 16],
    [exchanges({ request: { url: "https://x.test/../a" } }), /\/request\/url expected an https URL/, 8, 16],
    [exchanges({ request: { url: "https://u@x.test/a" } }), /\/request\/url expected an https URL/, 8, 16],
    [exchanges({ response: { status: 99 } }), /\/exchanges\/0\/response\/status expected >=200, got 99$/, 11, 19],
  ];
  for (const [text, message, line, column] of cases) {
    assert.throws(() => parseFixture(text, "f.json"), (error) => {
      assert.ok(error instanceof DataError);
      assert.equal(error.code, "fixture_invalid");
      assert.ok(error.message.startsWith('Cannot load fixture "f.json": '), error.message);
      assert.match(error.message, message);
      assert.deepEqual(error.position, { file: "f.json", line, column }, text);
      return true;
    });
  }
});

Deno.test("loadFixtures() finds an answer by the exact request only", () => {
  const set = loadFixtures([{ file: "a.json", text: exchanges() }]);
  const url = withRegistry("https://<npm-registry>/left-pad");
  assert.equal(set.size, 1);
  assert.equal(set.find("GET", url, "")?.reply.text, '{"name":"left-pad"}');
  assert.equal(set.find("POST", url, ""), undefined);
  assert.equal(set.find("GET", `${url}/`, ""), undefined);
  assert.equal(set.find("GET", url, "{}"), undefined);
});

Deno.test("loadFixtures() takes an answer twice, but not two answers to one request", () => {
  const first = { file: "a.json", text: exchanges() };
  assert.equal(loadFixtures([first, { file: "b.json", text: exchanges() }]).size, 1);
  const other = { file: "b.json", text: exchanges({ response: { status: 404 } }) };
  assert.throws(() => loadFixtures([first, other]), (error) => {
    assert.ok(error instanceof DataError);
    assert.equal(error.code, "fixture_ambiguous");
    assert.match(error.message, /has two different answers, the other in "a\.json"$/);
    assert.equal(error.position?.file, "b.json");
    return true;
  });
});
