/**
 * The GitHub readers against a service on this machine, at their real pinned URLs and over real TLS.
 *
 * @module
 */
import { TOOLS } from "../../src/tools/registry.ts";
import type { Tool } from "../../src/tool/define.ts";
import { type Called, callTool, type RunOptions, withNetwork } from "./network_run.ts";
import { startTlsWorld, type TlsWorld, type WorldAnswer, type WorldHandler } from "./tls_world.ts";

/** Every answer by `METHOD https://host/path?query`, or one function for all. */
export type GitHubAnswers = WorldHandler | Readonly<Record<string, WorldHandler | WorldAnswer>>;

/** What is asked, of which service, under which plan. */
export interface GitHubCall {
  readonly tool: string;
  readonly args: unknown;
  readonly run?: RunOptions;
  readonly timeoutMs?: number;
}

/** Runs `body` beside a running service. */
export async function withGitHub<T>(answers: GitHubAnswers, body: (world: TlsWorld) => Promise<T>): Promise<T> {
  const world = await startTlsWorld(answers);
  try {
    return await body(world);
  } finally {
    await world.close();
  }
}

/** Loads a reader. */
export async function loadReader(name: string): Promise<Tool> {
  const tool = await TOOLS[name]?.();
  if (tool === undefined) throw new TypeError(`there is no tool "${name}"`);
  return tool;
}

/** One call in a run of its own; by default of a plan that names the repositories `o/*`. */
export async function callReader(world: TlsWorld, { tool, args, run = {}, timeoutMs }: GitHubCall): Promise<Called> {
  const loaded = await loadReader(tool);
  const options: RunOptions = {
    repos: ["o/*"],
    tools: [loaded],
    ...run,
    network: { proxy: { fromEnv: "TEST_PROXY" }, ca: { fromEnv: "TEST_CA" }, ...run.network },
    env: { TEST_PROXY: world.proxyUrl, TEST_CA: world.caPem, ...run.env },
  };
  return await withNetwork(
    options,
    (network) => callTool(network, loaded, { args, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
  );
}
