/**
 * Starts the programs that a plan names: resolves what a call wants to run, and runs it as the launcher said.
 *
 * @module
 */
import { isInside, relativeTo } from "../authority/path.ts";
import { printCommand } from "../authority/command_text.ts";
import type { ScrubStream } from "../audit/redact.ts";
import { BudgetError, BugError, DenialError, ToolError, ToolInputError } from "../errors.ts";
import { checkArguments, invocationOf } from "../gate/command_grammar.ts";
import { grammarEnv, programEnv } from "../gate/program_env.ts";
import type { JsonObject } from "../json.ts";
import { absolute } from "../plan/plan.ts";
import type { PlannedCommand, ProcessPlan } from "../plan/process_plan.ts";
import type { FileIdentity, ProgramSetup, ProgramStart } from "../plan/program_setup.ts";
import type {
  CommandTarget,
  CommandWish,
  ResolveSpawn,
  SpawnOptions,
  SpawnPower,
  SpawnResult,
} from "../tool/powers.ts";
import { type ChildEnd, type ChildOptions, runChild } from "./child.ts";
import { assertGranted, type CallContext, type RunContext } from "./context.ts";
import { executableKeys, hasWorktreeSettings, LIST_SETTINGS, LIST_WORKTREE_SETTINGS } from "./git_guard.ts";
import { Output } from "./output.ts";

/** Characters of a refused command that a record shows. */
const MAX_REFUSED = 2_048;
/** Bytes of a repository's settings. */
const MAX_SETTINGS = 1_048_576;
/** Exit code of a wrapper that could not start its program. */
const NOT_STARTED = 126;

/** What programs need beside the run. */
export interface ProgramOptions {
  readonly setup: ProgramSetup;
  /** Starts the scrubbing of one stream from the secrets of the run. */
  scrub(): ScrubStream;
  /** Tells the launcher of a child; see {@linkcode ChildOptions.tell}. */
  tell: ChildOptions["tell"];
}

/** The part of the host that starts programs. */
export interface Programs {
  readonly resolve: ResolveSpawn;
  /** The power of one call. */
  power(call: CallContext): SpawnPower;
}

/** What is sealed in a target. */
interface Sealed {
  readonly name: string;
  readonly command: PlannedCommand;
  readonly start: ProgramStart;
  readonly argv: readonly string[];
  /** Values that the agent chose. */
  readonly chosen: Readonly<Record<string, string>>;
  /** Real path. */
  readonly cwd: string;
}

/** A folder that a call named. */
type Folder = { readonly path: string; readonly label: string } | undefined;

/** Makes the part for a run whose plan has programs. */
export function makePrograms(run: RunContext, options: ProgramOptions): Programs {
  const { process } = run.plan;
  if (process === undefined) throw new BugError("bug_no_process", "Cannot start programs: the plan names none");
  const programs = new Runner(run, options, process);
  return Object.freeze({
    resolve: Object.freeze({ command: (wish: CommandWish) => programs.resolve(wish) }),
    power: (call: CallContext): SpawnPower =>
      Object.freeze({
        spawn: (target: CommandTarget, how: SpawnOptions): Promise<SpawnResult> => programs.spawn(call, target, how),
      }),
  });
}

class Runner {
  readonly #run: RunContext;
  readonly #options: ProgramOptions;
  readonly #process: ProcessPlan;
  readonly #roots: readonly { readonly path: string; readonly label: string }[];
  readonly #configured: ReadonlySet<string>;
  readonly #sealed = new WeakMap<CommandTarget, Sealed>();

  constructor(run: RunContext, options: ProgramOptions, process: ProcessPlan) {
    this.#run = run;
    this.#options = options;
    this.#process = process;
    this.#roots = process.cwd.map(({ root, label }) => ({ path: absolute(root, run.places), label }));
    this.#configured = new Set([...process.env.pass, ...Object.keys(process.env.set)]);
  }

