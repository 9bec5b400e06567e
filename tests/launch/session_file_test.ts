import assert from "node:assert/strict";
import { AuditError, DataError } from "../../src/errors.ts";
import { SessionFile, type SessionPlace, stateBytesOf } from "../../src/launch/session_file.ts";
import { cacheKey } from "../../src/launch/state_dir.ts";

const STATE = '{"n":1,"__proto__":{"a":2},"1":"ü"}';
const SAVED = { turnId: 3, savedMs: 1_800_000_000_000, runId: "r-1" };

async function withPlace(body: (place: SessionPlace, dir: string) => Promise<void>, inProject = false): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-session-" }));
  const places = { project: `${dir}/project`, twokey: `${dir}/twokey`, state: `${dir}/state` };
  await Deno.mkdir(places.project);
  const path = inProject ? `${places.project}/.twokey/s.json` : `${places.state}/sessions/deep/er/s.json`;
  try {
    await body({ path, shown: "${x}/s.json", places, owner: "${project}/agent.policy.jsonc" }, dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function withSession<T>(place: SessionPlace, body: (file: SessionFile) => Promise<T>): Promise<T> {
  const file = await SessionFile.open(place);
  try {
    return await body(file);
  } finally {
    file.close();
  }
}

const save = (place: SessionPlace, state = STATE) =>
  withSession(place, async (file) => {
    await file.stage(SAVED, state);
    await file.commit();
  });

Deno.test("SessionFile saves and reads back what was saved, closed to others, in any folder", async () => {
  for (const inProject of [false, true]) {
    await withPlace(async (place) => {
      assert.equal(await withSession(place, (file) => file.read()), undefined);
      await save(place);
      const read = await withSession(place, (file) => file.read());
      assert.deepEqual(read?.state, JSON.parse(STATE));
      assert.equal(Object.hasOwn(read?.state ?? {}, "__proto__"), true);
      assert.deepEqual([read?.turnId, read?.savedMs, read?.runId], [3, SAVED.savedMs, "r-1"]);
      assert.equal(read?.stateBytes, stateBytesOf(JSON.parse(STATE)));
      assert.equal(((await Deno.lstat(place.path)).mode ?? 0) & 0o777, 0o600);
      const names = (await Array.fromAsync(Deno.readDir(place.path.slice(0, place.path.lastIndexOf("/")))))
        .map(({ name }) => name);
      assert.deepEqual(names, ["s.json"]);
    }, inProject);
  }
});

Deno.test("SessionFile refuses a file that was edited, cut, copied from another policy, or is no session", async () => {
  await withPlace(async (place) => {
    await save(place);
    const text = await Deno.readTextFile(place.path);
    const edits = [
      text.replace('"n":1', '"n":2'),
      text.replace('"turn_id":3', '"turn_id":4'),
      text.slice(0, -1),
      text.replace('{"type"', '{ "type"'),
      `${text}\n`,
      text.replace(/"mac":"[0-9a-f]{64}"/, `"mac":"${"0".repeat(64)}"`),
      "{}",
      "",
      '{"type":"agent_session","turn_id":1,"state":{}}',
    ];
    for (const edited of edits) {
      await Deno.writeTextFile(place.path, edited);
      await assert.rejects(withSession(place, (file) => file.read()), (error) => {
        assert.ok(error instanceof DataError);
        assert.equal(error.code, "session_invalid");
        assert.match(error.fix ?? "", /twokey reset/);
        return true;
      }, edited);
    }
    await Deno.writeTextFile(place.path, text);
    const other = { ...place, owner: "${project}/other.policy.jsonc" };
    await assert.rejects(withSession(other, (file) => file.read()), { code: "session_invalid" });
    assert.equal((await withSession(place, (file) => file.read()))?.turnId, 3);
    // another user's key, or another project's
    await Deno.remove(`${place.places.state}/sessions.key`);
    await assert.rejects(withSession(place, (file) => file.read()), { code: "session_invalid" });
  });
});

Deno.test("SessionFile follows no link: not the file, not the staged one, not a folder in the project", async () => {
  await withPlace(async (place, dir) => {
    const victim = `${dir}/victim`;
    await Deno.writeTextFile(victim, "mine");
    await Deno.mkdir(`${place.places.project}/.twokey`);
    await Deno.symlink(victim, place.path);
    await assert.rejects(withSession(place, (file) => file.read()), { code: "session_invalid" });
    await Deno.symlink(victim, `${place.path}.tmp`);
    await save(place);
    assert.equal(await Deno.readTextFile(victim), "mine");
    assert.equal((await Deno.lstat(place.path)).isFile, true);
    await Deno.remove(`${place.places.project}/.twokey`, { recursive: true });
    await Deno.mkdir(`${dir}/elsewhere`);
    await Deno.symlink(`${dir}/elsewhere`, `${place.places.project}/.twokey`);
    await assert.rejects(save({ ...place, path: `${place.places.project}/.twokey/deep/s.json` }), AuditError);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(`${dir}/elsewhere`)), []);
  }, true);
});

