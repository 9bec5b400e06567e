import assert from "node:assert/strict";
import { AuditWriter, checkBody, MAX_BODY_BYTES, MAX_BODY_DEPTH } from "../../src/audit/writer.ts";
import { GENESIS, RESERVED_FIELDS } from "../../src/audit/record.ts";
import { AuditError } from "../../src/errors.ts";
import { inTempDir, sha256 } from "./log_maker.ts";

function options(now = (): number => 1000): { runId: string; now: () => number; sha256: typeof sha256 } {
  return { runId: "run-1", now, sha256 };
}

function failsWith(code: string): (error: unknown) => boolean {
  return (error) => error instanceof AuditError && error.code === code && error.exit === 74;
}

Deno.test("AuditWriter builds each line as documented", () =>
  inTempDir((dir) => {
    const path = `${dir}/a.jsonl`;
    const writer = AuditWriter.create(path, options());
    assert.equal(writer.head, GENESIS);
    assert.equal(writer.seq, 0);
    writer.append(['{"type":"run_start"}', '{"type":"event","event":{"text":"ä€😀"}}']);
    const one = `{"seq":1,"at_ms":1000,"run_id":"run-1","type":"run_start","prev":"${GENESIS}"`;
    const first = sha256(one);
    const two = `{"seq":2,"at_ms":1000,"run_id":"run-1","type":"event","event":{"text":"ä€😀"},"prev":"${first}"`;
    const text = `${one},"hash":"${first}"}\n${two},"hash":"${sha256(two)}"}\n`;
    assert.equal(Deno.readTextFileSync(path), text);
    assert.equal(writer.head, sha256(two));
    assert.equal(writer.seq, 2);
    assert.equal(writer.bytes, new TextEncoder().encode(text).length);
    writer.sync();
    writer.close();
    writer.close();
  }));

Deno.test("AuditWriter.create() makes a file that only its owner can read, and refuses one that exists", () =>
  inTempDir((dir) => {
    const path = `${dir}/a.jsonl`;
    AuditWriter.create(path, options()).close();
    assert.equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
    assert.throws(() => AuditWriter.create(path, options()), failsWith("audit_not_created"));
    assert.throws(() => AuditWriter.create(`${dir}/none/a.jsonl`, options()), failsWith("audit_not_created"));
    Deno.symlinkSync(`${dir}/elsewhere`, `${dir}/link.jsonl`);
    assert.throws(() => AuditWriter.create(`${dir}/link.jsonl`, options()), failsWith("audit_not_created"));
  }));

Deno.test("AuditWriter.create() refuses a run id that would need escapes", () =>
  inTempDir((dir) => {
    for (const runId of ["", "a b", 'a"b', "../x", "a\n", "-a", "a".repeat(129)]) {
      const given = { ...options(), runId };
      assert.throws(() => AuditWriter.create(`${dir}/a.jsonl`, given), failsWith("audit_run_id"), runId);
    }
  }));

Deno.test("AuditWriter.append() keeps at_ms where the clock steps back", () =>
  inTempDir((dir) => {
    const times = [1000.7, 500, 2000];
    const writer = AuditWriter.create(`${dir}/a.jsonl`, options(() => times.shift() ?? 0));
    for (let i = 0; i < 3; i++) writer.append(['{"type":"event"}']);
    writer.close();
    const lines = Deno.readTextFileSync(`${dir}/a.jsonl`).trim().split("\n");
    assert.deepEqual(lines.map((line) => JSON.parse(line).at_ms), [1000, 1000, 2000]);
  }));

Deno.test("AuditWriter.append() takes a batch that is larger than its buffer", () =>
  inTempDir((dir) => {
    const writer = AuditWriter.create(`${dir}/a.jsonl`, options());
    const body = JSON.stringify({ type: "event", event: "😀".repeat(100_000) });
    writer.append([body, body, body, body, body]);
    writer.append(['{"type":"event"}']);
    writer.close();
    const lines = Deno.readTextFileSync(`${dir}/a.jsonl`).trimEnd().split("\n");
    assert.equal(lines.length, 6);
    assert.equal(JSON.parse(lines[4] ?? "").event, "😀".repeat(100_000));
    assert.equal(JSON.parse(lines[5] ?? "").prev, JSON.parse(lines[4] ?? "").hash);
  }));

Deno.test("AuditWriter.append() writes nothing of a batch with a bad body, and nothing afterwards", () =>
  inTempDir((dir) => {
    for (const [i, bad] of ['{"type":"event"', '{"a":1}', '{"type":"event",\n"a":1}', "{}", "null"].entries()) {
      const path = `${dir}/${i}.jsonl`;
      const writer = AuditWriter.create(path, options());
      assert.throws(() => writer.append(['{"type":"event"}', bad]), failsWith("audit_body_form"));
      assert.throws(() => writer.append(['{"type":"event"}']), failsWith("audit_not_open"));
      assert.throws(() => writer.sync(), failsWith("audit_not_open"));
      writer.close();
      assert.equal(Deno.readTextFileSync(path), "");
    }
  }));

