/// <reference types="../../agent.d.ts" />
/**
 * Finds the npm packages that a project locks.
 *
 * @module
 */

/** One locked package. */
export type LockedPackage = {
  readonly name: string;
  readonly version: string;
  /** Checksum as the lock writes it, `sha512-…`; `null` where it has none. */
  readonly integrity: string | null;
  /** Whether the project's own configuration names it. */
  readonly direct: boolean;
};

/** What was found. */
export type FoundPackages = {
  /** Without doubles, sorted by name and version. */
  readonly packages: readonly LockedPackage[];
  /** The files it was found in. */
  readonly sources: readonly { readonly path: string; readonly source_hash: string }[];
  /** Locked dependencies of other kinds. */
  readonly notReviewed: { readonly jsr: number; readonly remote: number; readonly other: number };
};

type Entry = Omit<LockedPackage, "direct">;

/** Files that are looked for in the project's folder. */
const WANTED = ["deno.json", "deno.jsonc", "package.json", "deno.lock", "package-lock.json"];

/** Lists the project, reads what it locks, and puts it together. A lock that cannot be read is an error. */
export async function findPackages(): Promise<FoundPackages> {
  const { files } = await callTool("listFiles");
  const sources: { path: string; source_hash: string }[] = [];
  const found = new Map<string, Entry>();
  const direct = new Set<string>();
  const notReviewed = { jsr: 0, remote: 0, other: 0 };
  for (const wanted of WANTED) {
    const file = files.find(({ path }) => path === wanted);
    if (file === undefined) continue;
    if (!file.readable) throw new Error(`Cannot review ${wanted}: it is not readable (${file.reason})`);
    const { content, source_hash } = await callTool("readFile", { path: wanted });
    sources.push({ path: wanted, source_hash });
    if (!wanted.includes("lock")) {
      for (const name of namedPackages(wanted, content)) direct.add(name);
      continue;
    }
    const lock = parseObject(wanted, content);
    const { entries, jsr, remote, other } = wanted === "deno.lock" ? readDenoLock(lock) : readPackageLock(lock);
    notReviewed.jsr += jsr;
    notReviewed.remote += remote;
    notReviewed.other += other;
    for (const entry of entries) {
      const key = `${entry.name}@${entry.version}`;
      const known = found.get(key);
      if (known === undefined || known.integrity === null) found.set(key, entry);
    }
  }
  const packages = [...found.values()]
    .sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version))
    .map((entry) => ({ ...entry, direct: direct.has(entry.name) }));
  return { packages, sources, notReviewed };
}

type LockContent = {
  readonly entries: readonly Entry[];
  readonly jsr: number;
  readonly remote: number;
  readonly other: number;
};

/** Reads a deno.lock of version 3 to 5. Keys are `name@version`, with `_peer@version` for each peer that was chosen. */
export function readDenoLock(lock: JsonObject): LockContent {
  const npm = objectOf(lock.npm ?? objectOf(lock.packages).npm);
  const jsr = objectOf(lock.jsr ?? objectOf(lock.packages).jsr);
  const entries: Entry[] = [];
  let other = 0;
  for (const [key, value] of Object.entries(npm)) {
    const match = /^((?:@[^@/]+\/)?[^@/]+)@([^_]+)/.exec(key);
    if (match === null) {
      other++;
      continue;
    }
    const [, name = "", version = ""] = match;
    entries.push({ name, version, integrity: textOf(objectOf(value).integrity) });
  }
  return { entries, jsr: Object.keys(jsr).length, remote: Object.keys(objectOf(lock.remote)).length, other };
}

/** Reads a package-lock.json of version 1 to 3. */
export function readPackageLock(lock: JsonObject): LockContent {
  const entries: Entry[] = [];
  let other = 0;
  const add = (name: string, value: JsonObject): void => {
    const version = textOf(value.version);
    const resolved = textOf(value.resolved) ?? "https:";
    if (version === null || !/^\d/.test(version) || !resolved.startsWith("https:")) other++;
    else entries.push({ name, version, integrity: textOf(value.integrity) });
  };
  for (const [path, raw] of Object.entries(objectOf(lock.packages))) {
    const value = objectOf(raw);
    const at = path.lastIndexOf("node_modules/");
    // The project itself and the members of a workspace are no packages of the registry.
    if (at < 0 || value.link === true) continue;
    add(textOf(value.name) ?? path.slice(at + "node_modules/".length), value);
  }
  if (lock.packages === undefined) {
    const waiting = [objectOf(lock.dependencies)];
    for (let level = waiting.pop(); level !== undefined; level = waiting.pop()) {
      for (const [name, raw] of Object.entries(level)) {
        const value = objectOf(raw);
        add(name, value);
        waiting.push(objectOf(value.dependencies));
      }
    }
  }
  return { entries, jsr: 0, remote: 0, other };
}

/** Names of the packages that a configuration file names itself; deno.json may hold comments, so it is not parsed. */
function namedPackages(file: string, text: string): readonly string[] {
  if (file !== "package.json") {
    return [...text.matchAll(/"npm:\/?((?:@[^@/"]+\/)?[^@/"]+)/g)].map(([, name = ""]) => name);
  }
  const manifest = parseObject(file, text);
  return ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"]
    .flatMap((block) => Object.keys(objectOf(manifest[block])));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function parseObject(file: string, text: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`Cannot review ${file}: it is not JSON`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`Cannot review ${file}: it is not an object`);
  }
  return value as JsonObject;
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as JsonObject : {};
}

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
