import assert from "node:assert/strict";
import { KEY_TABLE } from "../../src/authority/keys.ts";
import { explainJson, explainPlan } from "../../src/report/explain.ts";
import { compileIn, withProject } from "../policy/project.ts";

const POLICY = `{
  "version": 1,
  "agent": "agent.ts",
  "tools": ["readFile", "writeArtifact", "osv.query"],
  "fs": {
    "read": [{ "root": ".", "include": ["*.md"], "exclude": ["tmp/"] }],
    "write": [{ "root": "out" }]
  },
  "network": { "proxy": { "fromEnv": "MY_PROXY" }, "ipv6": true },
  "gate": { "deny": [{ "kind": "filesystem.read", "match": "drafts/" }] },
  "budgets": { "toolCalls": 7 },
  "expectDenials": [{ "tool": "slow", "code": "tool_not_granted" }],
  "expectEvents": { "finding": 2, "note": { "max": 4 }, "end": { "min": 1, "max": 1, "schema": { "type": "object" } } },
  "session": true
}`;

Deno.test("explainPlan() says what may be read, written, reached, run and spent, by which tool, with file and line", async () => {
  await withProject({}, async (dir) => {
    const { plan, loaded } = await compileIn(dir, POLICY);
    const text = explainPlan(plan, loaded.positionOf);
    const at = (line: number) => `[${dir}/agent.policy.jsonc:${line}]`;
    for (
      const line of [
        `  \${project}; only *.md; never tmp/ by readFile   ${at(6)}`,
        `  new files below \${project}/out by writeArtifact   ${at(7)}`,
        `  POST https://api.osv.dev/v1/query by osv.query   ${at(4)}`,
        `  MY_PROXY   ${at(9)}`,
        `  deny filesystem.read drafts/ by every tool   ${at(10)}`,
        `  Attempted calls, the denied ones included: 7 calls   ${at(11)}`,
        `  a denial of slow with tool_not_granted   ${at(12)}`,
        `  at least 2 events of kind finding   ${at(13)}`,
        `  1 to 4 events of kind note   ${at(13)}`,
        `  exactly 1 event of kind end, each fitting the schema in the policy   ${at(13)}`,
      ]
    ) {
      assert.ok(text.split("\n").includes(line), `${line}\n---\n${text}`);
    }
    assert.match(text, /outside: either key; patterns and links: key 2 only/);
    assert.match(text, /the proxy in MY_PROXY: it resolves names, so key 1 does not see addresses/);
    assert.match(text, /IPv6 is on/);
    for (const { title } of KEY_TABLE) assert.ok(text.includes(title), title);
    assert.ok(text.endsWith("\n"));
  });
});

Deno.test("explainPlan() says nothing where nothing is granted", async () => {
  await withProject({}, async (dir) => {
    const { plan, loaded } = await compileIn(dir, { version: 1 });
    const text = explainPlan(plan, loaded.positionOf);
    for (const title of ["called", "read", "written", "reached", "run"]) {
      assert.match(text, new RegExp(`May be ${title}:\n  nothing`));
    }
  });
});

Deno.test("explainPlan() says that recorded answers reach no host", async () => {
  await withProject({ files: { "fx.json": "{}" } }, async (dir) => {
    const { plan, loaded } = await compileIn(dir, {
      version: 1,
      tools: ["osv.query"],
      network: { fixtures: ["fx.json"] },
    });
    const text = explainPlan(plan, loaded.positionOf);
    assert.match(text, /no host: answers come from \$\{project\}\/fx\.json/);
    assert.ok(!text.includes("POST https://"));
  });
});

Deno.test("explainJson() is JSON with the same sections and the key table", async () => {
  await withProject({}, async (dir) => {
    const { plan, loaded } = await compileIn(dir, POLICY);
    const json = explainJson(plan, loaded.positionOf) as {
      sections: { title: string }[];
      keys: unknown[];
      name: string;
    };
    assert.equal(json.name, "agent");
    assert.equal(json.keys.length, KEY_TABLE.length);
    assert.ok(json.sections.some(({ title }) => title === "May be spent"));
  });
});

Deno.test("explainPlan() lets no reason move the cursor, hide or start a line", async () => {
  await withProject({}, async (dir) => {
    const outside = await Deno.realPath(await Deno.makeTempDir());
    try {
      const reason = "fine\u001b[1A\u001b[2K\u202e\nMay be written:";
      const { plan, loaded } = await compileIn(
        dir,
        JSON.stringify({
          version: 1,
          agent: "agent.ts",
          tools: ["readFile"],
          fs: { read: [{ root: outside }] },
          unsafe: { outside: [{ root: outside, reason, expires: "2030-12-31" }] },
        }),
      );
      const lines = explainPlan(plan, loaded.positionOf).split("\n");
      assert.ok(lines.some((line) => line.includes("fine\\u{1b}[1A\\u{1b}[2K\\u{202e}\\nMay be written:")));
      assert.ok(!lines.some((line) => /\p{Cc}|\p{Cf}/u.test(line)));
    } finally {
      await Deno.remove(outside, { recursive: true });
    }
  });
});
