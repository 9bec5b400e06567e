/**
 * Comparison of the memory of whole process trees after one call, each page counted by its share (PSS).
 *
 * @module
 */
import { findProgram } from "../../src/launch/channels.ts";
import type { Comparison, Skipped } from "./comparison.ts";
import { makeProject } from "./project.ts";
import { READ_POLICY } from "./start.ts";
import { twokey, type World } from "./world.ts";

const NAME = "memory.tree";
/** Until a tree is at rest after its call. */
const REST_MS = 700;
const LATEST_MS = 10_000;

/** What a child writes, in bytes: ten times as much may move the heap of a process, and no more than that. */
const OUTPUT = { much: 5 * 2 ** 30, little: 2 ** 29 };
/** MiB of all processes together, whatever the peer needs. */
const OUTPUT_CEILING = 320;

/** What is measured of memory. */
export async function memoryComparisons(world: World): Promise<(Comparison | Skipped)[]> {
  return [await outputComparison(world), ...await treeComparisons(world)];
}

/** The peaks of launcher, host and agent together while a child writes a lot, beside those while it writes little. */
async function outputComparison(world: World): Promise<Comparison | Skipped> {
  const name = "memory.child_output";
  const found = await findProgram("head");
  if (Deno.build.os !== "linux" || found === undefined) {
    return { name, skipped: "only Linux tells the peaks of processes" };
  }
  const head = await Deno.realPath(found);
  const reason = { reason: "measured by the bench", expires: "2999-01-01" };
  const project = (bytes: number) =>
    makeProject(world, `output_${bytes}`, {
      agent: "agent_numbered.js",
      policy: {
        tools: ["process"],
        process: { commands: { head: { path: head, args: "any" } }, cwd: ["."], sandbox: "off" },
        unsafe: { unconfined: reason, interpreter: [{ command: "head", ...reason }] },
        budgets: { toolTimeoutMs: 280_000, wallMs: 300_000 },
        context: {
          tool: "process",
          args: { command: "head", args: ["-c", String(bytes), "/dev/zero"], output: "summary" },
          warmUp: 0,
          calls: 1,
        },
      },
    });
  const side = async (label: string, bytes: number) => {
    const dir = await project(bytes);
    return { label, sample: () => peakOf(twokey("run", "--policy", `${dir}/agent.policy.jsonc`), world, dir) };
  };
  return {
    name,
    unit: "MiB",
    product: await side("a child writes 5 GiB", OUTPUT.much),
    peer: await side("a child writes 512 MiB", OUTPUT.little),
    bound: 1.5,
    ceiling: OUTPUT_CEILING,
    rounds: 3,
  };
}

/** MiB: the sum of the peaks of every process of a run that is Deno's. */
async function peakOf(args: readonly string[], world: World, dir: string): Promise<number> {
  const child = new Deno.Command("deno", {
    args: [...args],
    cwd: dir,
    env: { ...world.env },
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const peaks = new Map<number, number>();
  let isOver = false;
  const status = child.status.finally(() => isOver = true);
  while (!isOver) {
    for (const pid of treeBelow(child.pid)) {
      try {
        const text = await Deno.readTextFile(`/proc/${pid}/status`);
        const peak = /^VmHWM:\s+(\d+) kB$/m.exec(text)?.[1];
        if (/^Name:\s+deno$/m.test(text) && peak !== undefined) peaks.set(pid, Number(peak) / 1024);
      } catch {
        // it is gone
      }
    }
    await rest(50);
  }
  if (!(await status).success) throw new Error("Cannot measure: the run failed");
  return [...peaks.values()].reduce((sum, peak) => sum + peak, 0);
}

async function treeComparisons(world: World): Promise<(Comparison | Skipped)[]> {
  if ("missing" in world.peers) return [{ name: NAME, skipped: world.peers.missing }];
  if (Deno.build.os !== "linux") return [{ name: NAME, skipped: "only Linux counts shares of pages" }];
  const { node, modules } = world.peers;
  const dir = await makeProject(world, "memory", { agent: "agent_waits.js", policy: READ_POLICY });
  const script = new URL("peers/mcp_client.mjs", import.meta.url).pathname;
  const file = `${dir}/docs/file_1k.txt`;
  const runs = `${dir}/.twokey/runs`;
  return [{
    name: NAME,
    unit: "MiB",
    product: {
      label: "launcher, host and agent",
      async sample() {
        const words = twokey("run", "--policy", `${dir}/agent.policy.jsonc`);
        const mib = await treeOf("deno", words, { env: world.env, ready: () => hasEvent(runs) });
        await Deno.remove(runs, { recursive: true });
        return mib;
      },
    },
    peer: {
      label: "MCP client and server",
      sample: () => treeOf(node, [script, modules, `${dir}/docs`, file, "0", "1", "1", "stay"], {}),
    },
    bound: 1,
    rounds: 5,
  }];
}

/** Whether the one run of a folder has written an event. */
function hasEvent(runs: string): boolean {
  try {
    for (const { name } of Deno.readDirSync(runs)) {
      if (Deno.readTextFileSync(`${runs}/${name}/audit.jsonl`).includes('"type":"event"')) return true;
    }
  } catch {
    // not there yet
  }
  return false;
}

/** Starts a tree, waits until its call is done and it rests, sums up its memory in MiB, and ends it. */
async function treeOf(
  command: string,
  args: readonly string[],
  { env, ready }: { readonly env?: Readonly<Record<string, string>>; ready?(): boolean },
): Promise<number> {
  const child = new Deno.Command(command, {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    ...(env === undefined ? {} : { env: { ...env }, clearEnv: true }),
  }).spawn();
  const printed = Promise.withResolvers<void>();
  const draining = drain(child.stdout, printed.resolve);
  try {
    if (ready === undefined) await printed.promise;
    else await until(ready);
    await rest(REST_MS);
    return pssOf(child.pid) / 1024;
  } finally {
    // The peer ends with its input; the product's launcher takes host and agent with it.
    await child.stdin.close();
    try {
      child.kill("SIGTERM");
    } catch {
      // it has ended with its input
    }
    await child.status;
    await draining;
  }
}

async function drain(stream: ReadableStream<Uint8Array>, first: () => void): Promise<void> {
  for await (const _ of stream) first();
}

async function until(ready: () => boolean): Promise<void> {
  const start = performance.now();
  while (!ready()) {
    if (performance.now() - start > LATEST_MS) throw new Error("Cannot measure: the tree made no call");
    await rest(20);
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A process and all below it. */
function treeBelow(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = Deno.readTextFileSync(`/proc/${name}/stat`);
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      children.set(parent, [...children.get(parent) ?? [], Number(name)]);
    } catch {
      // it is gone
    }
  }
  const all = [root];
  for (const pid of all) all.push(...children.get(pid) ?? []);
  return all;
}

/** KiB of a process and all below it. */
function pssOf(root: number): number {
  const pssOne = (pid: number) =>
    Number(/^Pss:\s+(\d+) kB$/m.exec(Deno.readTextFileSync(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
  return treeBelow(root).reduce((sum, pid) => sum + pssOne(pid), 0);
}
