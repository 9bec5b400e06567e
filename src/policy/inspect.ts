/**
 * Gathers what the compiler needs to know of this machine, so that the compiler itself is pure.
 *
 * @module
 */
import { isJsonObject, type JsonObject, sha256 } from "../json.ts";
import { pathProblem, resolvePath } from "../authority/path.ts";
import type { Places } from "../plan/plan.ts";
import { SKILL_FILE } from "../plan/skill_plan.ts";
import type { EventSchemaFact, EventSchemaSource } from "./event_schema_fact.ts";
import { isTracked } from "./git_index.ts";
import type { LoadedPolicy } from "./load.ts";
import { addFix, type LockedPackages, lockedPackages, PACKAGE_LOCKS, type PackageProblem } from "./package_lock.ts";
import { type ProgramFact, readProgram } from "./program_fact.ts";
import { maybeLstat, realOf } from "./real_path.ts";
import { skillsOf } from "./check_skills.ts";
import type { SkillFact } from "./skill_fact.ts";
import type { Policy } from "./schema.ts";

/** What a path of the policy is, now, on this machine. */
export interface PathFact {
  /** Absolute and normal, links not followed. */
  readonly path: string;
  /** With every link followed; for something missing, the nearest folder above it that exists and the rest as written. */
  readonly real: string;
  readonly kind: "file" | "directory" | "other" | "missing";
}

/** Everything the compiler knows of this machine. */
export interface Facts {
  readonly places: Places;
  /** Today, `YYYY-MM-DD` in UTC. */
  readonly today: string;
  /** Deno's cache folder, absolute; `null` where it is not known. */
  readonly denoDir: string | null;
  /** By JSON Pointer into the policy; a path that is malformed as text has no fact. */
  readonly paths: ReadonlyMap<string, PathFact>;
  /** SHA-256 of each fixture and certificate that could be read, by JSON Pointer. */
  readonly inputs: ReadonlyMap<string, string>;
  /** What each skill is, by its JSON Pointer; one that cannot be read has no fact. */
  readonly skills: ReadonlyMap<string, SkillFact>;
  /** What each program is, by the JSON Pointer of its path; one that cannot be read has no fact. */
  readonly programs: ReadonlyMap<string, ProgramFact>;
  /** What each schema of an expected event is, by its JSON Pointer; a file that cannot be read has no fact. */
  readonly eventSchemas: ReadonlyMap<string, EventSchemaFact>;
  /** JSON Pointers of the paths that hold what the runner writes and that git tracks. */
  readonly tracked: ReadonlySet<string>;
  /** What the project's lock says of the packages that the policy lists; `null` where it lists none. */
  readonly packages: LockedPackages | PackageProblem | null;
}

/** Options of {@linkcode inspect}. */
export interface InspectOptions {
  readonly places: Places;
  readonly denoDir?: string | null;
  /** Milliseconds since the Unix epoch; decides what has expired. */
  readonly nowMs: number;
  /** Where files are looked at; default: the disk. */
  readonly view?: FileView;
}

/** A place where files can be looked at: the disk, or a revision of a repository. Paths are absolute and normal. */
export interface FileView {
  lookAt(path: string): PathFact | Promise<PathFact>;
  /** SHA-256 of a file's bytes; `null` where it cannot be read. */
  hashFile(path: string): Promise<string | null>;
  /** A file's bytes; `null` where it cannot be read. */
  readFile(path: string): Promise<Uint8Array<ArrayBuffer> | null>;
}

/** The disk. */
const DISK: FileView = Object.freeze({ lookAt, hashFile, readFile });

