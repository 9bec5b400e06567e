/**
 * The powers of a run's tools, put together from the parts of the host that the plan needs. A tool gets the members
 * that its declared authority asks for and no others.
 *
 * @module
 */
import { BugError } from "../errors.ts";
import type { Gate } from "../gate/decide.ts";
import type { JsonObject } from "../json.ts";
import type { Plan } from "../plan/plan.ts";
import type { BasePower } from "../tool/powers.ts";
import type { FullPowers, FullResolve, Tool } from "../tool/define.ts";
import type { Artifacts } from "./artifacts.ts";
import type { CallContext, RunContext } from "./context.ts";
import type { Models } from "./models.ts";
import type { Network } from "./network.ts";
import type { ProgramOptions, Programs } from "./programs.ts";
import { askPower, type HandQuestion } from "./questions.ts";
import { sleep } from "./retry.ts";
import type { Skills } from "./skills.ts";
import type { Source } from "./source.ts";
import type { Tasks } from "./tasks.ts";
import type { Changes } from "./workspace/changes.ts";
import type { Turn } from "./workspace/permits.ts";
import type { Workspace } from "./workspace/workspace.ts";
import { WrittenBytes } from "./written_bytes.ts";

/** The parts of the host that act on the world; each is loaded only if a granted tool needs it. */
export interface Parts {
  readonly source: Source | undefined;
  readonly artifacts: Artifacts | undefined;
  readonly workspace?: Workspace | undefined;
  readonly changes?: Changes | undefined;
  readonly network: Network | undefined;
  readonly models?: Models | undefined;
  readonly programs?: Programs | undefined;
  /** Hands questions to a person, by way of the launcher. */
  readonly questions?: HandQuestion | undefined;
  readonly skills?: Skills | undefined;
  readonly tasks?: Tasks | undefined;
}

/** What the parts of the host need beside the run. */
export interface PartOptions {
  /** Decides on each file that lies below a folder whose search was allowed. */
  readonly decide: Gate;
  readonly caPem?: string | undefined;
  readonly programs?: ProgramOptions | undefined;
  readonly questions?: HandQuestion | undefined;
  /** The list of tasks that the run before left. */
  readonly tasks?: JsonObject | undefined;
}

/** Loads the parts that a plan needs. */
export async function loadParts(
  run: RunContext,
  { decide, caPem, programs: options, questions, tasks: saved }: PartOptions,
): Promise<Parts> {
  const { plan } = run;
  const written = new WrittenBytes(plan.budgets.artifactBytes);
  const [source, artifacts, workspace, network, programs, skills, tasks] = await Promise.all([
    needsSource(plan) ? import("./source.ts").then(({ collectSource }) => collectSource(run)) : undefined,
    needsArtifacts(plan)
      ? import("./artifacts.ts").then(({ openArtifacts }) => openArtifacts(run, written))
      : undefined,
    needsWorkspace(plan)
      ? import("./workspace/workspace.ts").then(({ openWorkspace }) => openWorkspace(run, decide))
      : undefined,
    needsNetwork(plan)
      ? import("./network.ts").then(({ makeNetwork }) => makeNetwork(run, caPem === undefined ? {} : { caPem }))
      : undefined,
    options === undefined ? undefined : import("./programs.ts").then(({ makePrograms }) => makePrograms(run, options)),
    plan.skills === undefined ? undefined : import("./skills.ts").then(({ makeSkills }) => makeSkills(run)),
    needsTasks(plan) ? import("./tasks.ts").then(({ Tasks }) => new Tasks(run.now, saved)) : undefined,
  ]);
  network?.open();
  const models = await loadModels(run, network);
  const parts = { source, artifacts, workspace, network, models, programs, questions, skills, tasks };
  if (workspace === undefined || !needsChanges(plan)) return parts;
  const { openChanges } = await import("./workspace/changes.ts");
  return { ...parts, changes: openChanges({ run, observations: workspace.observations, written }) };
}

/** A provider is asked through the client of the network; recorded answers need none. */
async function loadModels(run: RunContext, network: Network | undefined): Promise<Models | undefined> {
  if (run.plan.model === undefined) return undefined;
  const { makeModels } = await import("./models.ts");
  return makeModels(run, {
    client: () => {
      if (network === undefined) {
        throw new BugError("bug_no_network", "Cannot ask a provider: the plan grants no endpoint");
      }
      return network.client();
    },
  });
}

