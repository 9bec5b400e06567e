import assert from "node:assert/strict";
import { gatherFacts, type Machine, thisMachine } from "../../src/doctor/platform.ts";

/** A machine that has nothing. */
const BARE: Machine = {
  find: () => Promise.resolve(undefined),
  esbuild: () => Promise.reject(new Deno.errors.NotFound("esbuild")),
  write: () => Promise.reject(new Deno.errors.PermissionDenied("folder")),
  packages: () => Promise.reject(new Deno.errors.NotFound("package")),
  diesWithParent: () => Promise.resolve(undefined),
};

Deno.test("gatherFacts() says of everything missing what it means and, where it matters, what to do", async () => {
  const facts = await gatherFacts(BARE, { "state folder": "/nowhere" });
  assert.ok(facts.every(({ present, means }) => !present && means !== ""));
  const required = facts.filter(({ required }) => required);
  assert.deepEqual(required.map(({ name }) => name), ["mkfifo", "esbuild", "npm packages", "state folder"]);
  assert.ok(required.every(({ fix }) => fix !== null));
  assert.match(facts.find(({ name }) => name === "state folder")?.means ?? "", /PermissionDenied.*exit 74/);
});

Deno.test("gatherFacts() reports a child that outlives its parent", async () => {
  const facts = await gatherFacts({ ...BARE, diesWithParent: () => Promise.resolve(false) }, {});
  assert.match(facts.find(({ name }) => name === "parent death signal")?.means ?? "", /outlived/);
});

Deno.test("thisMachine() tries what it says", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const machine = thisMachine();
    await machine.write(`${dir}/new/folder`);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(`${dir}/new/folder`)), []);
    await Deno.writeTextFile(`${dir}/file`, "");
    await assert.rejects(machine.write(`${dir}/file`));
    assert.equal(await machine.diesWithParent(undefined), undefined);
    const setpriv = await machine.find("setpriv");
    if (setpriv !== undefined) assert.equal(await machine.diesWithParent(setpriv), true);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
