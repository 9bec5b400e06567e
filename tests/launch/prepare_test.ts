import assert from "node:assert/strict";
import { sha256 } from "../../src/json.ts";
import { readCa, readFixtures } from "../../src/launch/prepare.ts";
import type { NetworkPlan, Plan } from "../../src/plan/plan.ts";

const FIXTURE = '{"queries":[]}';

/** A folder with a fixture and a certificate, and a plan that names both with the digests they have now. */
async function withInputs(body: (dir: string, plan: Plan) => Promise<void>): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.writeTextFile(`${dir}/f.json`, FIXTURE);
    await Deno.writeTextFile(`${dir}/ca.pem`, "PEM");
    const network: Partial<NetworkPlan> = {
      fixtures: [{ path: "${project}/f.json", sha256: await sha256(FIXTURE) }],
      ca: { file: "${project}/ca.pem", sha256: await sha256("PEM") },
    };
    await body(dir, { network } as unknown as Plan);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

const placesOf = (project: string) => ({ project, twokey: "/t", state: "/s" });

Deno.test("readFixtures() and readCa() give what the plan was made from", () =>
  withInputs(async (dir, plan) => {
    assert.deepEqual({ ...await readFixtures(plan, placesOf(dir)) }, { "${project}/f.json": FIXTURE });
    assert.equal(await readCa(plan, placesOf(dir)), "PEM");
  }));

Deno.test("readFixtures() and readCa() refuse a file that was swapped after the plan was made", () =>
  withInputs(async (dir, plan) => {
    await Deno.writeTextFile(`${dir}/f.json`, '{"queries": []}');
    await Deno.writeTextFile(`${dir}/ca.pem`, "OTHER");
    await assert.rejects(readFixtures(plan, placesOf(dir)), { code: "input_changed" });
    await assert.rejects(readCa(plan, placesOf(dir)), { code: "input_changed" });
  }));

Deno.test("readFixtures() and readCa() open nothing that is no regular file", () =>
  withInputs(async (dir, plan) => {
    for (const name of ["f.json", "ca.pem"]) {
      await Deno.remove(`${dir}/${name}`);
      await new Deno.Command("/usr/bin/mkfifo", { args: [`${dir}/${name}`] }).output();
    }
    await assert.rejects(readFixtures(plan, placesOf(dir)), { code: "input_kind" });
    await assert.rejects(readCa(plan, placesOf(dir)), { code: "input_kind" });
  }));
