import assert from "node:assert/strict";
import { lookAtPolicy, rememberPolicy } from "../../src/launch/first_sight.ts";
import { compilePolicy } from "../../src/launch/compile_policy.ts";
import { loadPolicy } from "../../src/policy/load.ts";

interface World {
  readonly root: string;
  readonly seen: string;
  policy(tools: readonly string[], more?: Record<string, unknown>): Promise<Sighted>;
}

type Sighted = Parameters<typeof lookAtPolicy>[0];

async function withWorld(body: (world: World) => Promise<void>): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-sight-" }));
  try {
    await Deno.mkdir(`${root}/project`);
    await Deno.writeTextFile(`${root}/project/deno.json`, "{}");
    await body({
      root,
      seen: `${root}/state/seen`,
      policy: async (tools, more = {}) => {
        const file = `${root}/project/agent.policy.jsonc`;
        await Deno.writeTextFile(file, JSON.stringify({ version: 1, tools, ...more }));
        const { loaded, plan, places } = await compilePolicy(await loadPolicy(file));
        return { loaded, plan, places: { ...places, state: `${root}/state` } };
      },
    });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

function textsOf(sight: Awaited<ReturnType<typeof lookAtPolicy>>): readonly string[] | undefined {
  return sight?.gained.map(({ text }) => text);
}

Deno.test("lookAtPolicy() takes everything for a gain where nothing ran yet, and only what is new later", async () => {
  await withWorld(async ({ policy }) => {
    const one = await policy(["echo"]);
    assert.deepEqual(textsOf(await lookAtPolicy(one)), ["the tool echo"]);
    assert.equal((await lookAtPolicy(one))?.first, true);
    await rememberPolicy(one);
    assert.deepEqual(await lookAtPolicy(one), { first: false, gained: [], known: true });
    const two = await policy(["echo", "slow"]);
    const sight = await lookAtPolicy(two);
    assert.deepEqual([sight?.first, textsOf(sight)], [true, ["the tool slow"]]);
    await rememberPolicy(two);
    // A narrower one was seen; after it has run, the wider one gains again although its digest is known.
    assert.deepEqual(await lookAtPolicy(one), { first: false, gained: [], known: false });
    await rememberPolicy(one);
    const again = await lookAtPolicy(two);
    assert.deepEqual([again?.first, textsOf(again)], [false, ["the tool slow"]]);
  });
});

Deno.test("lookAtPolicy() has no question about flags and the policies that come with twokey", async () => {
  await withWorld(async ({ policy }) => {
    const one = await policy(["echo"]);
    assert.equal(await lookAtPolicy({ ...one, loaded: { ...one.loaded, file: null } }), null);
    const shipped = { ...one.loaded, file: `${one.places.twokey}/policies/blank/agent.policy.jsonc` };
    assert.equal(await lookAtPolicy({ ...one, loaded: shipped }), null);
    const beside = { ...one.loaded, file: `${one.places.twokey}/policies-evil/agent.policy.jsonc` };
    assert.equal((await lookAtPolicy({ ...one, loaded: beside }))?.first, true);
  });
});

Deno.test("lookAtPolicy() trusts no memory that somebody else could have written", async () => {
  await withWorld(async ({ root, seen, policy }) => {
    const one = await policy(["echo"]);
    await rememberPolicy(one);
    const [name = ""] = (await Array.fromAsync(Deno.readDir(seen))).map((entry) => entry.name);
    const file = `${seen}/${name}`;
    const modes = [await Deno.lstat(seen), await Deno.lstat(file)].map(({ mode }) => (mode ?? 0) & 0o777);
    assert.deepEqual(modes, [0o700, 0o600]);
    const memory = await Deno.readTextFile(file);
    const isFirst = async () => (await lookAtPolicy(one))?.first;
    assert.equal(await isFirst(), false);

    await Deno.chmod(file, 0o644);
    assert.equal(await isFirst(), true);
    await Deno.chmod(file, 0o600);
    await Deno.chmod(seen, 0o755);
    assert.equal(await isFirst(), true);
    await Deno.chmod(seen, 0o700);
    assert.equal(await isFirst(), false);

    for (const text of ["", "null", "[]", '{"version":2}', memory.replace('"tools":{', '"tools":null,"x":{')]) {
      await Deno.writeTextFile(file, text);
      assert.equal(await isFirst(), true, text.slice(0, 40));
    }
    await Deno.rename(file, `${root}/elsewhere`);
    await Deno.writeTextFile(`${root}/elsewhere`, memory);
    await Deno.symlink(`${root}/elsewhere`, file);
    assert.equal(await isFirst(), true);
    // Remembering replaces the link and not what it leads to.
    await rememberPolicy(await policy(["echo", "slow"]));
    assert.equal(await Deno.readTextFile(`${root}/elsewhere`), memory);
    assert.ok((await Deno.lstat(file)).isFile);
  });
});
