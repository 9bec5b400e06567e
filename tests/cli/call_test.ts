import assert from "node:assert/strict";
import type { JsonObject } from "../../src/json.ts";
import { cleanEnv, MAIN, type Project, withProject } from "../e2e/run_project.ts";

/** Runs `call` and reads the one line that it prints. */
async function callIn(
  project: Project,
  ...args: string[]
): Promise<{ code: number; line: JsonObject; logged: boolean }> {
  const { code, stdout, stderr, auditPath } = await project.run({ args: ["call", ...args] });
  assert.match(stdout, /^\{[^\n]*\}\n$/, `${args.join(" ")}: ${stdout} ${stderr}`);
  return { code, line: JSON.parse(stdout), logged: auditPath !== "" };
}

Deno.test("call prints exactly one JSON line, with the exit code of its outcome", () =>
  withProject({ files: { "docs/a.md": "hello\n" } }, async (project) => {
    const cases: readonly [string[], number, JsonObject][] = [
      [["echo", '{"a":1}', "--tool=echo"], 0, { outcome: "result", tool: "echo", result: { a: 1 } }],
      [["echo", "--tool", "echo"], 0, { outcome: "result", tool: "echo", result: {} }],
      [["echo", "{}", "--tool=slow"], 77, {
        outcome: "denied",
        tool: "echo",
        code: "tool_not_granted",
        message: "agent tool denied: echo",
      }],
      [["readFile", '{"path":"docs/b.md"}', "--tool=readFile", "--fs-read=docs"], 77, {
        outcome: "denied",
        tool: "readFile",
        code: "fs_read_path_not_admitted",
        message: "agent tool denied: readFile",
      }],
      [["echo", "[1]", "--tool=echo"], 65, {
        outcome: "invalid",
        tool: "echo",
        code: "tool_invalid_args",
        message: 'Cannot call "echo": its arguments must be a JSON object',
      }],
      [["fail", "{}", "--tool=fail", "--worker"], 1, {
        outcome: "error",
        tool: "fail",
        code: "host_failure",
        message: "agent tool host failure: fail",
      }],
      [["slow", "{}", "--tool=slow", "--tool-timeout-ms=50"], 70, {
        outcome: "timeout",
        tool: "slow",
        code: "tool_timeout",
        message: "agent tool timeout: slow after 50ms",
      }],
      [["echo", '{"a":"xxxx"}', "--tool=echo", "--max-tool-arg-bytes", "5"], 70, {
        outcome: "budget",
        tool: "echo",
        code: "tool_arg_bytes",
        message: 'Cannot finish "echo": 12 is over the budget tool_arg_bytes of 5',
      }],
    ];
    for (const [args, exit, expected] of cases) {
      const { code, line: { run_id, ...line }, logged } = await callIn(project, ...args);
      assert.deepEqual([code, line], [exit, expected]);
      assert.match(String(run_id), /^\d{8}-\d{6}-[0-9a-f]{6}$/);
      assert.ok(logged);
    }
  }));

Deno.test("call prints its line also where nothing can run", () =>
  withProject({}, async (project) => {
    const notJson = await callIn(project, "echo", "{", "--tool=echo");
    assert.deepEqual([notJson.code, notJson.line.outcome, notJson.logged], [65, "invalid", false]);
    const noTool = await callIn(project, "echo", "{}", "--tool=ecoh");
    assert.deepEqual([noTool.code, noTool.line.outcome, noTool.logged], [65, "invalid", false]);
    const conflict = await callIn(project, "echo", "{}", "--tool=echo", "--worker", "--isolation=process");
    assert.deepEqual([conflict.code, conflict.line.outcome], [64, "invalid"]);
    const noPolicy = await callIn(project, "echo", "{}", "--policy=none.jsonc");
    assert.deepEqual([noPolicy.code, noPolicy.line.outcome], [66, "invalid"]);
  }));

Deno.test("call keeps what it was given apart from source text", () =>
  withProject({}, async (project) => {
    const hostile = JSON.stringify({ a: "`${close()}` \" ' \\ \u2028 <!-- import(1) eval(2) //" });
    for (const isolation of ["process", "worker", "compartment"]) {
      const { code, line } = await callIn(project, "echo", hostile, "--tool=echo", `--isolation=${isolation}`);
      assert.deepEqual([code, line.result], [0, JSON.parse(hostile)], isolation);
    }
    const { line } = await callIn(project, 'x"});close();//', "{}", "--tool=echo");
    assert.equal(line.code, "tool_not_granted");
  }));

Deno.test("call says beside its line how to grant the tool, or that there is none", () =>
  withProject({ policy: { tools: ["echo"] }, agent: "" }, async ({ run }) => {
    assert.match(
      (await run({ args: ["call", "slow"] })).stderr,
      /^fix: grant it with --tool=slow, or name a --policy\n$/,
    );
    assert.match(
      (await run({ args: ["call", "ecko", "--tool=echo"] })).stderr,
      /^fix: there is no tool "ecko"; .*echo\?/,
    );
    assert.equal((await run({ args: ["call", "slow", "--policy=agent.policy.jsonc"] })).stderr, "");
  }));

Deno.test("call prints the whole of a large answer under the default budgets, also to a reader that is slow", () => {
  const json = { name: "large", versions: {}, pad: "é".repeat(5 * 1_048_576) };
  const exchange = {
    request: { method: "GET", url: "https://<npm-registry>/large" },
    response: { status: 200, body: json },
  };
  const fixture = JSON.stringify({ version: 1, recorded: "2026-01-01", exchanges: [exchange] });
  return withProject({
    agent: "",
    files: { "answers.json": fixture },
    policy: { tools: ["npm.metadata"], network: { fixtures: ["answers.json"] } },
  }, async (project) => {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-prompt",
        "--quiet",
        MAIN,
        "call",
        "npm.metadata",
        '{"package":"large"}',
        "--policy=agent.policy.jsonc",
      ],
      cwd: project.dir,
      clearEnv: true,
      env: cleanEnv(project.dir.slice(0, -"/project".length)),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const errors = new Response(child.stderr).text();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const pieces: Uint8Array[] = [];
    for await (const piece of child.stdout) {
      if (pieces.push(piece) < 10) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const text = await new Blob(pieces as BlobPart[]).text();
    assert.equal((await child.status).code, 0, `${await errors} ${text.slice(0, 300)}`);
    assert.ok(text.endsWith("}\n"));
    assert.deepEqual(JSON.parse(text).result, json);
  });
});
