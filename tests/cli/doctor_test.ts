import assert from "node:assert/strict";
import { ACTS, KEYED_ACTS } from "../../src/doctor/judge.ts";

const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;

async function doctor(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const dir = await Deno.makeTempDir();
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-prompt", "--quiet", MAIN, "doctor", ...args],
      cwd: dir,
      env: { XDG_STATE_HOME: `${dir}/state` },
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("doctorCommand tries every act in every isolation and prints one JSON line", async () => {
  const { code, out, err } = await doctor("--json");
  assert.equal(code, 0, `${out}\n${err}`);
  assert.equal(out.split("\n").length, 2);
  const found = JSON.parse(out);
  for (
    const [key, value] of Object.entries({
      tools: "explicit_registry",
      ambient_authority: "denied_by_default",
      clone_payload_bytes: "enforced",
      tool_payload_budget: "enforced",
    })
  ) {
    assert.equal(found[key], value);
    assert.equal(found.controls[key], value);
  }
  const table: Record<string, Record<string, { stopped_by: string }>> = found.isolations;
  assert.deepEqual(Object.keys(table), ["process", "worker", "compartment"]);
  for (const [isolation, findings] of Object.entries(table)) {
    assert.deepEqual(Object.keys(findings), [...ACTS]);
    for (const act of KEYED_ACTS) {
      // Where agent code shares the host's process, no permission covers the channels that the host has open.
      const expected = act === "log" && isolation !== "process" ? "key 2" : "both";
      assert.equal(findings[act]?.stopped_by, expected, `${act} in ${isolation}`);
    }
    assert.equal(findings.spin?.stopped_by, "launcher bound");
    for (const act of ["heap", "buffers"]) {
      assert.ok(["isolation", "launcher bound"].includes(findings[act]?.stopped_by ?? ""), `${act} in ${isolation}`);
    }
  }
});

Deno.test("doctorCommand refuses two forms at once", async () => {
  const { code, err } = await doctor("--json", "--human");
  assert.equal(code, 64, err);
});

Deno.test("doctorCommand ends with 65 where the project's policy is wrong and everything else held", async () => {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${dir}/deno.json`, "{}");
    await Deno.writeTextFile(`${dir}/agent.policy.jsonc`, '{ "version": 1, "agnet": "x.ts" }');
    const { code, out } = await doctor("--project", dir);
    assert.equal(code, 65, out);
    assert.match(out, /agnet/);
    assert.ok(!out.includes("\u001b"));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
