/**
 * What a plan says of programs: which ones, with which arguments, where, with which variables, and how confined.
 *
 * @module
 */
import type { PortablePath } from "./plan.ts";

/**
 * What one value of a command line may be. `path`: relative, without `..`, no name of a secret. `pattern`: any text.
 * `text`: any text that does not start with `-`. `number`: digits. `revision`: the name of a commit or of something in
 * one. A list: one of its words.
 */
export type ValueKind = "path" | "pattern" | "text" | "number" | "revision" | readonly string[];

/** The arguments of one command, or of one of its subcommands. What is not listed is refused. */
export interface ArgumentRules {
  /** Options with their dashes: `flag` takes no value, any other kind takes one. */
  readonly options: Readonly<Record<string, "flag" | ValueKind>>;
  /** Kinds of what is no option, in order; the last one repeats up to `maxPositionals`. Empty: none. */
  readonly positionals: readonly ValueKind[];
  /** Arguments that are no options, at most. */
  readonly maxPositionals: number;
}

/** The arguments that a command admits. */
export type CommandGrammar =
  | { readonly kind: "rules"; readonly rules: ArgumentRules }
  | { readonly kind: "subcommands"; readonly subcommands: Readonly<Record<string, ArgumentRules>> }
  /** Read-only uses of git, with settings under which no repository can make it start anything. */
  | { readonly kind: "git" }
  /** Searching with ripgrep, without what starts other programs. */
  | { readonly kind: "rg" }
  /** Any arguments: their author answers for what the program does with them. */
  | { readonly kind: "any" };

/** One granted program. */
export interface PlannedCommand {
  /** Real path of the program. */
  readonly path: PortablePath;
  /** SHA-256 that the policy demands; `null`: what is there when the run starts, which the lock names. */
  readonly sha256: string | null;
  /** What the program may be called with. */
  readonly args: CommandGrammar;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** A folder below which programs may be started. */
export interface WorkFolder {
  /** Real path. */
  readonly root: PortablePath;
  /** What agents see of it: relative to the project, else its last segment. */
  readonly label: string;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** What is done where programs cannot be confined: refuse the run, run them as they are, or not even try. */
export type SandboxMode = "required" | "auto" | "off";

/** The compiled `process` block. */
export interface ProcessPlan {
  /** By the name that agents use; sorted. */
  readonly commands: Readonly<Record<string, PlannedCommand>>;
  /** The first one is where a program starts that names no folder. */
  readonly cwd: readonly WorkFolder[];
  /** The whole environment of a program, beside what a ready grammar sets. */
  readonly env: {
    /** Names whose value is the caller's; sorted. */
    readonly pass: readonly string[];
    /** Fixed values by name. */
    readonly set: Readonly<Record<string, string>>;
  };
  /** UTF-8 bytes of one `process_output_stream` record's text, at most. */
  readonly chunkBytes: number;
  /** Whether programs run confined by the system: always, where that is possible, or never. */
  readonly sandbox: SandboxMode;
  /** `host:port`s that confined programs may reach through the egress process; sorted. Empty: no network. */
  readonly egress: readonly string[];
}