/** Largest file that the launcher reads for the host, in bytes. */
export const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** Looks at every path of a policy. Reads fixtures; never throws for what it finds, the compiler does. */
export async function inspect(loaded: LoadedPolicy, options: InspectOptions): Promise<Facts> {
  const paths = new Map<string, PathFact>();
  const inputs = new Map<string, string>();
  const programs = new Map<string, ProgramFact>();
  const tracked = new Set<string>();
  const { view = DISK } = options;
  const skills = new Map<string, SkillFact>();
  for (const { at, path } of skillsOf(loaded.policy, options.places.project)) {
    if (pathProblem(path) !== null) continue;
    const fact = await view.lookAt(resolvePath(loaded.base, path));
    paths.set(at, fact);
    const skill = await skillIn(view, fact);
    if (skill !== null) skills.set(at, skill);
  }
  const eventSchemas = new Map<string, EventSchemaFact>();
  const addSchema = async (pointer: string, source: EventSchemaSource) => {
    const { readEventSchema } = await import("./event_schema_fact.ts");
    eventSchemas.set(pointer, await readEventSchema(source));
  };
  for (const [pointer, value] of inlineSchemas(loaded.policy)) {
    await addSchema(pointer, { value, positionOf: (at) => loaded.positionOf(pointer + at) });
  }
  for (const [pointer, text] of pathsOf(loaded.policy)) {
    if (pathProblem(text) !== null) continue;
    const fact = await view.lookAt(resolvePath(loaded.base, text));
    paths.set(pointer, fact);
    if ((pointer === "/network/cache/dir" || pointer === "/session/file") && isTracked(fact.real)) tracked.add(pointer);
    if (/^\/(?:network\/(?:fixtures\/|ca\/file$)|model\/fixture$)/.test(pointer) && fact.kind === "file") {
      const hash = await view.hashFile(fact.real);
      if (hash !== null) inputs.set(pointer, hash);
    }
    if (pointer.startsWith("/expectEvents/") && fact.kind === "file") {
      const bytes = await view.readFile(fact.real);
      if (bytes !== null) await addSchema(pointer, { bytes, file: text });
    }
    if (pointer.startsWith("/process/commands/") && fact.kind === "file") {
      const program = await readProgram(fact.real) ?? await programInView(view, fact.real);
      if (program !== null) programs.set(pointer, program);
    }
  }
  return {
    places: options.places,
    today: new Date(options.nowMs).toISOString().slice(0, 10),
    denoDir: options.denoDir ? realOf(resolvePath("/", options.denoDir)) : null,
    paths,
    inputs,
    programs,
    skills,
    eventSchemas,
    tracked,
    packages: await readPackages(loaded.policy.packages ?? [], options.places.project, view),
  };
}

/**
 * What the project's lock says of some packages: `deno.lock` where the project has one, else `package-lock.json`.
 *
 * @param project Absolute path of the project.
 * @returns `null` where no package is named; a problem where there is no lock, or none that can be used.
 */
export async function readPackages(
  names: readonly string[],
  project: string,
  view: FileView = DISK,
): Promise<LockedPackages | PackageProblem | null> {
  if (names.length === 0) return null;
  for (const lock of PACKAGE_LOCKS) {
    const text = await lockText(view, resolvePath(project, lock));
    if (text !== null) return lockedPackages(lock, text, names);
  }
  return {
    problem: `the project has neither ${PACKAGE_LOCKS.join(" nor ")}`,
    fix: addFix("deno.lock", names[0] ?? ""),
  };
}

/** What each program of a policy is, by the name that agents use. */
export function programsOf({ programs }: Facts): Record<string, ProgramFact> {
  const found = [...programs].map(([pointer, fact]): [string, ProgramFact] => [pointer.split("/")[3] ?? "", fact]);
  return Object.fromEntries(found.toSorted(([a], [b]) => a < b ? -1 : 1));
}