Deno.test("SessionFile keeps the session before until the new one is whole", async () => {
  await withPlace(async (place) => {
    await save(place);
    const before = await Deno.readTextFile(place.path);
    // a crash between staging and commit: the process is gone, its lock with it
    await withSession(place, (file) => file.stage({ ...SAVED, turnId: 4 }, '{"n":9}'));
    assert.equal(await Deno.readTextFile(place.path), before);
    assert.equal((await withSession(place, (file) => file.read()))?.turnId, 3);
    // half a staged file of a crash in the middle of writing is in nobody's way
    await Deno.writeTextFile(`${place.path}.tmp`, before.slice(0, 20));
    await save(place, '{"n":9}');
    assert.deepEqual((await withSession(place, (file) => file.read()))?.state, { n: 9 });
    await withSession(place, async (file) => {
      await file.stage(SAVED, "{}");
      await file.discard();
    });
    await assert.rejects(Deno.lstat(`${place.path}.tmp`), Deno.errors.NotFound);
  });
});

Deno.test("SessionFile says that it cannot be written and keeps what was there", async () => {
  await withPlace(async (place) => {
    await save(place);
    // a folder in the place of the staged file: nothing can be written, whoever runs this
    await Deno.mkdir(`${place.path}.tmp/in/it`, { recursive: true });
    await assert.rejects(withSession(place, (file) => file.stage(SAVED, "{}")), { code: "session_unwritable" });
    assert.equal((await withSession(place, (file) => file.read()))?.turnId, 3);
  });
});

Deno.test("SessionFile is held by one at a time", async () => {
  await withPlace(async (place) => {
    await withSession(place, async () => {
      await assert.rejects(SessionFile.open(place), { code: "session_busy" });
      const other = { ...place, path: `${place.path}2` };
      await withSession(other, () => Promise.resolve());
    });
    await withSession(place, () => Promise.resolve());
  });
});

Deno.test("SessionFile sets aside and puts back, with one backup and nothing lost in a swap", async () => {
  await withPlace(async (place) => {
    const states = () =>
      withSession(
        place,
        async (file) => [(await file.read())?.state ?? null, (await file.read("backup"))?.state ?? null],
      );
    await save(place, '{"n":1}');
    await withSession(place, (file) => file.setAside("backup"));
    assert.deepEqual(await states(), [null, { n: 1 }]);
    await withSession(place, (file) => file.putBack({ isUsable: true }));
    assert.deepEqual(await states(), [{ n: 1 }, { n: 1 }]);
    await withSession(place, (file) => file.setAside("backup"));
    await save(place, '{"n":2}');
    await withSession(place, (file) => file.putBack({ isUsable: true }));
    assert.deepEqual(await states(), [{ n: 1 }, { n: 2 }]);
  });
});

Deno.test("SessionFile takes no session of another place, and none that is sealed with the key that hosts are given", async () => {
  await withPlace(async (place) => {
    await save(place);
    const text = await Deno.readTextFile(place.path);
    const other = { ...place, path: place.path.replace(/s\.json$/, "t.json") };
    await Deno.writeTextFile(other.path, text);
    await assert.rejects(withSession(other, (file) => file.read()), { code: "session_invalid" });
    await Deno.remove(other.path);

    const body = text.replace(/,"mac":"[0-9a-f]{64}"\}\n$/, "");
    const raw = Uint8Array.fromHex(await cacheKey(place.places.state));
    const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    for (const head of ["", `${JSON.stringify(place.path)}\n`]) {
      const bytes = new TextEncoder().encode(`twokey agent session\n${head}${body}`);
      const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes)).toHex();
      await Deno.writeTextFile(place.path, `${body},"mac":"${mac}"}\n`);
      await assert.rejects(withSession(place, (file) => file.read()), { code: "session_invalid" });
    }
  });
});
