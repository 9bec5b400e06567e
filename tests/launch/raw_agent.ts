/** Runs a host with a process of the test's own in the place of the agent: what a hostile agent could send. */
import { makeRedactor } from "../../src/audit/redact.ts";
import type { Record as AuditRecord, RecordBody } from "../../src/audit/record.ts";
import { startGroundwork } from "../../src/launch/execute.ts";
import { launch } from "../../src/launch/launch.ts";
import type { RunEnd } from "../../src/launch/launch_options.ts";
import { prepareRun } from "../../src/launch/prepare.ts";
import { hostFlags } from "../../src/plan/flags.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { readLog } from "../e2e/run_project.ts";

/** What came of a run with a hostile agent. */
export interface RawRun {
  readonly end: RunEnd;
  readonly records: readonly AuditRecord[];
  readonly auditPath: string;
}

/** Helpers that every hostile agent has: its two ends and ways to write to one. */
const PRELUDE = `
const { stdin, stdout } = Deno;
const encoder = new TextEncoder();
const bytes = (data) => { for (let at = 0; at < data.length;) at += stdout.writeSync(data.subarray(at)); };
const line = (text) => bytes(encoder.encode(text + "\\n"));
const hello = () => line('{"op":"hello"}');
const buffer = new Uint8Array(65536);
const read = () => { const n = stdin.readSync(buffer); return n === null ? null : new TextDecoder().decode(buffer.subarray(0, n)); };
const hold = () => { while (read() !== null); };
`;

/**
 * Runs `body` as the agent's process.
 *
 * @param body JavaScript; see the prelude for what it may use.
 * @param budgets Budgets of the policy.
 */
export async function runRawAgent(body: string, budgets: Readonly<Record<string, number>> = {}): Promise<RawRun> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-raw-" }));
  try {
    const boot = `${root}/boot.mjs`;
    const file = `${root}/agent.policy.jsonc`;
    await Promise.all([
      Deno.writeTextFile(`${root}/deno.json`, "{}"),
      Deno.writeTextFile(boot, PRELUDE + body),
      Deno.writeTextFile(
        file,
        JSON.stringify({ version: 1, tools: ["echo", "slow"], budgets: { wallMs: 8000, ...budgets } }),
      ),
      Deno.mkdir(`${root}/run`),
    ]);
    const groundwork = startGroundwork();
    const { plan, places, code } = await prepareRun(await loadPolicy(file), { code: "" });
    const [channels, base] = await Promise.all([groundwork.channels, groundwork.base]);
    const { records, answers, agentToHost, hostToAgent } = channels;
    const auditPath = `${root}/run/audit.jsonl`;
    const seen: RecordBody[] = [];
    const end = await launch({
      plan,
      places,
      base,
      channels,
      hostFlags: hostFlags(plan, places, {
        extraRead: [answers, agentToHost],
        extraWrite: [records, hostToAgent],
      }),
      hostEnv: { TWOKEY_CANARY: "visible", DENO_DIR: denoCache() },
      hostMain: new URL("../../src/host/main.ts", import.meta.url).pathname,
      agentBoot: boot,
      code,
      fixtures: {},
      redactor: makeRedactor({ fields: [], secrets: new Map() }),
      cacheKey: "00".repeat(32),
      caPem: undefined,
      runId: "raw",
      auditPath,
      start: {},
      clock: 0,
      seed: "0".repeat(32),
      onRecord: (body) => void seen.push(body),
      onStderr: () => {},
    });
    return { end, records: await readLog(auditPath), auditPath };
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

function denoCache(): string {
  return Deno.env.get("DENO_DIR") ?? `${Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`}/deno`;
}
