import assert from "node:assert/strict";
import { KEYED_ACTS } from "../../src/doctor/judge.ts";
import { probe } from "../../src/doctor/probe.ts";
import { ISOLATIONS } from "../../src/plan/plan.ts";
import { findBaseSystem } from "../../src/launch/spawn.ts";

const DOCTOR = new URL("../../src/doctor/", import.meta.url).pathname;

Deno.test("probe() comes to the end of every probe and leaves nothing behind", async () => {
  const dir = await Deno.makeTempDir();
  const tmp = Deno.env.get("TMPDIR");
  Deno.env.set("TMPDIR", dir);
  try {
    const steps: string[] = [];
    const probed = await probe(await findBaseSystem(), { onStep: (done, of) => void steps.push(`${done}/${of}`) });
    assert.deepEqual(probed.troubles, []);
    assert.equal(steps.at(-1), `${steps.length}/${steps.length}`);
    for (const isolation of ISOLATIONS) {
      const { agent, raw, logAuthentic, ends } = probed.isolations[isolation];
      assert.deepEqual(agent?.reached, []);
      assert.equal(logAuthentic, true);
      assert.ok(raw.length > 0 && raw.every((results) => results !== undefined));
      assert.ok(Object.values(ends).every((reason) => reason !== undefined));
    }
    assert.deepEqual(await Array.fromAsync(Deno.readDir(dir)), []);
  } finally {
    if (tmp === undefined) Deno.env.delete("TMPDIR");
    else Deno.env.set("TMPDIR", tmp);
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("tryRawActs() sees every act go through where nothing stands in the way", async () => {
  const dir = await Deno.makeTempDir();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => new Response("reached"));
  try {
    await Deno.writeTextFile(`${dir}/read`, "x");
    await Deno.writeTextFile(`${dir}/log`, "x");
    const targets = {
      read: `${dir}/read`,
      write: `${dir}/write`,
      port: server.addr.port,
      program: "/bin/true",
      variable: "DOCTOR_SECRET",
      log: `${dir}/log`,
    };
    const code = `import { tryRawActs } from "file://${DOCTOR}raw_acts.js";
console.log(JSON.stringify(await tryRawActs(JSON.parse(Deno.args[0]))));`;
    await Deno.writeTextFile(`${dir}/main.js`, code);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--no-config", `${dir}/main.js`, JSON.stringify(targets)],
      env: { DOCTOR_SECRET: "visible" },
      stdin: "null",
    }).output();
    const results = JSON.parse(new TextDecoder().decode(stdout));
    assert.deepEqual(results, Object.fromEntries(KEYED_ACTS.map((act) => [act, "it went through"])));
  } finally {
    await server.shutdown();
    await Deno.remove(dir, { recursive: true });
  }
});
