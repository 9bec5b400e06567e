/**
 * A revision of a git repository as a place to read policies from. Only `merge-base` and `cat-file` are run, with the
 * repository named outright; neither starts a program that a repository could name. The repository is somebody else's
 * data all the same: its settings are overruled, its links are not followed, and what it says of history may not be
 * replaced by what else lies in it.
 *
 * @module
 */
import { isInside, parentOf, relativeTo } from "../authority/path.ts";
import { ControlError, DataError, InputError } from "../errors.ts";
import { sha256 } from "../json.ts";
import { GitObjects, gitText } from "./git_objects.ts";
import type { FileView, PathFact } from "./inspect.ts";
import { lookAt } from "./inspect.ts";

/** Places where git may be; the caller's `PATH` has no say. */
const GIT_PATHS = ["/usr/bin/git", "/bin/git", "/usr/local/bin/git", "/opt/homebrew/bin/git"];

const MAX_NAME = 1024;

/** A revision that was found. */
export interface Revision {
  /** As its caller named it. */
  readonly name: string;
  /** Id of the commit: 40 hexadecimal digits, or 64 in a repository that uses SHA-256. */
  readonly commit: string;
  /** Absolute folder that holds the repository's `.git`. */
  readonly top: string;
  /** The revision's files in place of those on disk. */
  readonly view: FileView;
  /**
   * Text of a file by absolute path; `undefined` where the revision has nothing there.
   *
   * @throws {DataError} If what it has there is no regular file, or no UTF-8 text.
   */
  readText(path: string): Promise<string | undefined>;
  /** Ends the process that reads objects. */
  close(): void;
}

/**
 * Finds a revision. `A...B` names the newest commit that both have in common.
 *
 * @param folder Absolute real folder inside the repository.
 * @throws {InputError} If there is no repository, or git cannot read it. @throws {ControlError} If git is missing.
 * @throws {DataError} `git_no_revision` if the repository does not have it, as in a shallow clone.
 */