Deno.test("AuditWriter.append() fails for good where the clock or the hash fails", () =>
  inTempDir((dir) => {
    const faults = [
      { now: (): number => NaN },
      { now: (): number => Infinity },
      {
        now: (): number => {
          throw new Error("no clock");
        },
      },
      { sha256: (): string => "" },
      {
        sha256: (): string => {
          throw new Error("no hash");
        },
      },
    ];
    for (const [i, fault] of faults.entries()) {
      const writer = AuditWriter.create(`${dir}/${i}.jsonl`, { ...options(), ...fault });
      assert.throws(() => writer.append(['{"type":"event"}']), AuditError);
      assert.throws(() => writer.append(['{"type":"event"}']), failsWith("audit_not_open"));
      writer.close();
      assert.equal(Deno.statSync(`${dir}/${i}.jsonl`).size, 0);
    }
  }));

Deno.test("AuditWriter.append() throws on a full disk, and refuses every later record", {
  // A file size limit stands in for a full disk: the write that crosses it is short, the next one fails.
  ignore: Deno.build.os !== "linux",
}, () =>
  inTempDir(async (dir) => {
    const script = `
      import { AuditWriter } from ${JSON.stringify(new URL("../../src/audit/writer.ts", import.meta.url).href)};
      import { hash } from "node:crypto";
      const writer = AuditWriter.create("a.jsonl", { runId: "r", now: Date.now, sha256: (x) => hash("sha256", x, "hex") });
      const outcomes = [];
      for (let i = 0; i < 40; i++) {
        try { writer.append(['{"type":"event","event":"' + "x".repeat(40_000) + '"}']); outcomes.push("ok"); }
        catch (error) { outcomes.push(error.code); }
      }
      console.log(JSON.stringify(outcomes));
    `;
    await Deno.writeTextFile(`${dir}/main.ts`, script);
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const { stdout, stderr } = await new Deno.Command("/bin/sh", {
      args: [
        "-c",
        'trap "" XFSZ; ulimit -f 1024; exec "$0" run -A --no-lock --config "$1" main.ts',
        Deno.execPath(),
        config,
      ],
      cwd: dir,
    }).output();
    const outcomes = JSON.parse(new TextDecoder().decode(stdout) || "[]") as string[];
    const failed = outcomes.indexOf("audit_write_failed");
    assert.ok(failed > 0, new TextDecoder().decode(stderr));
    assert.ok(outcomes.slice(0, failed).every((outcome) => outcome === "ok"));
    assert.ok(outcomes.slice(failed + 1).every((outcome) => outcome === "audit_not_open"));
  }));

Deno.test("checkBody() returns what the host may write", () => {
  const body = { type: "tool_call", call_id: "c1", args: { hash: "x", seq: 1, __proto: null, "2": "b", "1": "a" } };
  assert.deepEqual(checkBody(JSON.stringify(body)), body);
  const nasty = '{"type":"event","event":{"__proto__":{"x":1},"a":"\\ud800","n":1e+21}}';
  assert.equal(JSON.stringify(checkBody(nasty)), nasty);
});

Deno.test("checkBody() refuses a type that only the launcher writes, and one that nobody does", () => {
  for (const type of ["run_start", "run_end", "run_artifact_manifest", "unsupported_control", "x", "", "__proto__"]) {
    assert.throws(() => checkBody(JSON.stringify({ type })), failsWith("audit_body_type"), type);
  }
  assert.throws(() => checkBody('{"type":"event","type":"run_end"}'), AuditError);
  assert.throws(() => checkBody('{"type":"run_end","type":"event"}'), failsWith("audit_body_form"));
});

Deno.test("checkBody() refuses the launcher's fields, however they are spelled", () => {
  for (const field of RESERVED_FIELDS) {
    assert.throws(() => checkBody(JSON.stringify({ type: "event", [field]: 1 })), failsWith("audit_body_reserved"));
    const escaped = `\\u${field.charCodeAt(0).toString(16).padStart(4, "0")}${field.slice(1)}`;
    assert.throws(() => checkBody(`{"type":"event","${escaped}":1}`), failsWith("audit_body_form"));
  }
});

Deno.test("checkBody() refuses every text that JSON.stringify does not print", () => {
  const texts = ["", "null", "[]", '{"type":"event"', '{"type":"event",}', '{"type": "event"}', ' {"type":"event"}'];
  texts.push('{"type":"event"}\r', '{"type":"event"}{}', '{"a":1,"type":"event"}', '{"type":"event","a":1,"a":2}');
  texts.push('{"type":"event","n":1.0}', '{"type":"event","n":-0}', '{"type":"event","a":"\\/"}', '{"type":"event"}\n');
  for (const text of texts) assert.throws(() => checkBody(text), AuditError, text);
});

Deno.test("checkBody() bounds depth and size", () => {
  const nested = (levels: number): string => `{"type":"event","e":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  checkBody(nested(MAX_BODY_DEPTH - 1));
  assert.throws(() => checkBody(nested(MAX_BODY_DEPTH)), failsWith("audit_body_depth"));
  assert.throws(() => checkBody(nested(200_000)), failsWith("audit_body_depth"));
  // Brackets in texts are no levels.
  checkBody(JSON.stringify({ type: "event", e: '[{"\\['.repeat(500), f: Array(500).fill([]) }));
  const sized = (bytes: number): string => `{"type":"event","e":"${"x".repeat(bytes - 23)}"}`;
  assert.equal(sized(100).length, 100);
  checkBody(sized(MAX_BODY_BYTES));
  assert.throws(() => checkBody(sized(MAX_BODY_BYTES + 1)), failsWith("audit_body_size"));
  const wide = `{"type":"event","e":"${"€".repeat(MAX_BODY_BYTES / 3)}"}`;
  assert.throws(() => checkBody(wide), failsWith("audit_body_size"));
});