  async resolve(wish: CommandWish): Promise<CommandTarget> {
    const { command: name, args, env = {} } = wish;
    const command = Object.hasOwn(this.#process.commands, name) ? this.#process.commands[name] : undefined;
    const start = Object.hasOwn(this.#options.setup.programs, name) ? this.#options.setup.programs[name] : undefined;
    if (command === undefined || start === undefined) return refuse(wish, "process_command_not_admitted");
    const checked = checkArguments(command.args, args);
    if (!checked.ok) return refuse(wish, "process_args_not_admitted", checked.problem);
    const folder = await this.#folder(wish.cwd);
    if (folder === undefined) return refuse(wish, "process_cwd_not_admitted");
    const fixed = grammarEnv(command.args, this.#process, this.#run.places);
    for (const [key, value] of Object.entries(env)) {
      if (!this.#configured.has(key) || Object.hasOwn(fixed, key)) return refuse(wish, "process_env_not_admitted");
      if (value.includes("\0") || !value.isWellFormed()) {
        throw new ToolInputError(
          "tool_invalid_args",
          'Cannot call "process": a value of "env" is no text for a program',
        );
      }
    }
    const { argv } = invocationOf(command.args, checked.args);
    const target: CommandTarget = Object.freeze({
      requirement: Object.freeze({
        kind: "command.execute",
        target: printCommand(name, checked.args),
        description: `run ${name} in ${folder.label}`,
        folder: folder.path,
      }),
      command: name,
      args: Object.freeze([...checked.args]),
      cwd: folder.label,
      envKeys: Object.freeze(Object.keys(env).toSorted()),
    });
    this.#sealed.set(target, { name, command, start, argv, chosen: { ...env }, cwd: folder.path });
    return target;
  }

  async spawn(call: CallContext, target: CommandTarget, { output }: SpawnOptions): Promise<SpawnResult> {
    assertGranted(call, target);
    const sealed = this.#sealed.get(target);
    if (sealed === undefined) {
      throw new BugError("bug_target", "Cannot start a program: the target is not the resolver's");
    }
    call.note({ command: sealed.name, confined: this.#options.setup.confined });
    call.noteTimeout?.({ cancelled: true, cancellation: "killed", kill_signal: "SIGKILL" });
    await this.#assertUnchanged(call, sealed.start);
    if (sealed.command.args.kind === "git" && sealed.argv.at(-1) !== "version") {
      await this.#assertRepository(call, sealed);
    }
    const limit = this.#run.plan.budgets.toolResultBytes;
    const make = (stream: "stdout" | "stderr"): Output =>
      new Output({
        stream,
        mode: output,
        limit,
        chunkBytes: this.#process.chunkBytes,
        scrub: this.#options.scrub(),
        record: (fields) => call.record({ type: "process_output_stream", command: sealed.name, ...fields }),
        now: this.#run.now,
      });
    const [stdout, stderr] = [make("stdout"), make("stderr")];
    const started = this.#run.now();
    let end: ChildEnd;
    try {
      end = await this.#start(call, sealed, { stdout, stderr, argv: sealed.argv });
    } catch (error) {
      if (error instanceof BudgetError) this.#recordBudget(call, sealed.name, { stdout, stderr }, "failed_closed");
      throw error;
    }
    const result: SpawnResult = {
      exitCode: end.exitCode,
      signal: end.signal,
      stdout: stdout.end(),
      stderr: stderr.end(),
      durationMs: this.#run.now() - started,
      descendantsLeft: end.descendantsLeft,
    };
    this.#assertStarted(sealed.name, result);
    if (output === "summary" && Math.max(stdout.bytes, stderr.bytes) > limit) {
      this.#recordBudget(call, sealed.name, { stdout, stderr }, "summarized");
    }
    return result;
  }

  /** The folder of a call by its real path; `undefined` where it is not one that programs may start in. */
  async #folder(text: string | undefined): Promise<Folder> {
    const [first] = this.#roots;
    if (text === undefined) return first;
    if (text === "" || text.includes("\0") || !text.isWellFormed()) return undefined;
    for (const path of this.#candidates(text)) {
      try {
        const real = await Deno.realPath(path);
        const root = this.#roots.find((one) => isInside(one.path, real));
        if (root === undefined || !(await Deno.stat(real)).isDirectory) continue;
        const below = relativeTo(root.path, real);
        const label = below === "" ? root.label : root.label === "." ? below : `${root.label}/${below}`;
        return { path: real, label };
      } catch {
        // missing, or outside of what the host may look at: the same answer for both
      }
    }
    return undefined;
  }

  /** A folder is named by the label of a root, below one, relative to the first root, or by its absolute path. */
  #candidates(text: string): string[] {
    if (text.startsWith("/")) return [text];
    const labelled = this.#roots.flatMap(({ path, label }) =>
      text === label ? [path] : text.startsWith(`${label}/`) ? [`${path}/${text.slice(label.length + 1)}`] : []
    );
    const [first] = this.#roots;
    return [...labelled, ...(first === undefined ? [] : [`${first.path}/${text}`])];
  }

  /** The launcher took the program's digest at the start; these numbers tell whether it is still that file. */
  async #assertUnchanged(call: CallContext, { path, identity }: ProgramStart): Promise<void> {
    let same = false;
    try {
      same = sameFile(identity, await Deno.lstat(path));
    } catch {
      // it is gone
    }
    if (!same) throw new DenialError("process_program_changed", `agent tool denied: ${call.tool}`);
  }

  /** Refuses a repository whose own settings make git start something. */
  async #assertRepository(call: CallContext, sealed: Sealed): Promise<void> {
    const list = async (argv: readonly string[]): Promise<string> => {
      const [stdout, stderr] = [this.#silent("stdout"), this.#silent("stderr")];
      const { exitCode } = await this.#start(call, sealed, { stdout, stderr, argv });
      const settings = stdout.end().text;
      this.#assertStarted(sealed.name, { exitCode, stdout, stderr: { bytes: stderr.bytes, text: stderr.end().text } });
      if (exitCode === 0) return settings;
      call.note({ repository: "none" });
      throw new DenialError("process_repository_not_admitted", `agent tool denied: ${call.tool}`);
    };
    const own = await list(LIST_SETTINGS);
    const settings = hasWorktreeSettings(own) ? `${own}\0${await list(LIST_WORKTREE_SETTINGS)}` : own;
    const keys = executableKeys(settings);
    if (keys.length === 0) return;
    call.note({ repository_settings: keys.slice(0, 32) });
    throw new DenialError("process_repository_not_admitted", `agent tool denied: ${call.tool}`);
  }

  #silent(stream: "stdout" | "stderr"): Output {
    const scrub = { push: (piece: string) => piece, end: () => "" };
    return new Output({
      stream,
      mode: "full",
      limit: MAX_SETTINGS,
      chunkBytes: this.#process.chunkBytes,
      scrub,
      record: () => {},
      now: this.#run.now,
    });
  }

  async #start(
    call: CallContext,
    { name, command, start, chosen, cwd }: Sealed,
    { stdout, stderr, argv }: { readonly stdout: Output; readonly stderr: Output; readonly argv: readonly string[] },
  ): Promise<ChildEnd> {
    const { setup, tell } = this.#options;
    await this.#assertFolders(name);
    const words = Object.entries(chosen).map(([key, value]) => `${key}=${value}`);
    const isWrapped = start.runWithEnv !== null;
    const withWords = isWrapped && words.length > 0;
    const env = programEnv(command.args, this.#process, { places: this.#run.places, passed: setup.passed });
    return await runChild({
      command: name,
      run: withWords ? start.runWithEnv ?? start.run : start.run,
      args: withWords ? [...words, "--", ...argv] : argv,
      // a confinement has its environment from the launcher alone
      env: isWrapped ? {} : { ...env, ...chosen },
      cwd,
      confined: setup.confined,
      ownSession: start.ownSession,
      signal: call.signal,
      stdout,
      stderr,
      tell,
    });
  }

  /** A mount follows whatever stands at a path when it is made: it must be the folder that the launcher looked at. */
  async #assertFolders(name: string): Promise<void> {
    for (const { path, dev, ino } of this.#options.setup.folders) {
      let same = false;
      try {
        const info = await Deno.lstat(path);
        same = info.isDirectory && info.dev === dev && info.ino === ino && await Deno.realPath(path) === path;
      } catch {
        // it is gone
      }
      if (!same) throw new ToolError("process_spawn_failed", `Cannot start "${name}": a folder that it sees was moved`);
    }
  }