export async function openRevision(folder: string, name: string): Promise<Revision> {
  const git = await findGit();
  const top = await findTop(folder);
  const repository = { git, top, gitDir: `${top}/.git` };
  const objects = new GitObjects(repository);
  try {
    const commit = await findCommit(repository, objects, name);
    const root: Entry = { kind: "directory", id: `${commit}^{tree}` };
    if (await objects.read(root.id) === undefined) {
      throw new InputError("git_unreadable", `Cannot read the revision "${name}": its tree is missing`);
    }
    const find = (path: string) => walk(objects, root, relativeTo(top, path));
    const readFile = async (path: string) => {
      const entry = isInside(top, path) ? await find(path) : undefined;
      return (entry?.kind === "file" ? await objects.read(entry.id) : undefined) ?? null;
    };
    return {
      name,
      commit,
      top,
      view: {
        async lookAt(path): Promise<PathFact> {
          if (!isInside(top, path)) return lookAt(path);
          const entry = await find(path);
          // a link, a submodule, or something below one is not what its path says
          if (entry?.kind === "other") return { path, real: `${path} (link)`, kind: "other" };
          if (entry !== undefined) return { path, real: path, kind: entry.kind };
          // folders that git ignores, or cannot keep because they are empty, stand in no revision
          const fact = lookAt(path);
          return fact.kind === "directory" ? fact : { path, real: path, kind: "missing" };
        },
        async hashFile(path) {
          const bytes = await readFile(path);
          return bytes === null ? null : await sha256(bytes);
        },
        readFile,
      },
      readText: async (path) => await textOf(objects, await find(path), `${name}:${relativeTo(top, path)}`),
      close: () => objects.close(),
    };
  } catch (error) {
    objects.close();
    throw error;
  }
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

/**
 * The nearest folder with a `.git`. Git would look for it as well, but take for a repository any folder that looks like
 * one: such a folder can be committed, with settings and branches of its own.
 */
async function findTop(folder: string): Promise<string> {
  for (let at = folder;; at = parentOf(at)) {
    try {
      await Deno.stat(at === "/" ? "/.git" : `${at}/.git`);
      return at;
    } catch {
      if (at === "/") throw new InputError("git_no_repository", "Cannot read a revision: this is no git repository");
    }
  }
}

type Repository = ConstructorParameters<typeof GitObjects>[0];

async function findCommit(repository: Repository, objects: GitObjects, name: string): Promise<string> {
  const [left, right, ...more] = name.split("...");
  if (left === undefined || more.length > 0 || name.startsWith("-")) throw noRevision(name);
  const side = (text: string) => resolve(objects, text, name);
  if (right === undefined) return await side(left);
  const sides = [await side(left || "HEAD"), await side(right || "HEAD")] as const;
  const common = (await gitText(repository, ["merge-base", ...sides]))?.trim();
  // with more than one best ancestor, as after criss-cross merges, git prints one of them
  if (common === undefined || !/^[0-9a-f]{40,64}$/.test(common)) throw noRevision(name);
  return common;
}

async function resolve(objects: GitObjects, text: string, name: string): Promise<string> {
  // a revision is asked for on a line of its own; in git no name of one holds a control character
  if (text === "" || text.startsWith("-") || text.length > MAX_NAME || /\p{Cc}/u.test(text)) throw noRevision(name);
  const commit = await objects.resolve(`${text}^{commit}`);
  if (commit === undefined) throw noRevision(name);
  return commit;
}

function noRevision(name: string): DataError {
  return new DataError("git_no_revision", `Cannot find the revision "${name}": this clone does not have it`, {
    fix: "Name a branch or commit that is here; in GitHub Actions give actions/checkout `fetch-depth: 0`",
  });
}

async function textOf(objects: GitObjects, entry: Entry | undefined, shown: string): Promise<string | undefined> {
  if (entry === undefined) return undefined;
  if (entry.kind !== "file") {
    throw new DataError("git_not_a_file", `Cannot read "${shown}": it is no regular file in that revision`);
  }
  const bytes = await objects.read(entry.id);
  if (bytes === undefined) {
    throw new InputError("git_unreadable", `Cannot read "${shown}": this clone does not have its content`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new DataError("policy_not_utf8", `Cannot use the policy "${shown}": it is not UTF-8 text`, { cause });
  }
}

/** One name in a tree. */
interface Entry {
  /** A link and a submodule are `other`. */
  readonly kind: "file" | "directory" | "other";
  readonly id: string;
}

async function walk(objects: GitObjects, root: Entry, path: string): Promise<Entry | undefined> {
  let at: Entry | undefined = root;
  for (const name of path.split("/").filter((part) => part !== "")) {
    if (at?.kind === "other") return at;
    if (at?.kind !== "directory") return undefined;
    const tree = await objects.read(at.id);
    if (tree === undefined) {
      throw new InputError("git_unreadable", "Cannot read a revision: this clone does not have all of its folders");
    }
    at = entryOf(tree, name, objects.idBytes);
  }
  return at;
}

/** Finds a name in the bytes of a tree object: `<mode> <name>\0<bytes of id>`, repeated. */
function entryOf(tree: Uint8Array, name: string, idBytes: number): Entry | undefined {
  const wanted = new TextEncoder().encode(name);
  for (let at = 0; at < tree.length;) {
    const space = tree.indexOf(0x20, at);
    const end = tree.indexOf(0, space);
    if (space < 0 || end < 0) return undefined;
    const mode = new TextDecoder().decode(tree.subarray(at, space));
    const found = tree.subarray(space + 1, end);
    at = end + 1 + idBytes;
    if (found.length !== wanted.length || !found.every((byte, i) => byte === wanted[i])) continue;
    const id = tree.slice(end + 1, at).toHex();
    return { kind: mode === "40000" ? "directory" : mode.startsWith("100") ? "file" : "other", id };
  }
  return undefined;
}
