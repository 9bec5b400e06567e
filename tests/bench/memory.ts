/**
 * Comparison of the memory of whole process trees after one call, each page counted by its share (PSS).
 *
 * @module
 */
import type { Comparison, Skipped } from "./comparison.ts";
import { makeProject } from "./project.ts";
import { READ_POLICY } from "./start.ts";
import { twokey, type World } from "./world.ts";

const NAME = "memory.tree";
/** Until a tree is at rest after its call. */
const REST_MS = 700;
const LATEST_MS = 10_000;

/** What is measured of memory. */
export async function memoryComparisons(world: World): Promise<(Comparison | Skipped)[]> {
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

/** KiB of a process and all below it. */
function pssOf(root: number): number {
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
  let sum = 0;
  const todo = [root];
  for (let pid = todo.pop(); pid !== undefined; pid = todo.pop()) {
    todo.push(...children.get(pid) ?? []);
    sum += Number(/^Pss:\s+(\d+) kB$/m.exec(Deno.readTextFileSync(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
  }
  return sum;
}
