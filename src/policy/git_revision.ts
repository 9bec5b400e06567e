/**
 * A revision of a git repository as a place to read policies from. Only `rev-parse`, `merge-base` and `cat-file` are
 * run, which start no program that a repository could name; the repository is somebody else's data all the same.
 *
 * @module
 */
import { isInside, relativeTo } from "../authority/path.ts";
import { ControlError, DataError, InputError } from "../errors.ts";
import { sha256 } from "../json.ts";
import type { FileView, PathFact } from "./inspect.ts";
import { lookAt } from "./inspect.ts";

/** Folders where git may be; the caller's `PATH` has no say. */
const GIT_PATHS = ["/usr/bin/git", "/bin/git", "/usr/local/bin/git", "/opt/homebrew/bin/git"];

/** Settings that win over every file: nothing is started, nothing is fetched, nothing of the user's is read. */
const SETTINGS = [
  "--no-pager",
  "-c",
  "core.fsmonitor=",
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "safe.directory=*",
  "-c",
  "protocol.allow=never",
];

const ENVIRONMENT = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_NO_LAZY_FETCH: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  LC_ALL: "C",
};

/** Largest object that is read. */
const MAX_OBJECT = 64 * 1024 * 1024;
const GIT_MS = 30_000;

/** A revision that was found. */
export interface Revision {
  /** As its caller named it. */
  readonly name: string;
  readonly commit: string;
  /** Absolute real path of the repository's work tree. */
  readonly top: string;
  readonly view: FileView;
  /** Text of a file by absolute path; `undefined` where the revision has no regular file there. */
  readText(path: string): Promise<string | undefined>;
  /** Ends the process that reads objects. */
  close(): void;
}

/**
 * Finds a revision. `A...B` names the newest commit that both have in common.
 *
 * @param folder Absolute folder inside the repository.
 * @throws {InputError} If there is no repository, or git cannot read it. @throws {ControlError} If git is missing.
 * @throws {DataError} `git_no_revision` if the repository does not have it, as in a shallow clone.
 */
export async function openRevision(folder: string, name: string): Promise<Revision> {
  const git = await findGit();
  const top = (await text(git, folder, ["rev-parse", "--show-toplevel"]))?.trim();
  if (top === undefined) throw new InputError("git_no_repository", "Cannot read a revision: this is no git repository");
  const commit = await findCommit(git, folder, name);
  const objects = new Objects(git, folder);
  const tree = await objects.read(`${commit}^{tree}`);
  if (tree === undefined) {
    objects.close();
    throw new InputError("git_unreadable", `Cannot read "${name}": its tree is missing`);
  }
  const root: Entry = { kind: "directory", id: `${commit}^{tree}` };
  const find = (path: string) => walk(objects, root, relativeTo(top, path));
  const readBytes = async (path: string) => {
    const entry = isInside(top, path) ? await find(path) : undefined;
    return entry?.kind === "file" ? await objects.read(entry.id) : undefined;
  };
  return {
    name,
    commit,
    top,
    view: {
      async lookAt(path): Promise<PathFact> {
        if (!isInside(top, path)) return lookAt(path);
        const entry = await find(path);
        // a link, or something below one, is not what its path says
        if (entry?.kind === "other") return { path, real: `${path} (link)`, kind: "other" };
        return { path, real: path, kind: entry?.kind ?? "missing" };
      },
      async hashFile(path) {
        const bytes = await readBytes(path);
        return bytes === undefined ? null : await sha256(bytes);
      },
    },
    async readText(path) {
      const bytes = await readBytes(path);
      return bytes === undefined ? undefined : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    },
    close: () => objects.close(),
  };
}

async function findGit(): Promise<string> {
  for (const path of GIT_PATHS) {
    try {
      if ((await Deno.stat(path)).isFile) return path;
    } catch {
      // not there
    }
  }
  throw new ControlError("control_no_git", "Cannot read a revision: git is missing");
}

async function findCommit(git: string, folder: string, name: string): Promise<string> {
  const [left, right, ...more] = name.split("...");
  if (left === undefined || more.length > 0 || name.startsWith("-")) throw noRevision(name);
  if (right === undefined) return await resolve(git, folder, left);
  const sides = [await resolve(git, folder, left || "HEAD"), await resolve(git, folder, right || "HEAD")] as const;
  const common = (await text(git, folder, ["merge-base", ...sides]))?.trim();
  if (common === undefined || common === "") throw noRevision(name);
  return common;
}

