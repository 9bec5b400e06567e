/**
 * Tries out on this machine what each isolation stops: real runs of agents that attempt everything, and the same acts
 * once more where only Deno's permissions stand in the way.
 *
 * @module
 */
import { verifyAudit } from "../audit/reader.ts";
import { denoDirOf } from "../authority/deno_dir.ts";
import type { JsonObject } from "../json.ts";
import { makeChannels, openLauncherEnds } from "../launch/channels.ts";
import { endProcess } from "../launch/death.ts";
import { dropGroundwork, execute, type Executed, startGroundwork } from "../launch/execute.ts";
import { MANIFESTS } from "../launch/compile_policy.ts";
import { type PreparedRun } from "../launch/prepare.ts";
import { type BaseSystem, spawnAgent, spawnHost } from "../launch/spawn.ts";
import { hostFlags } from "../plan/flags.ts";
import { CANARY_VARIABLE } from "../plan/key1.ts";
import { type Budgets, type Isolation, ISOLATIONS, type Places } from "../plan/plan.ts";
import { compileLoaded } from "../policy/compile_loaded.ts";
import { type LoadedPolicy, loadPolicy } from "../policy/load.ts";
import { TWOKEY_DIR } from "../policy/places.ts";
import type { AgentReport, BoundedAct, Measured, RawResults, Seen } from "./judge.ts";
import probeAgentText from "./probe_agent.js" with { type: "text" };

/** Longest time for one of the processes that are started past a run. */
const RAW_MS = 5000;
/** Runs at the same time: more would measure each other. */
const PARALLEL = 2;
const OVER_ARGS = 8192;
const OVER_RESULT = 2048;

/** Budgets of the probe runs: small, so that reaching them takes no time. */
const BUDGETS: Partial<Budgets> = {
  toolArgBytes: 4096,
  toolResultBytes: 1024,
  toolTimeoutMs: 5000,
  wallMs: 15_000,
  cpuMs: 4000,
  heapMb: 128,
  rssMb: 512,
};

/** Agents that want more than they may have, and the budgets that make the bound near. */
const GREEDY: Readonly<Record<BoundedAct, { readonly code: string; readonly budgets: Partial<Budgets> }>> = {
  spin: { code: "for (;;);", budgets: { cpuMs: 700 } },
  heap: {
    code: "const all = []; for (;;) all.push(new Array(1000).fill(all.length));",
    budgets: { heapMb: 64, rssMb: 384 },
  },
  buffers: { code: "const all = []; for (;;) all.push(new Uint8Array(4194304).fill(1));", budgets: { rssMb: 256 } },
};

/** What the probes saw. */
export interface Probed extends Measured {
  /** Probes that did not come to their end, for people. */
  readonly troubles: readonly string[];
}

/** Runs every probe. Everything happens in one temporary folder, which is removed. */
export async function probe(
  base: BaseSystem,
  options: { onStep?(done: number, of: number): void } = {},
): Promise<Probed> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-doctor-" }));
  let reached = 0;
  const listener = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => new Response(`${++reached}`));
  try {
    return await new Prober(dir, base, listener.addr.port).all(options.onStep ?? (() => {}));
  } finally {
    await listener.shutdown();
    await Deno.remove(dir, { recursive: true });
  }
}

/** What was tried under the permissions of a host. */
interface RawHost {
  readonly host: RawResults;
  readonly worker: RawResults;
  /** Whether a worker of the host was kept from a file that the host has open. */
  readonly channel: true | string;
}

/** What the launcher writes into the channel, to see whether anything came before it. */
const MARK = new TextEncoder().encode(".");

/** A probe run with what is kept of it. */
interface Run {
  readonly executed: Executed;
  readonly logAuthentic: boolean;
}

class Prober {
  readonly #dir: string;
  readonly #base: BaseSystem;
  readonly #port: number;
  readonly #troubles: string[] = [];

  constructor(dir: string, base: BaseSystem, port: number) {
    this.#dir = dir;
    this.#base = base;
    this.#port = port;
  }

