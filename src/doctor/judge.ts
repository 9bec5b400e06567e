/**
 * From what the probes saw to what may be claimed. Pure: a control counts as held only where its probe says so.
 *
 * @module
 */
import type { Isolation } from "../plan/plan.ts";

/** The acts that a key can stop. */
export const KEYED_ACTS = ["read", "write", "fetch", "spawn", "secret", "log"] as const;
/** The acts that only a bound can stop. */
const BOUNDED_ACTS = ["spin", "heap", "buffers"] as const;
/** Every act that is tried in every isolation, in the order of the report. */
export const ACTS = [...KEYED_ACTS, ...BOUNDED_ACTS] as const;

/** One act that a key can stop. */
export type KeyedAct = typeof KEYED_ACTS[number];
/** One act that only a bound can stop. */
export type BoundedAct = typeof BOUNDED_ACTS[number];
/** One of {@linkcode ACTS}. */
export type Act = typeof ACTS[number];

/** What stopped an act. `untried`: its probe did not run, which proves nothing. */
export type StoppedBy = "both" | "key 1" | "key 2" | "isolation" | "launcher bound" | "nothing" | "untried";

/** One act in one isolation. */
export interface Finding {
  readonly stopped_by: StoppedBy;
  /** What was seen. */
  readonly evidence: string;
}

/** What the agent of the probe run said, and what its log says of it. */
export interface AgentReport {
  /** Names and makers of code that agent code could reach past its tools. */
  readonly reached: readonly string[];
  /** Outcomes of calls that the policy grants: without their success no refusal means anything. */
  readonly control: Readonly<Record<string, string>>;
  readonly tools: Readonly<Record<KeyedAct, readonly string[]>>;
  readonly copied: boolean;
  readonly overArgs: string;
  readonly overResult: string;
}

/** Per act: `true` where Deno's permissions refused it, else what happened. */
export type RawResults = Readonly<Record<KeyedAct, true | string>>;

/** Everything that was seen of one isolation; `undefined` where a probe did not come to its end. */
export interface Seen {
  readonly agent: AgentReport | undefined;
  /** What each of the parties that key 1 confines was refused: the host, and the agent where it has its own permissions. */
  readonly raw: readonly (RawResults | undefined)[];
  /** Whether the log of the run verified against its head. */
  readonly logAuthentic: boolean;
  /** Reasons with which the runs of the bounded acts ended. */
  readonly ends: Readonly<Record<BoundedAct, string | undefined>>;
  /** Why a probe did not come to its end. */
  readonly trouble: string | undefined;
}

const BOUNDS: Readonly<Record<string, StoppedBy>> = {
  cpu_exceeded: "launcher bound",
  wall_exceeded: "launcher bound",
  memory_rss_exceeded: "launcher bound",
  memory_exceeded: "isolation",
};

/** Judges one isolation. */
export function judgeIsolation(seen: Seen): Readonly<Record<Act, Finding>> {
  const keyed = KEYED_ACTS.map((act) => [act, judgeKeyed(act, seen)] as const);
  const bounded = BOUNDED_ACTS.map((act) => [act, judgeBounded(seen.ends[act])] as const);
  return Object.fromEntries([...keyed, ...bounded]) as Record<Act, Finding>;
}

function judgeKeyed(act: KeyedAct, { agent, raw, logAuthentic, trouble }: Seen): Finding {
  if (agent === undefined || raw.length === 0 || raw.includes(undefined)) {
    return { stopped_by: "untried", evidence: trouble ?? "the probe did not come to its end" };
  }
  const works = Object.values(agent.control).every((outcome) => outcome === "result");
  if (!works) return { stopped_by: "untried", evidence: "a granted call failed, so a refused one proves nothing" };
  const refusals = raw.map((results) => results?.[act]);
  const key1 = refusals.every((refusal) => refusal === true);
  const denied = agent.tools[act].length > 0 && agent.tools[act].every((outcome) => outcome === "denied");
  const key2 = denied && agent.reached.length === 0 && (act !== "log" || logAuthentic);
  const evidence = [
    key1 ? "Deno refused the act itself" : `Deno did not refuse: ${refusals.filter((one) => one !== true).join(", ")}`,
    key2
      ? "the call was denied and agent code has no other way"
      : `calls: ${agent.tools[act].join(", ")}; reached: ${agent.reached.join(", ") || "nothing"}`,
  ].join("; ");
  return { stopped_by: key1 && key2 ? "both" : key1 ? "key 1" : key2 ? "key 2" : "nothing", evidence };
}