/** Every path that a policy names, with its JSON Pointer. */
function pathsOf(policy: Policy): [pointer: string, path: string][] {
  const found: [string, string][] = [];
  if (policy.agent !== undefined) found.push(["/agent", policy.agent]);
  for (const [i, { root }] of (policy.fs?.read ?? []).entries()) found.push([`/fs/read/${i}/root`, root]);
  for (const [i, { root }] of (policy.fs?.write ?? []).entries()) found.push([`/fs/write/${i}/root`, root]);
  for (const [i, path] of (policy.network?.fixtures ?? []).entries()) found.push([`/network/fixtures/${i}`, path]);
  if (policy.network?.cache?.dir !== undefined) found.push(["/network/cache/dir", policy.network.cache.dir]);
  if (policy.model?.fixture !== undefined) found.push(["/model/fixture", policy.model.fixture]);
  const ca = policy.network?.ca;
  if (ca !== undefined && "file" in ca) found.push(["/network/ca/file", ca.file]);
  if (typeof policy.session === "object" && policy.session.file !== undefined) {
    found.push(["/session/file", policy.session.file]);
  }
  for (const [kind, expected] of Object.entries(policy.expectEvents ?? {})) {
    if (typeof expected === "object" && typeof expected.schema === "string") {
      found.push([`/expectEvents/${kind}/schema`, expected.schema]);
    }
  }
  for (const [name, { path }] of Object.entries(policy.process?.commands ?? {})) {
    found.push([`/process/commands/${name}/path`, path]);
  }
  for (const [i, path] of (policy.process?.cwd ?? []).entries()) found.push([`/process/cwd/${i}`, path]);
  for (const [i, { root }] of (policy.unsafe?.outside ?? []).entries()) {
    found.push([`/unsafe/outside/${i}/root`, root]);
  }
  return found;
}

/** Every schema that stands in a policy itself, with its JSON Pointer. */
function inlineSchemas(policy: Policy): [pointer: string, schema: JsonObject][] {
  return Object.entries(policy.expectEvents ?? {}).flatMap(([kind, expected]) =>
    typeof expected === "object" && isJsonObject(expected.schema)
      ? [[`/expectEvents/${kind}/schema`, expected.schema] as [string, JsonObject]]
      : []
  );
}

/**
 * Says what an absolute, normal path is. Synchronous: a handful of look-ups costs less than handing them to the thread
 * pool and back, and the launcher has nothing else to do yet.
 */
export function lookAt(path: string): PathFact {
  const real = realOf(path);
  try {
    const { isFile, isDirectory } = Deno.statSync(path);
    return { path, real, kind: isFile ? "file" : isDirectory ? "directory" : "other" };
  } catch {
    // a dangling link, or something that cannot be reached, is not the same as nothing
    const leaf = maybeLstat(path);
    return { path, real, kind: leaf === "missing" ? "missing" : "other" };
  }
}

/** The skill that a path names: a file, or the regular one in a folder. No link is followed. */
async function skillIn(view: FileView, fact: PathFact): Promise<SkillFact | null> {
  const file = fact.kind === "directory" ? await view.lookAt(`${fact.path}/${SKILL_FILE}`) : fact;
  if (file.kind !== "file" || (file !== fact && file.real !== `${fact.real}/${SKILL_FILE}`)) return null;
  const bytes = await view.readFile(file.real);
  if (bytes === null) return null;
  const { readSkill } = await import("./skill_fact.ts");
  return await readSkill(file.path, bytes);
}

/** A program that only a revision has: what can be known of it is its digest. */
async function programInView(view: FileView, path: string): Promise<ProgramFact | null> {
  if (view === DISK) return null;
  const sha256 = await view.hashFile(path);
  if (sha256 === null) return null;
  return { sha256, kind: "binary", setsUser: false, identity: { dev: 0, ino: 0, size: 0, mtimeMs: 0 } };
}

/** Text of a lock; `null` where there is none, or a link: that could be anybody's. */
async function lockText(view: FileView, path: string): Promise<string | null> {
  const { kind, real } = await view.lookAt(path);
  const bytes = kind === "file" && real === path ? await view.readFile(path) : null;
  try {
    return bytes === null ? null : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

async function readFile(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    if ((await Deno.stat(path)).size > MAX_INPUT_BYTES) return null;
    return await Deno.readFile(path);
  } catch {
    return null;
  }
}

async function hashFile(path: string): Promise<string | null> {
  const bytes = await readFile(path);
  return bytes === null ? null : await sha256(bytes);
}
