import assert from "node:assert/strict";
import { verifyAudit } from "../../src/audit/reader.ts";
import { makeRedactor } from "../../src/audit/redact.ts";
import { CreateError, DataError, InputError } from "../../src/errors.ts";
import { type BundleOptions, makeBundle } from "../../src/evidence/make_bundle.ts";
import { verifyBundle } from "../../src/evidence/verify_bundle.ts";
import type { JsonObject } from "../../src/json.ts";
import { inTempDir, RUN, sha256, writeLog } from "../audit/log_maker.ts";

const KNOWN = "known-secret-value";

const plain = { fields: [], secrets: new Map<string, string>() };

function options(dir: string, more: Partial<BundleOptions> = {}): BundleOptions {
  return {
    log: `${dir}/log.jsonl`,
    out: `${dir}/out`,
    texts: [],
    leftOut: [],
    redactor: makeRedactor(plain),
    nowMs: 1,
    ...more,
  };
}

Deno.test("makeBundle() copies a log without secrets byte for byte, with its head", async () => {
  await inTempDir(async (dir) => {
    const head = writeLog(`${dir}/log.jsonl`, RUN);
    const manifest = await makeBundle(options(dir));
    assert.deepEqual(await Deno.readFile(`${dir}/out/audit.jsonl`), await Deno.readFile(`${dir}/log.jsonl`));
    const { audit, run } = manifest;
    assert.deepEqual([audit.head, audit.original.head, audit.redacted_records], [head, head, 0]);
    assert.equal(audit.original.sha256, sha256(await Deno.readFile(`${dir}/log.jsonl`)));
    assert.deepEqual([run.run_id, run.status, run.plan_digest], ["run-1", "ok", "2".repeat(64)]);
    assert.equal((await verifyBundle(`${dir}/out`)).verdict, "consistent");
    for await (const { name } of Deno.readDir(`${dir}/out`)) {
      assert.equal(((await Deno.stat(`${dir}/out/${name}`)).mode ?? 0) & 0o777, 0o600, name);
    }
    assert.deepEqual((await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name).toSorted(), [
      "log.jsonl",
      "out",
    ]);
  });
});

Deno.test("makeBundle() removes secrets by field, by value and by form, and says what the log was", async () => {
  const form = `ghp${"_"}${"aB3".repeat(12)}`;
  const hidden = ["pin-of-somebody", KNOWN, btoa(KNOWN).replaceAll("=", ""), form];
  const bodies: JsonObject[] = [
    ...RUN.slice(0, 2),
    { type: "event", event: { pin: hidden[0] ?? "", ["x" + KNOWN]: 1 } },
    { type: "audit_note", note: `${KNOWN} ${hidden[2]} ${form} https://u:${KNOWN}@host/` },
    { type: "audit_note", note: "harmless" },
    { type: "run_end", status: "error", reason: `agent ${form}`, error: { message: form } },
  ];
  await inTempDir(async (dir) => {
    const head = writeLog(`${dir}/log.jsonl`, bodies);
    const redactor = makeRedactor({ fields: ["pin"], secrets: new Map([["X", KNOWN]]) });
    const texts = [{ path: "policy.jsonc", text: `{ "context": "${form}" } // ${KNOWN}` }];
    const manifest = await makeBundle(options(dir, { redactor, texts }));
    for await (const { name } of Deno.readDir(`${dir}/out`)) {
      const text = await Deno.readTextFile(`${dir}/out/${name}`);
      for (const secret of hidden) assert.ok(!text.includes(secret), `${name} holds ${secret}`);
    }
    const { audit, redacted } = manifest;
    assert.deepEqual(redacted, ["audit.jsonl", "policy.jsonc"]);
    assert.deepEqual([audit.redacted_records, audit.original.head, audit.records], [3, head, bodies.length]);
    assert.notEqual(audit.head, head);
    // still a chain, ended by the head that the manifest names
    const verdict = await verifyAudit(`${dir}/out/audit.jsonl`, { head: audit.head });
    assert.equal(verdict.verdict, "authentic");
    assert.equal((await verifyBundle(`${dir}/out`)).verdict, "consistent");
    // numbers, times and all that was not secret are those of the original
    const lines = async (path: string) =>
      (await Deno.readTextFile(path)).trimEnd().split("\n").map((l) => JSON.parse(l));
    const [was, is] = [await lines(`${dir}/log.jsonl`), await lines(`${dir}/out/audit.jsonl`)];
    assert.deepEqual(is.map(({ seq, at_ms, type }) => [seq, at_ms, type]), was.map((r) => [r.seq, r.at_ms, r.type]));
    assert.equal(is[4].note, "harmless");
    assert.equal(is[2].event.pin, "[redacted]");
  });
});

