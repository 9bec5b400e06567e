import assert from "node:assert/strict";
import { AuditError } from "../../src/errors.ts";
import { cacheKey, makeDir, makePrivateDir } from "../../src/launch/state_dir.ts";
import { withTree } from "../host/run_context.ts";

Deno.test("makePrivateDir() makes what is missing for the user alone, and closes what is open", () =>
  withTree(async (dir) => {
    await makePrivateDir(`${dir}/a/b`);
    for (const path of ["a", "a/b"]) assert.equal(((await Deno.stat(`${dir}/${path}`)).mode ?? 0) & 0o777, 0o700);
    await Deno.chmod(`${dir}/a/b`, 0o755);
    await makePrivateDir(`${dir}/a/b`);
    assert.equal(((await Deno.stat(`${dir}/a/b`)).mode ?? 0) & 0o777, 0o700);
  }));

Deno.test("makeDir() follows no link below the folder that is trusted", () =>
  withTree(async (dir) => {
    await Deno.mkdir(`${dir}/project`);
    await Deno.mkdir(`${dir}/elsewhere`);
    await Deno.symlink(`${dir}/elsewhere`, `${dir}/project/.twokey`);
    const options = { above: `${dir}/project`, mode: 0o700 };
    await assert.rejects(makeDir(`${dir}/project/.twokey/runs/1`, options), AuditError);
    await assert.rejects(makeDir(`${dir}/project/.twokey`, options), AuditError);
    await Deno.writeTextFile(`${dir}/project/file`, "");
    await assert.rejects(makeDir(`${dir}/project/file/x`, options), AuditError);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(`${dir}/elsewhere`)), []);
    await makeDir(`${dir}/project/new/deep`, options);
    assert.ok((await Deno.lstat(`${dir}/project/new/deep`)).isDirectory);
  }));

Deno.test("cacheKey() is made once, for the user alone, also when many ask at once", () =>
  withTree(async (dir) => {
    const key = await cacheKey(dir);
    assert.match(key, /^[0-9a-f]{64}$/);
    assert.equal(await cacheKey(dir), key);
    assert.equal(((await Deno.stat(`${dir}/cache.key`)).mode ?? 0) & 0o777, 0o600);
    await Deno.writeTextFile(`${dir}/cache.key`, "short");
    await assert.rejects(cacheKey(dir), AuditError);
    await Deno.remove(`${dir}/cache.key`);
    await Deno.writeFile(`${dir}/other`, new Uint8Array(32));
    await Deno.symlink(`${dir}/other`, `${dir}/cache.key`);
    await assert.rejects(cacheKey(dir), AuditError);
    await Deno.mkdir(`${dir}/many`);
    const keys = await Promise.all(Array.from({ length: 20 }, () => cacheKey(`${dir}/many`)));
    assert.equal(new Set(keys).size, 1);
  }));