  /** Tells a program that failed from one that never started. */
  #assertStarted(
    name: string,
    { exitCode, stdout, stderr }: {
      readonly exitCode: number | null;
      readonly stdout: { readonly bytes: number };
      readonly stderr: { readonly bytes: number; readonly text: string };
    },
  ): void {
    const silent = stdout.bytes === 0 && stderr.bytes === 0;
    const isWrapper = exitCode === NOT_STARTED && silent;
    const isConfinement = this.#options.setup.confined && exitCode === 1 && stdout.bytes === 0 &&
      /^(?:bwrap|unshare|prlimit): /.test(stderr.text);
    if (!isWrapper && !isConfinement) return;
    const what = isWrapper ? "the system refused" : "its confinement could not be set up";
    throw new ToolError("process_spawn_failed", `Cannot start "${name}": ${what}`);
  }

  #recordBudget(
    call: CallContext,
    command: string,
    { stdout, stderr }: { readonly stdout: Output; readonly stderr: Output },
    disposition: "summarized" | "failed_closed",
  ): void {
    call.record({
      type: "process_output_budget",
      command,
      disposition,
      limit: this.#run.plan.budgets.toolResultBytes,
      stdout_bytes: stdout.bytes,
      stderr_bytes: stderr.bytes,
    });
  }
}

function sameFile({ dev, ino, size, mtimeMs }: FileIdentity, info: Deno.FileInfo): boolean {
  return info.isFile && info.dev === dev && (info.ino ?? 0) === ino && info.size === size &&
    (info.mtime?.getTime() ?? 0) === mtimeMs;
}

function refuse({ command, args, cwd, env }: CommandWish, refusal: string, problem?: string): CommandTarget {
  const text = printCommand(
    command.slice(0, MAX_REFUSED).toWellFormed(),
    args.slice(0, 64).map((one) => one.slice(0, 256)),
  );
  const note: JsonObject = problem === undefined ? {} : { problem };
  return Object.freeze({
    requirement: Object.freeze({
      kind: "command.execute",
      target: text.length > MAX_REFUSED ? `${text.slice(0, MAX_REFUSED)}…`.toWellFormed() : text,
      description: "run a command that is not admitted",
      refusal,
    }),
    command,
    args,
    cwd: cwd ?? ".",
    envKeys: Object.freeze(Object.keys(env ?? {}).toSorted()),
    ...note,
  }) as CommandTarget;
}