function needsSource(plan: Plan): boolean {
  return Object.values(plan.tools).some(({ fs }) => fs === "read");
}

function needsArtifacts(plan: Plan): boolean {
  return Object.values(plan.tools).some(({ fs }) => fs === "write");
}

function needsWorkspace(plan: Plan): boolean {
  return Object.values(plan.tools).some(({ fs }) => fs === "browse" || fs === "edit");
}

function needsChanges(plan: Plan): boolean {
  return Object.values(plan.tools).some(({ fs }) => fs === "edit");
}

function needsTasks(plan: Plan): boolean {
  return Object.values(plan.tools).some(({ tasks }) => tasks === true);
}

function needsNetwork(plan: Plan): boolean {
  return Object.values(plan.tools).some(({ endpoints }) => Object.keys(endpoints).length > 0);
}

/** Hands out resolvers and powers. */
export class PowerBox {
  readonly #run: RunContext;
  readonly #parts: Parts;
  readonly #resolvers = new Map<string, FullResolve>();

  constructor(run: RunContext, parts: Parts) {
    this.#run = run;
    this.#parts = parts;
  }

  /** The resolver of a tool; the same for every call. */
  resolver(tool: Tool): FullResolve {
    const known = this.#resolvers.get(tool.name);
    if (known !== undefined) return known;
    const { source, artifacts, workspace, changes, network, models, programs, skills: texts } = this.#parts;
    const { fs, endpoints, model, process, skills } = tool.authority;
    const made = Object.freeze({
      ...(fs === "read" ? source?.resolve : undefined),
      ...(fs === "write" ? artifacts?.resolve : undefined),
      ...(fs === "browse" || fs === "edit" ? workspace?.resolver(fs) : undefined),
      ...(fs === "edit" ? changes?.resolve : undefined),
      ...(endpoints === undefined ? undefined : network?.resolver(tool.name)),
      ...(model === undefined ? undefined : models?.resolver(tool.name)),
      ...(process === true ? programs?.resolve : undefined),
      ...(skills === true ? texts?.resolve : undefined),
    }) as unknown as FullResolve;
    this.#resolvers.set(tool.name, made);
    return made;
  }

  /** The place of a call of a tool among those that touch the same files. */
  turn(name: string): Turn | undefined {
    const { changes } = this.#parts;
    const { tools } = this.#run.plan;
    return changes === undefined || !Object.hasOwn(tools, name) ? undefined : changes.turn(tools[name]?.fs);
  }

  /** The powers of one call. */
  powers(tool: Tool, call: CallContext): FullPowers {
    const { source, artifacts, workspace, changes, network, models, programs } = this.#parts;
    const { questions, skills: texts, tasks: list } = this.#parts;
    const { fs, endpoints, model, process, asks, skills, tasks } = tool.authority;
    const base = new BasePowers(this.#run, call);
    if ((fs ?? endpoints ?? model ?? process ?? asks ?? skills ?? tasks) === undefined) {
      return base as unknown as FullPowers;
    }
    return Object.assign(
      base,
      fs === "read" ? source?.power(call) : undefined,
      fs === "write" ? artifacts?.power(call) : undefined,
      fs === "browse" || fs === "edit" ? workspace?.power(fs, call) : undefined,
      fs === "edit" ? changes?.power(call) : undefined,
      endpoints === undefined ? undefined : network?.power(call, tool.limits),
      model === undefined ? undefined : models?.power(call, tool.limits),
      process === true ? programs?.power(call) : undefined,
      asks === true && questions !== undefined ? askPower(questions, call) : undefined,
      skills === true ? texts?.power(call) : undefined,
      tasks === true ? list?.power : undefined,
    ) as unknown as FullPowers;
  }
}

class BasePowers implements BasePower {
  readonly #run: RunContext;
  readonly #call: CallContext;

  constructor(run: RunContext, call: CallContext) {
    this.#run = run;
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  readonly now = (): number => this.#run.now();

  readonly sleep = (ms: number): Promise<void> => sleep(ms, this.#call.signal);

  readonly sha256 = (bytes: Uint8Array<ArrayBuffer>): string | Promise<string> => this.#run.sha256(bytes);

  readonly note: BasePower["note"] = (fields) => this.#call.note(fields);
}
