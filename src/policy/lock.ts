/**
 * The lock: what a reviewed policy compiled to, beside the policy, so that a run can refuse everything that differs.
 *
 * @module
 */
import * as v from "valibot";
import { LOCK_FILE } from "../authority/names.ts";
import { CreateError, DataError } from "../errors.ts";
import { digest } from "../json.ts";
import type { Plan } from "../plan/plan.ts";
import type { LoadedPolicy } from "./load.ts";
import type { ProgramFact } from "./program_fact.ts";

/** The Deno versions that the escape suite passed on. */
export const PROVEN_DENO: readonly string[] = ["2.9.6"];

const MAX_BYTES = 1_048_576;
const POSITION = { file: LOCK_FILE, line: 1, column: 1 };
const FIX = "Run `twokey policy lock` and review what changed";
const sha256Schema = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits"));

const lockSchema: v.GenericSchema<unknown, Lock> = v.strictObject({
  version: v.literal(1),
  policy: sha256Schema,
  plan: sha256Schema,
  modules: v.record(v.string(), sha256Schema),
  tools: v.record(v.string(), sha256Schema),
  programs: v.record(v.string(), sha256Schema),
  skills: v.optional(v.record(v.string(), sha256Schema)),
  deno: v.pipe(v.array(v.string()), v.minLength(1)),
});

/** What a lock holds; every digest is a SHA-256 in 64 hexadecimal digits. */
export interface Lock {
  /** Version of this form. */
  readonly version: 1;
  /** Digest of the policy's canonical JSON. */
  readonly policy: string;
  /** Digest of the plan's canonical JSON. */
  readonly plan: string;
  /** Digest of each module of the agent, by its portable path. */
  readonly modules: Readonly<Record<string, string>>;
  /** Digest of the manifest of each granted tool, by name. */
  readonly tools: Readonly<Record<string, string>>;
  /** Digest of each granted program, by the name that agents use. */
  readonly programs: Readonly<Record<string, string>>;
  /** Digest of the file of each skill, by name; absent where the plan names none. */
  readonly skills?: Readonly<Record<string, string>> | undefined;
  /** Deno versions that the escape suite passed on. */
  readonly deno: readonly string[];
}

/** One thing that is not as it was locked. */
export interface Drift {
  /** What differs, for people: `agent module ${project}/agent.ts`. */
  readonly what: string;
  readonly change: "changed" | "added" | "removed";
}

/** What a lock is made from. */
export interface Lockable {
  /** The compiled policy that the lock is of. */
  readonly plan: Plan;
  /** What each granted program was when it was looked at, by its name; absent where the plan grants none. */
  readonly programs?: Readonly<Record<string, ProgramFact>>;
}

/** Derives the lock of a compiled policy. Pure but for the digest. */
export async function lockOf({ plan, programs = {} }: Lockable): Promise<Lock> {
  return {
    version: 1,
    policy: plan.policy.sha256,
    plan: await digest(plan),
    modules: Object.fromEntries((plan.agent?.modules ?? []).map(({ path, sha256 }) => [path, sha256])),
    tools: Object.fromEntries(Object.entries(plan.tools).map(([name, { manifest }]) => [name, manifest])),
    programs: Object.fromEntries(Object.entries(programs).map(([name, { sha256 }]) => [name, sha256])),
    ...(plan.skills === undefined
      ? {}
      : { skills: Object.fromEntries(Object.entries(plan.skills).map(([name, { sha256 }]) => [name, sha256])) }),
    deno: [...PROVEN_DENO],
  };
}

/** The text of a lock. */
export async function lockText(compiled: Lockable): Promise<string> {
  return `${JSON.stringify(await lockOf(compiled), null, 2)}\n`;
}

