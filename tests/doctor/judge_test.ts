import assert from "node:assert/strict";
import { ACTS, judgeControls, judgeIsolation, KEYED_ACTS, type Seen } from "../../src/doctor/judge.ts";
import { AGENT, PROBED, RAW, SEEN } from "./findings.ts";

function stops(seen: Seen): string[] {
  const findings = judgeIsolation(seen);
  return ACTS.map((act) => findings[act].stopped_by);
}

Deno.test("judgeIsolation() names both keys and the bounds where everything held", () => {
  assert.deepEqual(stops(SEEN), [
    ...KEYED_ACTS.map(() => "both"),
    "launcher bound",
    "isolation",
    "launcher bound",
  ]);
});

Deno.test("judgeIsolation() tells which key is left", () => {
  const without1 = judgeIsolation({ ...SEEN, raw: [RAW, { ...RAW, read: "it went through" }] });
  assert.equal(without1.read.stopped_by, "key 2");
  assert.match(without1.read.evidence, /Deno did not refuse: it went through/);
  const without2 = judgeIsolation({ ...SEEN, agent: { ...AGENT, tools: { ...AGENT.tools, write: ["result"] } } });
  assert.equal(without2.write.stopped_by, "key 1");
  assert.equal(without2.read.stopped_by, "both");
  const reached = judgeIsolation({ ...SEEN, agent: { ...AGENT, reached: ["Deno"] } });
  assert.deepEqual(KEYED_ACTS.map((act) => reached[act].stopped_by), KEYED_ACTS.map(() => "key 1"));
  const forged = judgeIsolation({ ...SEEN, logAuthentic: false });
  assert.equal(forged.log.stopped_by, "key 1");
  const neither = judgeIsolation({
    ...SEEN,
    raw: [{ ...RAW, spawn: "it went through" }],
    agent: { ...AGENT, tools: { ...AGENT.tools, spawn: ["result"] } },
  });
  assert.equal(neither.spawn.stopped_by, "nothing");
});

Deno.test("judgeIsolation() claims nothing that was not tried", () => {
  for (
    const seen of [
      { ...SEEN, agent: undefined },
      { ...SEEN, raw: [] },
      { ...SEEN, raw: [RAW, undefined] },
      { ...SEEN, agent: { ...AGENT, control: { ...AGENT.control, read: "denied" } } },
    ]
  ) {
    const findings = judgeIsolation(seen);
    assert.deepEqual(KEYED_ACTS.map((act) => findings[act].stopped_by), KEYED_ACTS.map(() => "untried"));
  }
  const ends = { spin: undefined, heap: "done", buffers: "constructor" };
  assert.deepEqual(stops({ ...SEEN, ends }).slice(-3), ["untried", "nothing", "nothing"]);
});

Deno.test("judgeControls() holds every control only where its probe held in every isolation", () => {
  assert.ok(Object.values(judgeControls(PROBED)).every(({ held }) => held));
  const worker = (seen: Partial<Seen>) => ({
    ...PROBED,
    isolations: { ...PROBED.isolations, worker: { ...SEEN, ...seen } },
  });
  const cases: readonly [string, ReturnType<typeof worker>][] = [
    ["tools", worker({ agent: { ...AGENT, tools: { ...AGENT.tools, fetch: ["result"] } } })],
    ["tools", worker({ agent: undefined })],
    ["ambient_authority", worker({ raw: [{ ...RAW, read: "x" }], agent: { ...AGENT, reached: ["Deno"] } })],
    ["ambient_authority", worker({ agent: undefined })],
    ["clone_payload_bytes", worker({ agent: { ...AGENT, copied: false } })],
    ["clone_payload_bytes", worker({ agent: { ...AGENT, overArgs: "result" } })],
    ["tool_payload_budget", worker({ agent: { ...AGENT, overResult: "result" } })],
    ["audit_log", worker({ logAuthentic: false })],
    ["attestation", { ...PROBED, attested: [["read"], undefined, ["read"]] }],
    ["attestation", { ...PROBED, attested: [] }],
    ["ipv4_binding", { ...PROBED, ipv4: false }],
    [
      "process_bounds",
      { ...PROBED, isolations: { ...PROBED.isolations, process: { ...SEEN, ends: { ...SEEN.ends, heap: "done" } } } },
    ],
  ];
  for (const [name, probed] of cases) {
    const control = judgeControls(probed)[name];
    assert.deepEqual([control?.held, control?.value], [false, "not_enforced"], name);
  }
});