  async all(onStep: (done: number, of: number) => void): Promise<Probed> {
    const loaded = await this.#makeProject();
    const runs = new Map<string, Run | undefined>();
    const raw = new Map<string, RawResults | undefined>();
    const jobs: (() => Promise<void>)[] = [
      async () => void raw.set("agent", await this.#tried("agent past its host", () => this.#rawAgent(loaded))),
      async () => {
        const both = await this.#tried("host past its gate", () => this.#rawHost(loaded));
        raw.set("process host", both?.host);
        // Where agent code runs in the host's process it could reach what the host has open; no permission covers that.
        const log = both?.channel ?? "untried";
        raw.set("compartment host", both && { ...both.host, ...(log === true ? {} : { log }) });
        raw.set("worker", both && { ...both.worker, ...(log === true ? {} : { log }) });
      },
      ...ISOLATIONS.flatMap((isolation) => [
        async () => void runs.set(isolation, await this.#tried(isolation, () => this.#acts(loaded, isolation))),
        ...Object.entries(GREEDY).map(([act, { code, budgets }]) => async () => {
          const name = `${isolation} ${act}`;
          runs.set(name, await this.#tried(name, () => this.#run(loaded, { isolation, code, budgets, context: {} })));
        }),
      ]),
    ];
    await inParallel(jobs, (done) => onStep(done, jobs.length));
    const seen = (isolation: Isolation): Seen => {
      const run = runs.get(isolation);
      const value = run?.executed.end.value;
      const confined = {
        process: ["process host", "agent"],
        worker: ["process host", "worker"],
        compartment: ["compartment host"],
      };
      return {
        agent: value === undefined ? undefined : JSON.parse(value) as AgentReport,
        raw: confined[isolation].map((who) => raw.get(who)),
        logAuthentic: run?.logAuthentic ?? false,
        ends: {
          spin: runs.get(`${isolation} spin`)?.executed.end.reason,
          heap: runs.get(`${isolation} heap`)?.executed.end.reason,
          buffers: runs.get(`${isolation} buffers`)?.executed.end.reason,
        },
        trouble: run === undefined ? this.#troubles[0] : value === undefined ? run.executed.end.reason : undefined,
      };
    };
    const attestations = ISOLATIONS.map((isolation) => runs.get(isolation)?.executed.end.attestation);
    return {
      isolations: { process: seen("process"), worker: seen("worker"), compartment: seen("compartment") },
      attested: attestations.map((attestation) => attestation?.refused as readonly string[] | undefined),
      ipv4: attestations.every((attestation) => attestation?.ipv4 === true),
      troubles: this.#troubles,
    };
  }

  get #places(): Places {
    return { project: `${this.#dir}/project`, state: `${this.#dir}/state`, twokey: TWOKEY_DIR };
  }

  async #makeProject(): Promise<LoadedPolicy> {
    const { project } = this.#places;
    await Promise.all([
      Deno.mkdir(`${project}/out`, { recursive: true }),
      Deno.mkdir(`${this.#dir}/outside`),
      Deno.mkdir(`${this.#dir}/runs`),
    ]);
    const policy = {
      version: 1,
      tools: ["echo", "osv.query", "readFile", "writeArtifact"],
      fs: { read: [{ root: "." }], write: [{ root: "out" }] },
      budgets: BUDGETS,
    };
    const file = `${project}/agent.policy.jsonc`;
    await Promise.all([
      Deno.writeTextFile(`${project}/deno.json`, "{}"),
      Deno.writeTextFile(`${project}/allowed.md`, "allowed\n"),
      Deno.writeTextFile(`${project}/.env`, "SECRET=canary\n"),
      Deno.writeTextFile(`${this.#dir}/outside/secret.txt`, "canary\n"),
      Deno.writeTextFile(`${this.#dir}/runs/log.jsonl`, "{}\n"),
      Deno.writeTextFile(file, JSON.stringify(policy)),
    ]);
    return await loadPolicy(file);
  }

  async #prepare(loaded: LoadedPolicy, isolation: Isolation, budgets: Partial<Budgets> = {}): Promise<PreparedRun> {
    const { plan } = await compileLoaded(loaded, {
      manifests: MANIFESTS,
      places: this.#places,
      modules: [],
      env: (name) => Deno.env.get(name),
    });
    return {
      loaded,
      places: this.#places,
      plan: { ...plan, isolation, budgets: { ...plan.budgets, ...budgets } },
      programs: {},
      code: "",
    };
  }

