/** What probes see on a machine where everything holds, for tests to break. */
import type { AgentReport, RawResults, Seen } from "../../src/doctor/judge.ts";
import type { Probed } from "../../src/doctor/probe.ts";

/** What an agent reports where key 2 holds. */
export const AGENT: AgentReport = {
  reached: [],
  control: { read: "result", write: "result" },
  tools: {
    read: ["denied", "denied"],
    write: ["denied"],
    fetch: ["denied"],
    spawn: ["denied"],
    secret: ["denied"],
    log: ["denied"],
  },
  copied: true,
  overArgs: "budget",
  overResult: "budget",
};

/** What Deno refuses where key 1 holds. */
export const RAW: RawResults = { read: true, write: true, fetch: true, spawn: true, secret: true, log: true };

/** What is seen of an isolation where everything holds. */
export const SEEN: Seen = {
  agent: AGENT,
  raw: [RAW, RAW],
  logAuthentic: true,
  ends: { spin: "cpu_exceeded", heap: "memory_exceeded", buffers: "memory_rss_exceeded" },
  trouble: undefined,
};

/** What all probes see where everything holds. */
export const PROBED: Probed = {
  isolations: { process: SEEN, worker: SEEN, compartment: SEEN },
  attested: [["read"], ["read"], ["read"]],
  ipv4: true,
  troubles: [],
};
