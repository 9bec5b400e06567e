import assert from "node:assert/strict";
import { verifyAudit } from "../../src/audit/reader.ts";
import { deriveFrom } from "../../src/evidence/derived.ts";
import { inTempDir, RUN, writeLog } from "../audit/log_maker.ts";

Deno.test("deriveFrom() makes the same of the same log, and something else of another", () =>
  inTempDir(async (dir) => {
    const made = async (name: string, bodies: typeof RUN) => {
      writeLog(`${dir}/${name}`, bodies);
      return await deriveFrom(`${dir}/${name}`, await verifyAudit(`${dir}/${name}`));
    };
    const one = await made("one.jsonl", RUN);
    assert.deepEqual(await made("two.jsonl", RUN), one, "where it lies does not matter");
    const cut = await made("cut.jsonl", RUN.slice(0, -1));
    assert.deepEqual([one.run.status, cut.run.status, cut.run.ended_ms], ["ok", "unfinished", null]);
    const texts = ({ files }: typeof one) => Object.fromEntries(files);
    assert.notEqual(texts(one)["replay.json"], texts(cut)["replay.json"]);
    assert.deepEqual(texts(one)["controls.json"], texts(cut)["controls.json"]);
  }));
