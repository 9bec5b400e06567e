/**
 * A process with the permissions of a host and nothing of it but the network: reads what to do from standard input,
 * prints what came of it.
 *
 * @module
 */
import { makeNetwork } from "../../src/host/network.ts";
import { ToolError } from "../../src/errors.ts";
import { npmMetadata } from "../../src/tools/supply_chain/npm_metadata.ts";
import { osvQuery } from "../../src/tools/supply_chain/osv_query.ts";
import { callTool, makeRun, type RunOptions } from "./network_run.ts";

/** What the child is told. */
export interface ChildTask {
  readonly network: NonNullable<RunOptions["network"]>;
  readonly caPem: string;
  readonly calls: readonly { readonly tool: string; readonly args: unknown }[];
  /** URLs that the child fetches past the tools, with a client of its own. */
  readonly fetches: readonly string[];
}

/** What the child says. */
export interface ChildReport {
  readonly canary: unknown;
  readonly outcomes: readonly { readonly result?: unknown; readonly code?: string; readonly transport?: unknown }[];
  /** Name of the error of each fetch; `null` where it was answered. */
  readonly fetches: readonly (string | null)[];
}

async function main(): Promise<void> {
  const task = JSON.parse(await new Response(Deno.stdin.readable).text()) as ChildTask;
  const run = { ...makeRun({ network: task.network }), env: (name: string) => Deno.env.get(name) };
  const network = makeNetwork(run, { caPem: task.caPem });
  network.open();
  const canary = await network.ipv4Canary();
  const outcomes: { result?: unknown; code?: string; transport?: unknown }[] = [];
  for (const { tool, args } of task.calls) {
    const { result, error, note } = await callTool(network, tool === "osv.query" ? osvQuery : npmMetadata, { args });
    outcomes.push(error === undefined ? { result, transport: note.transport } : { code: codeOf(error) });
  }
  const fetches: (string | null)[] = [];
  for (const url of task.fetches) fetches.push(await tryFetch(url));
  network.close();
  const report: ChildReport = { canary, outcomes, fetches };
  await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(report)));
}

function codeOf(error: unknown): string {
  return error instanceof ToolError ? error.code : String(error);
}

async function tryFetch(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return null;
  } catch (error) {
    return error instanceof Error ? error.name : "unknown";
  }
}

if (import.meta.main) await main();
