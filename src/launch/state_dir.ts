/**
 * The user's state folder: outside the project, closed to others, never through a link that somebody else could place.
 *
 * @module
 */
import { parentOf } from "../authority/path.ts";
import { AuditError } from "../errors.ts";
import { lstatOrUndefined } from "./look.ts";

const KEY_BYTES = 32;

/**
 * Makes a folder and what is missing above it, 0700. Every component that exists must be a real folder.
 *
 * @param path Absolute.
 * @throws {AuditError} If it cannot be made, or a component is a link or no folder.
 */
export async function makePrivateDir(path: string): Promise<void> {
  await makeDir(path, { above: "/", mode: 0o700 });
  const { mode, uid } = await Deno.lstat(path);
  if (uid !== null && Deno.uid() !== uid) throw wrong("it belongs to somebody else");
  if (mode !== null && (mode & 0o077) !== 0) await Deno.chmod(path, 0o700);
}

/**
 * Makes a folder below another without following a link below that one: what is below may be an attacker's checkout.
 *
 * @param options.above Absolute path that is trusted as it is; `/` follows the links of the system above the first
 * folder that is missing.
 */
export async function makeDir(path: string, options: { readonly above: string; readonly mode: number }): Promise<void> {
  const { above, mode } = options;
  const missing: string[] = [];
  let at = path;
  while (at !== above && at !== "/") {
    const info = await lstatOrUndefined(at);
    if (info?.isDirectory) {
      if (above === "/") break;
    } else if (info !== undefined) {
      if (above !== "/" || !info.isSymlink || !(await Deno.stat(at)).isDirectory) {
        throw wrong("a part of its path is no folder");
      }
      break;
    } else missing.unshift(at);
    at = parentOf(at);
  }
  for (const folder of missing) {
    try {
      await Deno.mkdir(folder, { mode });
    } catch (cause) {
      if (cause instanceof Deno.errors.AlreadyExists && (await lstatOrUndefined(folder))?.isDirectory) continue;
      throw wrong("the system refused", cause);
    }
  }
}

/** Whether a file or folder is this user's own and closed to others. */
export function isOwnAndClosed({ uid, mode }: Deno.FileInfo): boolean {
  return uid !== null && uid === Deno.uid() && mode !== null && (mode & 0o077) === 0;
}

/** The key that authenticates cache envelopes: 64 hexadecimal digits, made on first use, readable by the user alone. */
export function cacheKey(state: string): Promise<string> {
  return keyIn(state, "cache");
}

/** The key that authenticates the approval log; as {@linkcode cacheKey}, but no process other than a launcher gets it. */
export function approvalKey(state: string): Promise<string> {
  return keyIn(state, "approvals");
}

/** The key that authenticates sessions; as {@linkcode approvalKey}. */
export function sessionKey(state: string): Promise<string> {
  return keyIn(state, "sessions");
}

async function keyIn(state: string, name: "cache" | "approvals" | "sessions"): Promise<string> {
  const path = `${state}/${name}.key`;
  const known = await readKey(path, name);
  if (known !== undefined) return known;
  // A link appears with its content: whoever starts at the same time never reads half a key, and both use the same one.
  const draft = `${path}.${crypto.randomUUID()}`;
  try {
    await Deno.writeFile(draft, crypto.getRandomValues(new Uint8Array(KEY_BYTES)), { createNew: true, mode: 0o600 });
    await Deno.link(draft, path);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AlreadyExists)) throw wrong(`the key of the ${name} cannot be written`, cause);
  } finally {
    await Deno.remove(draft).catch(() => {});
  }
  const made = await readKey(path, name);
  if (made === undefined) throw wrong(`the key of the ${name} went away`);
  return made;
}

/** `undefined` where there is none. @throws {AuditError} If there is something else in its place. */
async function readKey(path: string, name: string): Promise<string | undefined> {
  const info = await lstatOrUndefined(path);
  if (info === undefined) return undefined;
  const bytes = info.isFile && info.size === KEY_BYTES ? await Deno.readFile(path) : new Uint8Array();
  if (bytes.length !== KEY_BYTES) throw wrong(`the key of the ${name} is not one; remove it`);
  return bytes.toHex();
}

function wrong(what: string, cause?: unknown): AuditError {
  return new AuditError("state_unusable", `Cannot use the state folder: ${what}`, { cause });
}