function judgeBounded(reason: string | undefined): Finding {
  if (reason === undefined) return { stopped_by: "untried", evidence: "the probe did not run" };
  const stopped = Object.hasOwn(BOUNDS, reason) ? BOUNDS[reason] : undefined;
  return { stopped_by: stopped ?? "nothing", evidence: `the run ended with ${reason}` };
}

/** A control with what proves or disproves it. */
export interface Control {
  /** The word that stands for "it holds"; `not_enforced` otherwise. */
  readonly value: string;
  readonly held: boolean;
  /** Whether `doctor` fails without it. */
  readonly required: boolean;
  readonly evidence: string;
}

/** What the controls are judged on. */
export interface Measured {
  readonly isolations: Readonly<Record<Isolation, Seen>>;
  /** Names of the acts that every host refused when it attested. */
  readonly attested: readonly (readonly string[] | undefined)[];
  /** Whether every host that has a network proved that it is bound to IPv4. */
  readonly ipv4: boolean;
}

/** Judges the controls: the four that other tools look for, and those of this product. */
export function judgeControls({ isolations, attested, ipv4 }: Measured): Readonly<Record<string, Control>> {
  const all = Object.entries(isolations);
  const agents = all.map(([, { agent }]) => agent);
  const findings = all.map(([name, seen]) => ({ name, findings: judgeIsolation(seen) }));
  const weak = findings.flatMap(({ name, findings }) =>
    KEYED_ACTS.filter((act) => !isKey(findings[act].stopped_by)).map((act) =>
      `${act} in ${name}: ${findings[act].stopped_by}`
    )
  );
  const ungranted = agents.flatMap((agent) => [...agent?.tools.fetch ?? ["untried"], ...agent?.tools.spawn ?? []]);
  const cross = agents.map((agent) => agent?.copied === true && agent.overArgs === "budget");
  const over = agents.flatMap((agent) => [agent?.overArgs ?? "untried", agent?.overResult ?? "untried"]);
  const processBounds = BOUNDED_ACTS.filter((act) =>
    judgeBounded(isolations.process.ends[act]).stopped_by === "nothing" ||
    isolations.process.ends[act] === undefined
  );
  return {
    tools: control("explicit_registry", {
      held: ungranted.every((outcome) => outcome === "denied"),
      evidence: `calls of tools that were not granted: ${unique(ungranted)}`,
    }),
    ambient_authority: control("denied_by_default", {
      held: weak.length === 0,
      evidence: weak.length === 0 ? "every act past the tools was stopped in every isolation" : weak.join("; "),
    }),
    clone_payload_bytes: control("enforced", {
      held: cross.every((one) => one),
      evidence: `arguments came back as copies: ${
        unique(agents.map((agent) => String(agent?.copied ?? "untried")))
      }; ` +
        `more bytes than their budget: ${unique(agents.map((agent) => agent?.overArgs ?? "untried"))}`,
    }),
    tool_payload_budget: control("enforced", {
      held: over.every((outcome) => outcome === "budget"),
      evidence: `calls over the budgets of arguments and results: ${unique(over)}`,
    }),
    attestation: control("attested", {
      held: attested.length > 0 && attested.every((refused) => (refused?.length ?? 0) > 0),
      evidence: `each host was refused: ${unique(attested.flatMap((refused) => refused ?? ["nothing"]))}`,
    }),
    ipv4_binding: control("bound", {
      held: ipv4,
      evidence: ipv4 ? "the client of the network tools failed to try IPv6" : "a host did not prove it",
    }),
    audit_log: control("authentic", {
      held: all.every(([, { logAuthentic }]) => logAuthentic),
      evidence: `logs that verify against their heads: ${
        all.filter(([, { logAuthentic }]) => logAuthentic).length
      } of ${all.length}`,
    }),
    process_bounds: control("enforced", {
      held: processBounds.length === 0,
      evidence: processBounds.length === 0
        ? "a spinning agent, a full heap and large buffers each ended"
        : `not ended: ${processBounds.join(", ")}`,
    }),
  };
}

function control(word: string, { held, evidence }: { held: boolean; evidence: string }): Control {
  return { value: held ? word : "not_enforced", held, required: true, evidence };
}

function isKey(stoppedBy: StoppedBy): boolean {
  return stoppedBy === "both" || stoppedBy === "key 1" || stoppedBy === "key 2";
}

function unique(words: readonly string[]): string {
  return [...new Set(words)].join(", ");
}