Deno.test("makeBundle() tells sources, controls and written files from the log, without a text", async () => {
  const bodies: JsonObject[] = [
    { ...RUN[0] ?? {}, type: "run_start", agent: { entry: "${project}/a.ts", modules: [] }, flags: ["--no-prompt"] },
    {
      type: "fs_read_source_manifest",
      root: "docs",
      entries: [{ path: "a.md", bytes: 3, kind: "text", readable: true }],
    },
    { type: "authority_check", grants: 3, refused: ["read"] },
    { type: "run_artifact_manifest", version: 1, artifacts: [{ path: "x", bytes: 1, sha256: "b".repeat(64) }] },
    { type: "run_end", status: "ok", reason: "done" },
  ];
  await inTempDir(async (dir) => {
    writeLog(`${dir}/log.jsonl`, bodies);
    await makeBundle(options(dir));
    const read = async (name: string) => JSON.parse(await Deno.readTextFile(`${dir}/out/${name}`));
    const sources = await read("source-manifest.json");
    assert.deepEqual(sources.fs_read, [{ root: "docs", path: "a.md", bytes: 3, kind: "text", readable: true }]);
    assert.deepEqual(sources.agent, { entry: "${project}/a.ts", modules: [] });
    const controls = await read("controls.json");
    assert.deepEqual([controls.flags, controls.attested], [["--no-prompt"], { grants: 3, refused: ["read"] }]);
    const written = await read("run-artifact-manifest.json");
    assert.deepEqual([written.complete, written.artifacts[0].path], [true, "x"]);
    const replay = await read("replay.json");
    assert.deepEqual([replay.audit_log, replay.verdict, replay.run.status], ["audit.jsonl", "consistent", "ok"]);
    assert.match(await Deno.readTextFile(`${dir}/out/replay.txt`), /^run run-1\nstatus +ok \(done\)/);
    assert.match(await Deno.readTextFile(`${dir}/out/README.txt`), /twokey bundle-verify/);
  });
});

Deno.test("makeBundle() takes a log whose run was killed, and says so; of a torn line nothing is kept", async () => {
  await inTempDir(async (dir) => {
    const head = writeLog(`${dir}/log.jsonl`, RUN.slice(0, 5));
    await Deno.writeTextFile(`${dir}/log.jsonl`, '{"seq":6,"at', { append: true });
    const { run, audit } = await makeBundle(options(dir));
    assert.deepEqual([run.status, run.reason, audit.verdict], ["unfinished", null, "unfinished"]);
    assert.deepEqual([audit.records, audit.original.torn_tail, audit.original.head], [5, true, head]);
    assert.equal((await verifyBundle(`${dir}/out`)).verdict, "consistent");
    assert.ok(!(await Deno.readTextFile(`${dir}/out/audit.jsonl`)).includes('"seq":6'));
  });
});

Deno.test("makeBundle() refuses a log that was tampered with, and leaves nothing behind", async () => {
  await inTempDir(async (dir) => {
    writeLog(`${dir}/log.jsonl`, RUN);
    const text = await Deno.readTextFile(`${dir}/log.jsonl`);
    await Deno.writeTextFile(`${dir}/log.jsonl`, text.replace("left-pad", "left-pod"));
    await assert.rejects(makeBundle(options(dir)), (error) => error instanceof DataError && error.position?.line === 7);
    await Deno.writeTextFile(`${dir}/log.jsonl`, "");
    await assert.rejects(makeBundle(options(dir)), DataError);
    await assert.rejects(makeBundle(options(dir, { log: `${dir}/none` })), InputError);
    await Deno.writeTextFile(`${dir}/log.jsonl`, text);
    await assert.rejects(makeBundle(options(dir, { signKey: "no key" })), DataError);
    assert.deepEqual((await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name), ["log.jsonl"]);
  });
});

Deno.test("makeBundle() writes into a new or an empty folder alone, never through a link", async () => {
  await inTempDir(async (dir) => {
    writeLog(`${dir}/log.jsonl`, RUN);
    await Deno.mkdir(`${dir}/full`);
    await Deno.writeTextFile(`${dir}/full/kept`, "");
    await Deno.mkdir(`${dir}/empty`);
    await Deno.symlink("empty", `${dir}/link`);
    await Deno.writeTextFile(`${dir}/file`, "");
    for (const name of ["full", "link", "file"]) {
      await assert.rejects(makeBundle(options(dir, { out: `${dir}/${name}` })), CreateError, name);
    }
    assert.deepEqual((await Array.fromAsync(Deno.readDir(`${dir}/full`))).map(({ name }) => name), ["kept"]);
    await makeBundle(options(dir, { out: `${dir}/empty` }));
    await makeBundle(options(dir, { out: `${dir}/new/below/` }));
    assert.equal((await verifyBundle(`${dir}/new/below`)).verdict, "consistent");
    const names = (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name).toSorted();
    assert.deepEqual(names, ["empty", "file", "full", "link", "log.jsonl", "new"]);
  });
});

Deno.test("makeBundle() keeps a hostile log from moving a cursor in the texts of its bundle", async () => {
  const bodies: JsonObject[] = [...RUN.slice(0, -1), { type: "run_end", status: "error", reason: "\x1b[2J\u202e\n" }];
  await inTempDir(async (dir) => {
    writeLog(`${dir}/log.jsonl`, bodies);
    await makeBundle(options(dir));
    for (const name of ["README.txt", "replay.txt", "replay.json", "evidence-bundle.json"]) {
      const text = await Deno.readTextFile(`${dir}/out/${name}`);
      assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\u202e]/u, name);
    }
    assert.equal((await verifyBundle(`${dir}/out`)).verdict, "consistent");
  });
});
