/**
 * Objects of a git repository, read through one `cat-file --batch` that starts nothing and fetches nothing.
 *
 * @module
 */
import { InputError } from "../errors.ts";

/** Settings that win over every file: nothing is started, nothing is fetched, no history but what the commits say. */
const SETTINGS = [
  "--no-pager",
  "--no-replace-objects",
  "-c",
  "core.fsmonitor=",
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "core.commitGraph=false",
  "-c",
  "safe.directory=*",
  "-c",
  "safe.bareRepository=explicit",
];

const ENVIRONMENT = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  // Git before 2.44 fetches what a partial clone lacks and knows no way to say no; without a protocol it cannot. Unlike
  // a setting, the variable also wins over `protocol.<name>.allow` of the repository.
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_GRAFT_FILE: "/dev/null",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  LC_ALL: "C",
};

/** Largest object that is read, in bytes. */
const MAX_OBJECT = 64 * 1024 * 1024;
/** Longest line about an object: a name of a revision and a few words. */
const MAX_LINE = 8192;
/** Milliseconds after which git is ended. */
const GIT_MS = 30_000;

/** A repository and the program that reads it. */
export interface Repository {
  /** Absolute path of git. */
  readonly git: string;
  /** Folder of the work tree. */
  readonly top: string;
  /** The repository: a folder, or the file that names it in a submodule or a further work tree. */
  readonly gitDir: string;
}

/** An object with its head line taken apart. */
interface Answer {
  readonly id: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Runs git to its end; `undefined` where it fails. */
export async function gitText(repository: Repository, args: readonly string[]): Promise<string | undefined> {
  const child = start(repository, args);
  const timer = setTimeout(() => end(child), GIT_MS);
  try {
    await child.stdin.close();
    const [status, output] = await Promise.all([child.status, new Response(child.stdout).text()]);
    return status.success ? output : undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Reads objects. Requests are answered in order. */
export class GitObjects {
  /** Bytes of an id in this repository: 20, or 32 where it uses SHA-256. Known once a name was resolved. */
  idBytes: 20 | 32 = 20;
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #known = new Map<string, Promise<Answer | undefined>>();
  #buffer: Uint8Array<ArrayBuffer> = new Uint8Array();
  #last: Promise<unknown> = Promise.resolve();

  /** Starts git; {@linkcode GitObjects.close} ends it. */
  constructor(repository: Repository) {
    this.#child = start(repository, ["cat-file", "--batch"]);
    this.#writer = this.#child.stdin.getWriter();
    this.#reader = this.#child.stdout.getReader();
    this.#timer = setTimeout(() => end(this.#child), GIT_MS);
  }

  /** Id of the object that a name stands for; `undefined` where there is none. `name` is one line. */
  async resolve(name: string): Promise<string | undefined> {
    const id = (await this.#get(name))?.id;
    if (id !== undefined) this.idBytes = id.length === 64 ? 32 : 20;
    return id;
  }

  /**
   * Bytes of an object by id; `undefined` where the repository does not have it.
   *
   * @throws {InputError} If it is too large, or git ends.
   */
  async read(id: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return (await this.#get(id))?.bytes;
  }

  /** Ends git. Open requests fail. */
  close(): void {
    clearTimeout(this.#timer);
    end(this.#child);
    this.#writer.abort().catch(() => {});
    this.#reader.cancel().catch(() => {});
    this.#child.status.catch(() => {});
  }

  #get(name: string): Promise<Answer | undefined> {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const answer = this.#last.then(() => this.#ask(name));
    this.#last = answer.catch(() => {});
    this.#known.set(name, answer);
    return answer;
  }

  async #ask(name: string): Promise<Answer | undefined> {
    try {
      await this.#writer.write(new TextEncoder().encode(`${name}\n`));
    } catch (cause) {
      throw new InputError("git_unreadable", "Cannot read a revision: git ended early", { cause });
    }
    const line = await this.#line();
    // what is not there is answered with the name as it was asked for, and a word
    const [, id, length] = /^([0-9a-f]{40}|[0-9a-f]{64}) [a-z]+ (\d+)$/.exec(line) ?? [];
    if (id === undefined) return undefined;
    const size = Number(length);
    if (size > MAX_OBJECT) throw new InputError("git_unreadable", "Cannot read a revision: an object is over 64 MiB");
    const bytes = await this.#take(size + 1);
    return { id, bytes: bytes.subarray(0, size) };
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#buffer.indexOf(10);
      if (end >= 0) return new TextDecoder().decode((await this.#take(end + 1)).subarray(0, end));
      if (this.#buffer.length > MAX_LINE) throw new InputError("git_unreadable", "Cannot read a revision: git raves");
      const chunk = await this.#chunk();
      const joined = new Uint8Array(this.#buffer.length + chunk.length);
      joined.set(this.#buffer);
      joined.set(chunk, this.#buffer.length);
      this.#buffer = joined;
    }
  }

  async #take(size: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(size);
    let filled = 0;
    for (;;) {
      const part = this.#buffer.subarray(0, size - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#buffer = this.#buffer.subarray(part.length);
      if (filled === size) return bytes;
      this.#buffer = await this.#chunk();
    }
  }

  async #chunk(): Promise<Uint8Array<ArrayBuffer>> {
    const { value, done } = await this.#reader.read();
    if (done) throw new InputError("git_unreadable", "Cannot read a revision: git cannot read this repository");
    return value;
  }
}

function start({ git, top, gitDir }: Repository, args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(git, {
    args: [`--git-dir=${gitDir}`, `--work-tree=${top}`, ...SETTINGS, ...args],
    cwd: top,
    clearEnv: true,
    env: ENVIRONMENT,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

function end(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // it is gone already
  }
}