async function resolve(git: string, folder: string, name: string): Promise<string> {
  if (name === "" || name.startsWith("-")) throw noRevision(name);
  const commit = (await text(git, folder, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`]))
    ?.trim();
  if (commit === undefined || !/^[0-9a-f]{40,64}$/.test(commit)) throw noRevision(name);
  return commit;
}

function noRevision(name: string): DataError {
  return new DataError("git_no_revision", `Cannot find the revision "${name}": this clone does not have it`, {
    fix: "Name a branch or commit that is here; in GitHub Actions give actions/checkout `fetch-depth: 0`",
  });
}

function start(git: string, folder: string, args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(git, {
    args: [...SETTINGS, ...args],
    cwd: folder,
    clearEnv: true,
    env: ENVIRONMENT,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

async function text(git: string, folder: string, args: readonly string[]): Promise<string | undefined> {
  const child = start(git, folder, args);
  const timer = setTimeout(() => child.kill("SIGKILL"), GIT_MS);
  try {
    await child.stdin.close();
    const [status, output] = await Promise.all([child.status, new Response(child.stdout).text()]);
    return status.success ? output : undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** One name in a tree. */
interface Entry {
  readonly kind: "file" | "directory" | "other";
  readonly id: string;
}

async function walk(objects: Objects, root: Entry, path: string): Promise<Entry | undefined> {
  let at: Entry | undefined = root;
  for (const name of path.split("/").filter((part) => part !== "")) {
    if (at?.kind === "other") return at;
    if (at?.kind !== "directory") return undefined;
    const tree = await objects.read(at.id);
    at = tree === undefined ? undefined : entryOf(tree, name);
  }
  return at;
}

/** Finds a name in the bytes of a tree object: `<mode> <name>\0<20 or 32 bytes of id>`, repeated. */
function entryOf(tree: Uint8Array, name: string): Entry | undefined {
  const decoder = new TextDecoder();
  const idBytes = idLength(tree);
  for (let at = 0; at < tree.length;) {
    const space = tree.indexOf(0x20, at);
    const end = tree.indexOf(0, space);
    if (space < 0 || end < 0) return undefined;
    const mode = decoder.decode(tree.subarray(at, space));
    const found = decoder.decode(tree.subarray(space + 1, end));
    at = end + 1 + idBytes;
    if (found !== name) continue;
    const id = tree.slice(end + 1, at).toHex();
    return { kind: mode === "40000" ? "directory" : mode.startsWith("100") ? "file" : "other", id };
  }
  return undefined;
}

/** Length of an object id in this repository, found by trying: with the wrong one the tree does not parse to its end. */
function idLength(tree: Uint8Array): 20 | 32 {
  for (let at = 0; at < tree.length;) {
    const space = tree.indexOf(0x20, at);
    const end = tree.indexOf(0, space);
    const mode = new TextDecoder().decode(tree.subarray(at, Math.max(space, at)));
    if (space < 0 || end < 0 || !/^[0-7]{5,6}$/.test(mode)) return 32;
    at = end + 21;
  }
  return 20;
}

/** Reads objects through one `cat-file --batch`. Requests are answered in order. */
class Objects {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #known = new Map<string, Promise<Uint8Array<ArrayBuffer> | undefined>>();
  #buffer = new Uint8Array();
  #last: Promise<unknown> = Promise.resolve();

  constructor(git: string, folder: string) {
    this.#child = start(git, folder, ["cat-file", "--batch"]);
    this.#writer = this.#child.stdin.getWriter();
    this.#reader = this.#child.stdout.getReader();
  }

  /** Bytes of an object by id; `undefined` where there is none, or it is too large. */
  read(id: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const answer = this.#last.then(() => this.#ask(id));
    this.#last = answer.catch(() => {});
    this.#known.set(id, answer);
    return answer;
  }

  close(): void {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // it is gone already
    }
    this.#writer.abort().catch(() => {});
    this.#reader.cancel().catch(() => {});
  }

  async #ask(id: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    await this.#writer.write(new TextEncoder().encode(`${id}\n`));
    let end = this.#buffer.indexOf(10);
    while (end < 0) {
      await this.#more();
      end = this.#buffer.indexOf(10);
    }
    const head = new TextDecoder().decode(this.#buffer.subarray(0, end)).split(" ");
    this.#buffer = this.#buffer.slice(end + 1);
    const size = Number(head[2]);
    if (head.length !== 3 || !Number.isSafeInteger(size)) return undefined;
    if (size > MAX_OBJECT) throw new InputError("git_unreadable", "Cannot read a revision: an object is over 64 MiB");
    while (this.#buffer.length < size + 1) await this.#more();
    const bytes = this.#buffer.slice(0, size);
    this.#buffer = this.#buffer.slice(size + 1);
    return bytes;
  }

  async #more(): Promise<void> {
    const { value, done } = await this.#reader.read();
    if (done) throw new InputError("git_unreadable", "Cannot read a revision: git ended early");
    const joined = new Uint8Array(this.#buffer.length + value.length);
    joined.set(this.#buffer);
    joined.set(value, this.#buffer.length);
    this.#buffer = joined;
  }
}
