/**
 * Comparisons of the audit log: appending to it, and verifying a long one.
 *
 * @module
 */
import type { Comparison, Skipped } from "./comparison.ts";
import { numberOf, ROOT, runProcess, runScript, type World } from "./world.ts";

const RECORDS = 1_000_000;
const APPENDS = 100_000;
const PEAK_MIB = 256;

/** What is measured of the log. */
export async function logComparisons(world: World): Promise<(Comparison | Skipped)[]> {
  const names = ["audit.append", "audit.verify_1e6", "audit.verify_1e6_memory"];
  if ("missing" in world.peers) {
    const { missing } = world.peers;
    return names.map((name) => ({ name, skipped: missing }));
  }
  const { node, modules } = world.peers;
  const peer = (name: string) => new URL(`peers/${name}`, import.meta.url).pathname;
  const product = (name: string) => `${ROOT}/tests/bench/product/${name}`;
  const log = `${world.dir}/long.jsonl`;
  await runProcess("deno", ["run", "-A", product("make_log.ts"), log, String(RECORDS)], { env: world.env });
  const verify = async () => {
    const { ms, value } = await runScript("deno", ["run", "-A", product("verify_log.ts"), log], { env: world.env });
    if (value.verdict !== "consistent" || value.records !== RECORDS) {
      throw new Error("Cannot measure: the log is wrong");
    }
    return { ms, peakMiB: numberOf(value.peakMiB) };
  };
  const verifyPlain = async () => (await runScript(node, [peer("verify_plain.mjs"), log])).ms;
  return [
    {
      name: "audit.append",
      unit: "µs",
      product: {
        label: "check, chain and write a record",
        async sample() {
          const file = `${await Deno.makeTempDir({ dir: world.dir })}/append.jsonl`;
          const args = [product("append_records.ts"), file, "5000", String(APPENDS)];
          const { value } = await runScript("deno", ["run", "-A", ...args], { env: world.env });
          await Deno.remove(file);
          return numberOf(value.us);
        },
      },
      peer: {
        label: "pino, synchronous",
        async sample() {
          const file = `${await Deno.makeTempDir({ dir: world.dir })}/pino.jsonl`;
          const { value } = await runScript(node, [peer("pino_append.mjs"), modules, file, "5000", String(APPENDS)]);
          await Deno.remove(file);
          return numberOf(value.us);
        },
      },
      bound: 1.5,
    },
    {
      name: "audit.verify_1e6",
      unit: "ms",
      product: { label: "verifyAudit, 1e6 records", sample: async () => (await verify()).ms },
      peer: { label: "node: split, parse, hash", sample: verifyPlain },
      bound: 1.2,
    },
    {
      name: "audit.verify_1e6_memory",
      unit: "MiB",
      product: { label: "peak of verifyAudit", sample: async () => (await verify()).peakMiB },
      peer: { label: `its bound`, sample: () => Promise.resolve(PEAK_MIB) },
      bound: 1,
      rounds: 3,
    },
  ];
}
