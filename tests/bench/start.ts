/**
 * Comparisons of whole processes: the first call, the check of a policy.
 *
 * @module
 */
import type { Comparison, Side, Skipped } from "./comparison.ts";
import { makeProject } from "./project.ts";
import { runProcess, twokey, type World } from "./world.ts";

const NAMES = { call: "start.first_call", cold: "start.first_call_no_bundle", validate: "start.validate" } as const;

/** What is measured by the clock on the wall. */
export async function startComparisons(world: World): Promise<(Comparison | Skipped)[]> {
  const dir = await makeProject(world, "start", { agent: "agent_once.js", policy: READ_POLICY });
  const empty = `${world.dir}/empty.mjs`;
  await Deno.writeTextFile(empty, "");
  const emptyDeno = timed("empty deno run", "deno", ["run", "--no-config", empty], { env: world.env });
  const run = twokey("run", "--policy", `${dir}/agent.policy.jsonc`);
  const firstCall = timed("twokey run, one read", "deno", run, { env: world.env, cwd: dir });
  const withoutBundle: Side = {
    label: "twokey run, one read, agent not yet bundled",
    async sample() {
      const state = await Deno.makeTempDir({ dir: world.dir });
      return (await runProcess("deno", run, { env: { ...world.env, XDG_STATE_HOME: state }, cwd: dir })).ms;
    },
  };
  const validate = timed("twokey policy validate", "deno", twokey("policy", "validate", `${dir}/agent.policy.jsonc`), {
    env: world.env,
    cwd: dir,
  });
  const start: (Comparison | Skipped)[] = [
    { name: NAMES.validate, unit: "ms", product: validate, peer: emptyDeno, bound: 2 },
    { name: "start.first_call_vs_empty", unit: "ms", product: firstCall, peer: emptyDeno, bound: null },
  ];
  if ("missing" in world.peers) {
    const { missing } = world.peers;
    return [...start, ...[NAMES.call, NAMES.cold].map((name) => ({ name, skipped: missing }))];
  }
  const { node, modules } = world.peers;
  const file = `${dir}/docs/file_1k.txt`;
  const script = new URL("peers/mcp_client.mjs", import.meta.url).pathname;
  const mcp = timed("MCP client and server, one read", node, [script, modules, `${dir}/docs`, file, "0", "1", "1"], {});
  return [
    { name: NAMES.call, unit: "ms", product: firstCall, peer: mcp, bound: 0.3 },
    { name: NAMES.cold, unit: "ms", product: withoutBundle, peer: mcp, bound: null },
    ...start,
  ];
}

/** The policy of a project that reads its documents. */
export const READ_POLICY = { tools: ["readFile"], fs: { read: [{ root: "docs", include: ["**/*.txt"] }] } } as const;

function timed(
  label: string,
  command: string,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string },
): Side {
  return { label, sample: async () => (await runProcess(command, args, options)).ms };
}
