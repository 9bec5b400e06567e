/**
 * What a host is started with: the words of its command line, and the first line that it reads.
 *
 * @module
 */
import type { LaunchOptions } from "./launch_options.ts";

/** The host's arguments: its four pipes, and the process that it watches. */
export function hostArgs({ channels, programs }: LaunchOptions): readonly string[] {
  const { records, answers, agentToHost, hostToAgent } = channels;
  // in a pid namespace of its own the host has no parent that it could see
  const parent = (programs?.prefix ?? []).length > 0 ? 0 : Deno.pid;
  return [records, answers, agentToHost, hostToAgent, String(parent)];
}

/** The line from which a host knows its run. */
export function initText(options: LaunchOptions): string {
  const { plan, places, fixtures, cacheKey, caPem, code, clock, seed, dryRun = false, channels } = options;
  const { state = {}, session, programs, recordingPath, rerun, hidden = {} } = options;
  return JSON.stringify({
    plan,
    places,
    fixtures,
    cacheKey,
    caPem: caPem ?? null,
    code,
    clock,
    seed,
    dryRun,
    canary: channels.canary,
    state,
    ...(session === undefined ? {} : { session: { turnId: session.turnId, tasks: session.tasks } }),
    ...(Object.keys(hidden).length === 0 ? {} : { hidden }),
    ...(programs === undefined ? {} : { programs: programs.setup }),
    ...(recordingPath === undefined ? {} : { record: true }),
    ...(rerun === undefined ? {} : { rerun: { bytes: rerun.length } }),
  });
}
