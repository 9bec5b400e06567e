/**
 * What would hold in a project: its default policy, compiled, and what is wrong with it.
 *
 * @module
 */
import { DEFAULT_POLICY } from "../authority/names.ts";
import { DataError, TwokeyError } from "../errors.ts";
import { prepareRun } from "../launch/prepare.ts";
import type { Plan } from "../plan/plan.ts";
import { findProject, loadPolicy } from "../policy/load.ts";
import { assertLocked, findLock } from "../policy/lock.ts";

/** Something that does not work, and what to do. */
export interface Problem {
  readonly problem: string;
  readonly fix: string | null;
}

/** What would hold in a project. */
export interface ProjectReport {
  /** Absolute path of the policy; `null` where there is none. */
  readonly policy: string | null;
  /** SHA-256 of the policy's canonical JSON. */
  readonly digest: string | null;
  readonly isolation: string | null;
  /** How many of each the plan grants or keeps. */
  readonly counts: Readonly<Record<string, number>> | null;
  /** `ok`: the lock is what was compiled. */
  readonly lock: "none" | "ok" | "drifted" | "unknown";
  readonly problems: readonly Problem[];
  /** Where the state of this project is kept; `null` where that is not known. */
  readonly state: string | null;
  readonly project: string;
}

/** Compiles the default policy of a project, bundles its agent and compares its lock. Starts nothing. */
export async function examineProject(folder: string): Promise<ProjectReport> {
  const problems: Problem[] = [];
  let project = folder;
  const empty = { policy: null, digest: null, isolation: null, counts: null, lock: "none" as const, state: null };
  let policy: string;
  try {
    const real = await Deno.realPath(folder);
    project = findProject(real);
    const found = await firstFile([`${real}/${DEFAULT_POLICY}`, `${project}/${DEFAULT_POLICY}`]);
    if (found === undefined) {
      problems.push({ problem: `there is no ${DEFAULT_POLICY}`, fix: "Run twokey init in the project" });
      return { ...empty, project, problems };
    }
    policy = found;
  } catch {
    problems.push({
      problem: "the folder cannot be reached",
      fix: "Name a folder that exists and that this user may read",
    });
    return { ...empty, project, problems };
  }
  try {
    const loaded = await loadPolicy(policy);
    const prepared = await prepareRun(loaded);
    const { plan, places } = prepared;
    let lock: ProjectReport["lock"] = "none";
    if (await findLock(loaded) !== undefined) {
      try {
        await assertLocked(prepared);
        lock = "ok";
      } catch (error) {
        lock = "drifted";
        problems.push(problemOf(error));
      }
    }
    const known = {
      policy,
      digest: plan.policy.sha256,
      isolation: plan.isolation,
      counts: countsOf(plan),
      state: places.state,
    };
    return { ...known, lock, problems, project };
  } catch (error) {
    problems.push(...problemsOf(error));
    return { ...empty, policy, lock: "unknown", project, problems };
  }
}

function countsOf(plan: Plan): Record<string, number> {
  const endpoints = Object.values(plan.tools).flatMap((tool) => Object.keys(tool.endpoints));
  return {
    tools: Object.keys(plan.tools).length,
    read_roots: plan.fs.read.length,
    write_roots: plan.fs.write.length,
    endpoints: endpoints.length,
    recorded_answers: plan.network.fixtures.length + (plan.model?.fixture ? 1 : 0),
    variables: plan.env.length,
    protected: plan.fs.protected.length,
    secret: plan.fs.secret.length,
    gate_rules: plan.gate.length,
    accepted_risks: plan.unsafe.length,
  };
}

function problemsOf(error: unknown): Problem[] {
  if (error instanceof DataError && "issues" in error) {
    return (error.issues as readonly { message: string; fix?: string }[])
      .map(({ message, fix }) => ({ problem: message, fix: fix ?? null }));
  }
  return [problemOf(error)];
}

function problemOf(error: unknown): Problem {
  if (error instanceof DataError) return { problem: error.message, fix: error.fix ?? null };
  if (error instanceof TwokeyError) return { problem: error.message, fix: null };
  throw error;
}

async function firstFile(paths: readonly string[]): Promise<string | undefined> {
  for (const path of new Set(paths)) {
    try {
      if ((await Deno.stat(path)).isFile) return path;
    } catch {
      // not there
    }
  }
  return undefined;
}