  /** The run that tries every act that a key can stop. */
  #acts(loaded: LoadedPolicy, isolation: Isolation): Promise<Run> {
    const context = {
      outside: `${this.#dir}/outside/secret.txt`,
      fresh: `${this.#dir}/outside/${isolation}.txt`,
      log: `${this.#dir}/runs/log.jsonl`,
      secret: ".env",
      overArgs: OVER_ARGS,
      overResult: OVER_RESULT,
    };
    return this.#run(loaded, { isolation, code: probeAgentText, budgets: {}, context });
  }

  async #run(
    loaded: LoadedPolicy,
    options: {
      readonly isolation: Isolation;
      readonly code: string;
      readonly budgets: Partial<Budgets>;
      readonly context: JsonObject;
    },
  ): Promise<Run> {
    const { isolation, code, budgets, context } = options;
    const groundwork = startGroundwork();
    let prepared: PreparedRun;
    try {
      prepared = await this.#prepare(loaded, isolation, budgets);
      // Each run writes into a folder of its own: a file that another one made would stop it.
      const root = {
        ...prepared.plan.fs,
        write: [{ root: `\${project}/out/${crypto.randomUUID()}`, label: "out", rule: "/fs/write/0" }],
      };
      prepared = { ...prepared, code, plan: { ...prepared.plan, context, fs: root } };
    } catch (error) {
      await dropGroundwork(groundwork);
      throw error;
    }
    const executed = await execute(prepared, {
      groundwork,
      runsDir: `${this.#dir}/runs`,
      start: { command: "doctor" },
      onRecord: () => {},
      onStderr: () => {},
    });
    const verdict = await verifyAudit(executed.auditPath, { head: executed.end.head });
    return { executed, logAuthentic: verdict.verdict === "authentic" && verdict.finished };
  }

  #targets(who: string): JsonObject {
    return {
      read: `${this.#dir}/outside/secret.txt`,
      write: `${this.#dir}/outside/raw-${who}.txt`,
      port: this.#port,
      program: "/bin/true",
      // Set for the process, and granted to nobody.
      variable: who === "agent" ? "DENO_DIR" : CANARY_VARIABLE,
      log: `${this.#dir}/runs/log.jsonl`,
    };
  }

  /** The acts in an agent's process, without a host and with its whole realm. */
  async #rawAgent(loaded: LoadedPolicy): Promise<RawResults> {
    const { plan, places } = await this.#prepare(loaded, "process");
    const channels = await makeChannels();
    const ends = openLauncherEnds(channels);
    try {
      const boot = `${places.twokey}/src/doctor/raw_agent.js`;
      const child = spawnAgent(this.#base, channels, boot, plan.budgets);
      using pipe = await Deno.open(channels.hostToAgent, { write: true });
      await pipe.write(new TextEncoder().encode(`${JSON.stringify(this.#targets("agent"))}\n`));
      return await lastLine(child) as RawResults;
    } finally {
      ends.close();
    }
  }

  /** The acts under the very permissions of a host, and in a worker of it. */
  async #rawHost(loaded: LoadedPolicy): Promise<RawHost> {
    const { plan, places } = await this.#prepare(loaded, "worker");
    const channels = await makeChannels();
    try {
      // Open for both: neither this nor the other end ever waits.
      using channel = await Deno.open(channels.records, { read: true, write: true });
      const flags = hostFlags(plan, places, { extraWrite: [channels.records] });
      const said = await this.#startRawHost(places, [...flags], channels.records);
      await channel.write(MARK);
      const first = new Uint8Array(1);
      await channel.read(first);
      return { ...said, channel: first[0] === MARK[0] ? true : "an open channel could be written" };
    } finally {
      await Deno.remove(channels.dir, { recursive: true });
    }
  }

  async #startRawHost(places: Places, flags: readonly string[], channel: string): Promise<Omit<RawHost, "channel">> {
    const env = { [CANARY_VARIABLE]: "visible", DENO_DIR: denoDirOf((name) => Deno.env.get(name)) ?? "/dev/null/none" };
    const main = [`${places.twokey}/src/doctor/raw_host.js`, JSON.stringify(this.#targets("host")), channel];
    const child = spawnHost(this.#base, flags, main, { env, prefix: [] });
    return await lastLine(child) as Omit<RawHost, "channel">;
  }

  /** A probe that fails proves nothing; what it would have proven then counts as not held. */
  async #tried<T>(name: string, run: () => Promise<T>): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      this.#troubles.push(`the probe "${name}" failed: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }
}

/** Reads the JSON that a process writes on standard error, and sees to its end. */
async function lastLine(child: Deno.ChildProcess): Promise<unknown> {
  const timer = setTimeout(() => endProcess(child), RAW_MS);
  try {
    const text = await new Response(child.stderr).text();
    await child.status;
    const line = text.trimEnd().split("\n").findLast((one) => one.startsWith("{"));
    if (line === undefined) throw new Error(text.trim().slice(0, 300) || "it said nothing");
    return JSON.parse(line);
  } finally {
    clearTimeout(timer);
  }
}

async function inParallel(jobs: readonly (() => Promise<void>)[], onDone: (done: number) => void): Promise<void> {
  const waiting = [...jobs];
  let done = 0;
  const worker = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      await job();
      onDone(++done);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}
