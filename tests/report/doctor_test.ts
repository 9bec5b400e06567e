import assert from "node:assert/strict";
import type { Examination } from "../../src/doctor/examine.ts";
import { judgeControls, judgeIsolation } from "../../src/doctor/judge.ts";
import { doctorLines } from "../../src/report/doctor.ts";
import { PLAIN } from "../../src/report/style.ts";
import { PROBED, SEEN } from "../doctor/findings.ts";

const FOUND: Examination = {
  deno: "2.9.6",
  proven: true,
  platform: "linux-x86_64",
  facts: [{ name: "setpriv", present: false, detail: "", means: "a watchdog\u001b[2J", fix: null, required: false }],
  isolations: {
    process: judgeIsolation(SEEN),
    worker: judgeIsolation({ ...SEEN, ends: { ...SEEN.ends, heap: "done" } }),
    compartment: judgeIsolation({ ...SEEN, agent: undefined }),
  },
  controls: judgeControls(PROBED),
  project: {
    policy: "/p/agent.policy.jsonc",
    digest: "0",
    isolation: "worker",
    counts: { tools: 2, read_roots: 0 },
    lock: "drifted",
    problems: [],
    state: "/s",
    project: "/p",
  },
  problems: [{ problem: "something", fix: "do this" }],
  held: false,
  elapsedMs: 1234,
};

Deno.test("doctorLines() prints one row for each isolation, and marks what nothing stopped", () => {
  const marks: string[] = [];
  const lines = doctorLines(FOUND, { style: { ...PLAIN, bad: (text) => (marks.push(text.trim()), text) } });
  const row = (name: string) => lines.find((line) => line.startsWith(`  ${name} `))?.trim().split(/ {2,}/);
  assert.deepEqual(row("process")?.slice(1, 3), ["both", "both"]);
  assert.equal(row("worker")?.[8], "nothing");
  assert.equal(row("compartment")?.[1], "untried");
  assert.ok(marks.includes("nothing"));
});

Deno.test("doctorLines() shows the project, the problems with their fixes, and no control character", () => {
  const text = doctorLines(FOUND).join("\n");
  assert.match(text, /would hold 2 tools\n/);
  assert.match(text, /lock {7}drifted/);
  assert.match(text, /- something\n {4}fix: do this/);
  assert.ok(!text.includes("\u001b"));
});
