/**
 * First sight: what a policy grants that the last one which ran here did not. The memory is the user's own, outside the
 * project: a checkout that somebody else wrote cannot say that it was seen before.
 *
 * @module
 */
import { isInside } from "../authority/path.ts";
import { AuditError } from "../errors.ts";
import { canonical, sha256 } from "../json.ts";
import { defaultBudgets } from "../plan/budgets.ts";
import type { Change } from "../plan/change.ts";
import { comparePlans } from "../plan/compare.ts";
import type { Places, Plan } from "../plan/plan.ts";
import type { LoadedPolicy } from "../policy/load.ts";
import { isOwnAndClosed, makePrivateDir } from "./state_dir.ts";

/** Digests of policies that are remembered for one path, the newest last. */
const MAX_DIGESTS = 64;

/** Largest memory that is read, in bytes: a plan, and the digests. */
const MAX_BYTES = 16 * 1024 * 1024;

/** What is new about a policy on this machine. */
export interface FirstSight {
  /** Whether this digest of the policy has never run here. */
  readonly first: boolean;
  /** What the plan grants beyond the last one that ran here; everything where none did. */
  readonly gained: readonly Change[];
  /** Whether the plan is, to the byte, the last one that ran here: then there is nothing to remember. */
  readonly known: boolean;
}

/** The file of one policy. */
interface Memory {
  readonly version: 1;
  readonly policies: readonly string[];
  readonly plan: Plan;
}

/** What is looked at. */
interface Sighted {
  readonly loaded: LoadedPolicy;
  readonly plan: Plan;
  readonly places: Places;
}

/**
 * Looks whether a policy is new here. `null` for one that needs no look: flags, which are the operator's own words, and
 * the policies that come with twokey.
 */
export async function lookAtPolicy({ loaded, plan, places }: Sighted): Promise<FirstSight | null> {
  const { file } = loaded;
  if (file === null || isInside(`${places.twokey}/policies`, file)) return null;
  const memory = await recall(places.state, file);
  if (memory !== undefined && canonical(memory.plan) === canonical(plan)) {
    return { first: false, gained: [], known: true };
  }
  // The plan of another version of twokey may have another form; what it granted cannot be told.
  const gained = memory === undefined ? undefined : gainsOver(memory.plan, plan);
  if (memory === undefined || gained === undefined) {
    return { first: true, gained: gainsOver(nothingOf(plan), plan) ?? [], known: false };
  }
  return { first: !memory.policies.includes(plan.policy.sha256), gained, known: false };
}

/**
 * Remembers that a policy ran here.
 *
 * @throws {AuditError} If the state cannot be written, or its folder is not the user's own.
 */
export async function rememberPolicy({ loaded, plan, places }: Sighted): Promise<void> {
  const { file } = loaded;
  if (file === null) return;
  await makePrivateDir(places.state);
  await makePrivateDir(folderIn(places.state));
  const before = (await recall(places.state, file))?.policies ?? [];
  const policies = [...before.filter((digest) => digest !== plan.policy.sha256), plan.policy.sha256];
  const memory: Memory = { version: 1, policies: policies.slice(-MAX_DIGESTS), plan };
  const path = await pathIn(places.state, file);
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    await Deno.writeTextFile(temporary, JSON.stringify(memory), { createNew: true, mode: 0o600 });
    await Deno.rename(temporary, path);
  } catch (cause) {
    await Deno.remove(temporary).catch(() => {});
    throw new AuditError("state_unusable", "Cannot use the state folder: what ran here cannot be remembered", {
      cause,
    });
  }
}

function folderIn(state: string): string {
  return `${state}/seen`;
}

async function pathIn(state: string, file: string): Promise<string> {
  return `${folderIn(state)}/${await sha256(file)}.json`;
}

/** The memory of one policy; `undefined` where there is none, or none that the user alone could have written. */
async function recall(state: string, file: string): Promise<Memory | undefined> {
  const path = await pathIn(state, file);
  try {
    const [folder, info] = await Promise.all([Deno.lstat(folderIn(state)), Deno.lstat(path)]);
    if (
      !folder.isDirectory || !info.isFile || info.size > MAX_BYTES || !isOwnAndClosed(folder) || !isOwnAndClosed(info)
    ) {
      return undefined;
    }
    const memory = JSON.parse(await Deno.readTextFile(path)) as Partial<Memory> | null;
    const { version, policies, plan } = memory ?? {};
    if (version !== 1 || !Array.isArray(policies) || plan === undefined || plan.version !== 1) return undefined;
    return { version, policies: policies.filter((digest) => typeof digest === "string"), plan };
  } catch (error) {
    // What cannot be read was not seen: the question is asked once more.
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) return undefined;
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What `plan` gains; `undefined` where the base is not a plan of this form. */
function gainsOver(base: Plan, plan: Plan): readonly Change[] | undefined {
  try {
    return comparePlans(base, plan).filter(({ kind }) => kind === "gained");
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The plan that grants nothing, otherwise like `plan`. */
function nothingOf(plan: Plan): Plan {
  const { process: _process, packages: _packages, model: _model, skills: _skills, session: _session, ...others } = plan;
  return {
    ...others,
    isolation: "process",
    tools: {},
    fs: { ...plan.fs, read: [], write: [] },
    network: { fixtures: [], cache: null, retryAttempts: 0, proxy: null, ca: null, ipv6: false },
    budgets: defaultBudgets(),
    github: { repos: [] },
    credentials: {},
    env: [],
    unsafe: [],
  };
}
