/**
 * Comparisons of the tools that look over many files, in a session: the process that asks is there already on both sides.
 *
 * @module
 */
import { runSide } from "./calls.ts";
import type { Comparison, Skipped } from "./comparison.ts";
import { makeProject } from "./project.ts";
import { findOnPath, numberOf, ROOT, runScript, type World } from "./world.ts";

/** One tree: its files, and the bytes of each. The first holds the 8 MB that are searched. */
const TREES = [{ name: "3k", files: 3000, bytes: 2700, calls: 40 }, {
  name: "50k",
  files: 50_000,
  bytes: 160,
  calls: 4,
}];

const FILES_OF_FOLDER = 12;
const PATTERN = "**/*.ts";
const SEARCH = "NEEDLE_4\\d7";

/** The ignore file of each tree: what most repositories leave out, and nothing that is there. */
const IGNORED = "node_modules/\n*.log\n/dist\nbuild/\n.cache\n!keep.log\n*.tmp\ncoverage/\n";

/** What is measured over trees of files. */
export async function workspaceComparisons(world: World): Promise<(Comparison | Skipped)[]> {
  const rg = await findOnPath("rg");
  const found: (Comparison | Skipped)[] = [];
  for (const tree of TREES) {
    const off = { pattern: PATTERN, hidden: true, ignored: true };
    const on = { pattern: PATTERN, hidden: true };
    found.push(await globComparison(world, `glob.${tree.name}.ignore_off`, { tree, args: off, bound: 0.8 }));
    found.push(await globComparison(world, `glob.${tree.name}.ignore_on`, { tree, args: on, bound: 1.5 }));
    found.push(await grepComparison(world, `grep.${tree.name}`, { tree, rg, bound: tree.name === "3k" ? 3.5 : null }));
  }
  return found;
}

type Tree = (typeof TREES)[number];

async function globComparison(
  world: World,
  name: string,
  { tree, args, bound }: { readonly tree: Tree; readonly args: object; readonly bound: number },
): Promise<Comparison | Skipped> {
  if ("missing" in world.peers) return { name, skipped: world.peers.missing };
  const dir = await projectFor(world, name, { tool: "Glob", args, tree });
  const { node, modules } = world.peers;
  const words = [`${ROOT}/tests/bench/peers/glob_tiny.mjs`, modules, `${dir}/tree`, PATTERN, "3", String(tree.calls)];
  return {
    name,
    unit: "µs",
    product: runSide("Glob in a process", world, { dir, calls: tree.calls }),
    peer: {
      label: "tinyglobby, which reads no ignore file",
      sample: async () => numberOf((await runScript(node, words)).value.us),
    },
    bound,
  };
}

async function grepComparison(
  world: World,
  name: string,
  { tree, rg, bound }: { readonly tree: Tree; readonly rg: string | undefined; readonly bound: number | null },
): Promise<Comparison | Skipped> {
  if (rg === undefined) return { name, skipped: "rg is not on PATH" };
  const args = { pattern: SEARCH, limit: 5000 };
  const dir = await projectFor(world, name, { tool: "Grep", args, tree });
  const script = `${ROOT}/tests/bench/product/spawn_rg.ts`;
  const words = ["run", "-A", script, rg, SEARCH, `${dir}/tree`, "3", String(tree.calls)];
  return {
    name,
    unit: "µs",
    product: runSide("Grep in a process", world, { dir, calls: tree.calls }),
    peer: {
      label: "rg, spawned by a Deno process",
      sample: async () => numberOf((await runScript("deno", words, { env: world.env })).value.us),
    },
    bound,
  };
}

async function projectFor(
  world: World,
  name: string,
  { tool, args, tree }: { readonly tool: "Glob" | "Grep"; readonly args: object; readonly tree: Tree },
): Promise<string> {
  const dir = await makeProject(world, name, {
    agent: "agent_calls.js",
    policy: {
      tools: [tool],
      fs: { read: [{ root: "tree" }] },
      budgets: { wallMs: 600_000, toolTimeoutMs: 60_000 },
      context: { tool, args, calls: tree.calls, atOnce: 1, warmUp: 3 },
    },
  });
  await plantTree(`${dir}/tree`, tree);
  return dir;
}

/** Files of words, a dozen in a folder; the searched word stands in about one of 400 lines. */
async function plantTree(dir: string, { files, bytes }: Tree): Promise<void> {
  const words = "the quick brown fox jumps over lazy dog return const value import export async await result".split(
    " ",
  );
  let state = 1;
  const roll = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % below;
  };
  for (let i = 0; i < files; i++) {
    const folder = Math.floor(i / FILES_OF_FOLDER);
    const path = `${dir}/pkg${folder % 40}/mod${folder}`;
    if (i % FILES_OF_FOLDER === 0) await Deno.mkdir(path, { recursive: true });
    let text = "";
    while (text.length < bytes) {
      const line = Array.from({ length: 8 }, () => words[roll(words.length)] ?? "").join(" ");
      text += roll(400) === 0 ? `  ${line} NEEDLE_${roll(1000)}\n` : `  ${line}\n`;
    }
    await Deno.writeTextFile(`${path}/file${i}.${["ts", "js", "md", "json"][i % 4]}`, text);
  }
  await Deno.writeTextFile(`${dir}/.gitignore`, IGNORED);
}
