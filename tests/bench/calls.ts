/**
 * Comparisons of calls inside a run, in each isolation.
 *
 * An agent has no clock of its own. It emits an event before and one after its calls; the launcher stamps both when it
 * writes them, in order, behind the records of every call between them. So the time covers the calls and their log.
 *
 * @module
 */
import { readRecords } from "../../src/audit/reader.ts";
import type { Isolation } from "../../src/plan/plan.ts";
import type { Comparison, Side, Skipped } from "./comparison.ts";
import { makeProject } from "./project.ts";
import { numberOf, ROOT, runProcess, runScript, twokey, type World } from "./world.ts";

/** One kind of call. */
interface Work {
  readonly tool: "readFile" | "echo";
  readonly args: Readonly<Record<string, unknown>>;
  readonly calls: number;
  /** Calls that the agent starts together. */
  readonly atOnce: number;
}

const PIPELINE = 64;
const READ_1K: Work = { tool: "readFile", args: { path: "file_1k.txt" }, calls: 6400, atOnce: 1 };
const READ_1K_PIPELINED: Work = { ...READ_1K, atOnce: PIPELINE };
const READ_64K: Work = { tool: "readFile", args: { path: "file_64k.txt" }, calls: 1280, atOnce: 1 };
const ECHO: Work = { tool: "echo", args: { n: 1, text: "hello" }, calls: 25_600, atOnce: 1 };

/** Bounds of a 1 KiB read against the MCP server. */
const SERIAL_BOUNDS: Readonly<Record<Isolation, number>> = { compartment: 0.15, worker: 0.4, process: 0.4 };
const ISOLATIONS: readonly Isolation[] = ["compartment", "worker", "process"];
/** Budgets that no run of the bench comes near. */
export const BUDGETS = { toolCalls: 1_000_000, totalArgBytes: 2 ** 31, totalResultBytes: 2 ** 33, wallMs: 300_000 };

/** What is measured by calls of one run. */
export async function callComparisons(world: World): Promise<(Comparison | Skipped)[]> {
  const found: (Comparison | Skipped)[] = [await echoComparison(world)];
  for (const isolation of ISOLATIONS) {
    const read = (name: string, work: Work, bound: number) =>
      readComparison(world, { name: `call.${name}.${isolation}`, work, isolation, bound });
    found.push(
      await read("read_1k", READ_1K, SERIAL_BOUNDS[isolation]),
      await read("read_1k_pipelined", READ_1K_PIPELINED, 0.3),
      await read("read_64k", READ_64K, 0.6),
    );
  }
  found.push(await growthComparison(world));
  return found;
}

async function echoComparison(world: World): Promise<Comparison> {
  const dir = await projectFor(world, { work: ECHO, isolation: "compartment" });
  return {
    name: "call.noop.compartment",
    unit: "µs",
    product: runSide("echo in a compartment", world, { dir, calls: ECHO.calls }),
    peer: {
      label: "floor: plain script, two chained records",
      async sample() {
        const log = `${await Deno.makeTempDir({ dir: world.dir })}/floor.jsonl`;
        const script = `${ROOT}/tests/bench/product/floor_calls.ts`;
        const { value } = await runScript("deno", ["run", "-A", script, log, "2000", String(ECHO.calls)], {
          env: world.env,
        });
        await Deno.remove(log);
        return numberOf(value.us);
      },
    },
    bound: 1.5,
  };
}

async function readComparison(
  world: World,
  { name, work, isolation, bound }: { name: string; work: Work; isolation: Isolation; bound: number },
): Promise<Comparison | Skipped> {
  if ("missing" in world.peers) return { name, skipped: world.peers.missing };
  const dir = await projectFor(world, { work, isolation });
  return {
    name,
    unit: "µs",
    product: runSide(`readFile, ${isolation}`, world, { dir, calls: work.calls }),
    peer: mcpSide(world.peers, { dir, work }),
    bound,
  };
}

/** The cost of a call must not depend on how much was granted. */
async function growthComparison(world: World): Promise<Comparison> {
  const isolation = "compartment";
  const one = await projectFor(world, { work: READ_1K, isolation });
  const many = await projectFor(world, { work: READ_1K, isolation, granted: 1000 });
  return {
    name: "growth.granted_paths",
    unit: "µs",
    product: runSide("1,000 granted paths", world, { dir: many, calls: READ_1K.calls }),
    peer: runSide("one granted path", world, { dir: one, calls: READ_1K.calls }),
    bound: 1.2,
  };
}

async function projectFor(
  world: World,
  { work, isolation, granted = 1 }: { work: Work; isolation: Isolation; granted?: number },
): Promise<string> {
  const { tool, args, calls, atOnce } = work;
  const more = Array.from({ length: granted - 1 }, (_, i) => ({ root: `more/${i}` }));
  const name = `calls_${crypto.randomUUID()}`;
  const dir = await makeProject(world, name, {
    agent: "agent_calls.js",
    policy: {
      isolation,
      tools: [tool],
      ...(tool === "echo" ? {} : { fs: { read: [{ root: "docs" }, ...more] } }),
      budgets: BUDGETS,
      context: { tool, args, calls, atOnce, warmUp: Math.ceil(calls / 10 / atOnce) * atOnce },
    },
  });
  for (const { root } of more) {
    await Deno.mkdir(`${dir}/${root}`, { recursive: true });
    await Deno.writeTextFile(`${dir}/${root}/note.txt`, "note\n");
  }
  return dir;
}

/** Runs the agent of a project and reads the cost of a call from the run's log. */
export function runSide(
  label: string,
  world: World,
  { dir, calls, env = {} }: {
    readonly dir: string;
    readonly calls: number;
    /** Variables beside the usual ones. */
    readonly env?: Readonly<Record<string, string>>;
  },
): Side {
  return {
    label,
    async sample() {
      await runProcess("deno", twokey("run", "--policy", `${dir}/agent.policy.jsonc`), {
        env: { ...world.env, ...env },
        cwd: dir,
      });
      const runs = `${dir}/.twokey/runs`;
      const ms = await markedMs(runs);
      await Deno.remove(runs, { recursive: true });
      return ms * 1000 / calls;
    },
  };
}

/** Milliseconds between the two marks in the one log of a folder. */
async function markedMs(runs: string): Promise<number> {
  const marks: number[] = [];
  for await (const { name } of Deno.readDir(runs)) {
    for await (const { type, at_ms } of readRecords(`${runs}/${name}/audit.jsonl`)) {
      if (type === "event") marks.push(at_ms);
    }
  }
  const [start, stop] = marks;
  if (start === undefined || stop === undefined || marks.length !== 2) {
    throw new Error("Cannot measure: the log does not hold its two marks");
  }
  return stop - start;
}

function mcpSide(
  { node, modules }: { readonly node: string; readonly modules: string },
  { dir, work }: { dir: string; work: Work },
): Side {
  const file = `${dir}/docs/${String(work.args.path)}`;
  // Fewer calls of the slower one: its cost of a call is steady after the first hundreds.
  const calls = Math.ceil(work.calls / 4 / PIPELINE) * PIPELINE;
  const words = [modules, `${dir}/docs`, file, String(PIPELINE * 5), String(calls), String(work.atOnce)];
  const script = new URL("peers/mcp_client.mjs", import.meta.url).pathname;
  return {
    label: "MCP client and server",
    sample: async () => numberOf((await runScript(node, [script, ...words])).value.us),
  };
}