/** Compares a plan, about to run on Deno `version`, with its lock. An empty list means that nothing drifted. */
export async function driftOf(compiled: Lockable, lock: Lock, version: string): Promise<readonly Drift[]> {
  const now = await lockOf(compiled);
  const drift: Drift[] = [];
  if (now.policy !== lock.policy) drift.push({ what: "policy", change: "changed" });
  drift.push(...compareMaps("agent module", lock.modules, now.modules));
  drift.push(...compareMaps("tool", lock.tools, now.tools));
  drift.push(...compareMaps("program", lock.programs, now.programs));
  drift.push(...compareMaps("skill", lock.skills ?? {}, now.skills ?? {}));
  if (!lock.deno.includes(version)) {
    drift.push({ what: `Deno ${version}, not one of ${lock.deno.join(", ")}`, change: "changed" });
  }
  // The plan also holds what the others do not: protected places, fixtures, defaults of this version of twokey.
  if (drift.length === 0 && now.plan !== lock.plan) {
    drift.push({ what: "plan (a fixture, a certificate, a default or a protected place)", change: "changed" });
  }
  return drift;
}

function compareMaps(
  kind: string,
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): Drift[] {
  const drift: Drift[] = [];
  for (const name of [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()) {
    const was = Object.hasOwn(before, name) ? before[name] : undefined;
    const is = Object.hasOwn(after, name) ? after[name] : undefined;
    if (was === is) continue;
    drift.push({
      what: `${kind} ${name}`,
      change: was === undefined ? "added" : is === undefined ? "removed" : "changed",
    });
  }
  return drift;
}

/** Path of a policy's lock, if there is one; `undefined` for a policy of flags alone. */
export async function findLock({ file, base }: LoadedPolicy): Promise<string | undefined> {
  if (file === null) return undefined;
  const path = `${base}/${LOCK_FILE}`;
  try {
    await Deno.lstat(path);
    return path;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Reads a lock. @throws {DataError} If it is not one. */
export async function readLock(path: string): Promise<Lock> {
  const info = await Deno.lstat(path);
  if (!info.isFile || info.size > MAX_BYTES) {
    throw new DataError("lock_invalid", `Cannot read "${LOCK_FILE}": it is no regular file of at most 1 MiB`, {
      position: POSITION,
      fix: FIX,
    });
  }
  return parseLock(await Deno.readTextFile(path));
}

/** Parses a lock. @throws {DataError} If it is none. */
export function parseLock(text: string): Lock {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DataError("lock_invalid", `Cannot read "${LOCK_FILE}": it is not JSON`, {
      position: POSITION,
      fix: FIX,
      cause,
    });
  }
  const parsed = v.safeParse(lockSchema, value, { abortEarly: true });
  if (!parsed.success) {
    const where = v.getDotPath(parsed.issues[0]) ?? "its form";
    throw new DataError("lock_invalid", `Cannot read "${LOCK_FILE}": "${where}" is wrong`, {
      position: POSITION,
      fix: FIX,
    });
  }
  return parsed.output;
}

/** Refuses a plan that is not what its lock says. @throws {DataError} Naming everything that drifted. */
export async function assertLocked(
  { loaded, ...compiled }: Lockable & { readonly loaded: LoadedPolicy },
): Promise<void> {
  const path = await findLock(loaded);
  if (path === undefined) throw new DataError("lock_missing", `Cannot run locked: there is no ${LOCK_FILE}`);
  const drift = await driftOf(compiled, await readLock(path), Deno.version.deno);
  if (drift.length === 0) return;
  const list = drift.map(({ what, change }) => `  ${change}: ${what}`).join("\n");
  throw new DataError("lock_drift", `Cannot run locked: this is not what ${LOCK_FILE} says\n${list}`, {
    fix: "Review the change, then run `twokey policy lock` and commit the lock",
  });
}

/** Writes the lock of a compiled policy, whole or not at all; returns its path. */
export async function writeLock(
  { loaded, ...compiled }: Lockable & { readonly loaded: LoadedPolicy },
): Promise<string> {
  if (loaded.file === null) {
    throw new DataError("lock_no_file", "Cannot lock: a policy made of flags has no file to stand beside", {
      fix: "Write the policy into agent.policy.jsonc",
    });
  }
  const path = `${loaded.base}/${LOCK_FILE}`;
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    await Deno.writeTextFile(temporary, await lockText(compiled), { createNew: true });
    await Deno.rename(temporary, path);
  } catch (cause) {
    await Deno.remove(temporary).catch(() => {});
    throw new CreateError("lock_not_written", `Cannot write "${LOCK_FILE}": the folder of the policy is not writable`, {
      cause,
    });
  }
  return path;
}
