/**
 * The whole examination: the machine, the probes, and a project where one is named.
 *
 * @module
 */
import { assertPlatform } from "../launch/platform.ts";
import { findBaseSystem } from "../launch/spawn.ts";
import { type Isolation, ISOLATIONS } from "../plan/plan.ts";
import { PROVEN_DENO } from "../policy/lock.ts";
import { placesOf } from "../policy/places.ts";
import { type Act, type Control, type Finding, judgeControls, judgeIsolation } from "./judge.ts";
import { type Fact, gatherFacts, type Machine, thisMachine } from "./platform.ts";
import { probe, type Probed } from "./probe.ts";
import { examineProject, type Problem, type ProjectReport } from "./project.ts";

/** Everything that was found out. */
export interface Examination {
  readonly deno: string;
  /** Whether the escape suite passed on this version of Deno. */
  readonly proven: boolean;
  readonly platform: string;
  readonly facts: readonly Fact[];
  readonly isolations: Readonly<Record<Isolation, Readonly<Record<Act, Finding>>>>;
  readonly controls: Readonly<Record<string, Control>>;
  readonly project: ProjectReport | undefined;
  readonly problems: readonly Problem[];
  /** Whether every required control held and nothing required is missing. */
  readonly held: boolean;
  readonly elapsedMs: number;
}

/** Options of {@linkcode examine}. */
export interface ExamineOptions {
  /** Folder of the project to examine as well. */
  readonly project?: string;
  readonly onStep?: (done: number, of: number) => void;
  /** Tests replace these two. */
  readonly machine?: Machine;
  readonly probe?: typeof probe;
}

/** Examines this machine. @throws {ControlError} `control_platform` where nothing could run. */
export async function examine(options: ExamineOptions = {}): Promise<Examination> {
  assertPlatform();
  const startedMs = performance.now();
  const project = options.project === undefined ? undefined : await examineProject(options.project);
  const base = await findBaseSystem();
  const here = await placesOf(project?.project ?? await Deno.realPath(Deno.cwd()), (name) => Deno.env.get(name));
  const folders: Record<string, string> = { "state folder": here.state };
  if (project?.policy !== null && project !== undefined) folders["audit folder"] = `${project.project}/.twokey/runs`;
  const [facts, probed] = await Promise.all([
    gatherFacts(options.machine ?? thisMachine(), folders),
    (options.probe ?? probe)(base, options.onStep === undefined ? {} : { onStep: options.onStep }),
  ]);
  const controls = judgeControls(probed);
  const problems = [...problemsOf(facts, controls, probed), ...project?.problems ?? []];
  const held = Object.values(controls).every(({ held, required }) => held || !required) &&
    facts.every(({ present, required }) => present || !required);
  return {
    deno: Deno.version.deno,
    proven: PROVEN_DENO.includes(Deno.version.deno),
    platform: `${Deno.build.os}-${Deno.build.arch}`,
    facts,
    isolations: Object.fromEntries(
      ISOLATIONS.map((isolation) => [isolation, judgeIsolation(probed.isolations[isolation])]),
    ) as Examination["isolations"],
    controls,
    project,
    problems,
    held,
    elapsedMs: Math.round(performance.now() - startedMs),
  };
}

function problemsOf(
  facts: readonly Fact[],
  controls: Readonly<Record<string, Control>>,
  { troubles }: Probed,
): Problem[] {
  const problems: Problem[] = [];
  for (const [name, { held, evidence }] of Object.entries(controls)) {
    if (!held) {
      problems.push({
        problem: `the control ${name} did not hold: ${evidence}`,
        fix: "Run nothing here before it holds",
      });
    }
  }
  for (const problem of troubles) problems.push({ problem, fix: null });
  for (const { name, present, required, means, fix } of facts) {
    if (!present && required) problems.push({ problem: `${name}: ${means}`, fix });
  }
  if (!PROVEN_DENO.includes(Deno.version.deno)) {
    const problem = `the escape suite has not passed on Deno ${Deno.version.deno}`;
    problems.push({ problem, fix: `Use Deno ${PROVEN_DENO.join(" or ")}` });
  }
  return problems;
}

/** The examination as JSON: the controls by name at the top and in `controls`, then everything else. */
export function examinationJson(found: Examination): Record<string, unknown> {
  const values = Object.fromEntries(Object.entries(found.controls).map(([name, { value }]) => [name, value]));
  const { tools, ambient_authority, clone_payload_bytes, tool_payload_budget } = values;
  return {
    type: "agent_doctor",
    held: found.held,
    tools,
    ambient_authority,
    clone_payload_bytes,
    tool_payload_budget,
    controls: values,
    evidence: Object.fromEntries(Object.entries(found.controls).map(([name, { evidence }]) => [name, evidence])),
    isolations: found.isolations,
    deno: found.deno,
    deno_proven: found.proven,
    platform: found.platform,
    facts: found.facts,
    ...(found.project === undefined ? {} : { project: found.project }),
    problems: found.problems,
    elapsed_ms: found.elapsedMs,
  };
}
