import assert from "node:assert/strict";
import { examinationJson, examine } from "../../src/doctor/examine.ts";
import type { Machine } from "../../src/doctor/platform.ts";
import { doctorLines } from "../../src/report/doctor.ts";
import { PROBED, SEEN } from "./findings.ts";

/** A machine that has everything. */
const FULL: Machine = {
  find: (name) => Promise.resolve(`/usr/bin/${name}`),
  esbuild: () => Promise.resolve("/cache/esbuild"),
  write: () => Promise.resolve(),
  packages: () => Promise.resolve(),
  diesWithParent: () => Promise.resolve(true),
};
const SEED_KEYS = {
  tools: "explicit_registry",
  ambient_authority: "denied_by_default",
  clone_payload_bytes: "enforced",
  tool_payload_budget: "enforced",
};

function pick(from: unknown): unknown {
  const record = from as Record<string, unknown>;
  return Object.fromEntries(Object.keys(SEED_KEYS).map((key) => [key, record[key]]));
}

Deno.test("examine() claims the four controls at the top and among the controls where they held", async () => {
  const found = await examine({ machine: FULL, probe: () => Promise.resolve(PROBED) });
  assert.equal(found.held, true);
  const json = examinationJson(found);
  assert.deepEqual(pick(json), SEED_KEYS);
  assert.deepEqual(pick(json.controls), SEED_KEYS);
  assert.match(doctorLines(found).join("\n"), /Every required control held/);
});

Deno.test("examine() claims nothing where a probe did not run, and says that nothing should run", async () => {
  const blind = { ...SEEN, agent: undefined, trouble: "the probe ended" };
  const isolations = { process: blind, worker: blind, compartment: blind };
  const found = await examine({
    machine: FULL,
    probe: () => Promise.resolve({ ...PROBED, isolations, troubles: ["the probe ended\u001b[31m"] }),
  });
  assert.equal(found.held, false);
  assert.deepEqual(new Set(Object.values(pick(examinationJson(found)) as object)), new Set(["not_enforced"]));
  const text = doctorLines(found).join("\n");
  assert.match(text, /untried/);
  assert.match(text, /nothing should run here/);
  assert.ok(!text.includes("\u001b"));
});

Deno.test("examine() does not hold where something required is missing", async () => {
  const machine = { ...FULL, packages: () => Promise.reject(new Error("missing")) };
  const found = await examine({ machine, probe: () => Promise.resolve(PROBED) });
  assert.equal(found.held, false);
  assert.ok(found.problems.some(({ problem, fix }) => problem.startsWith("npm packages") && fix !== null));
});
