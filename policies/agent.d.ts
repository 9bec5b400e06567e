// Generated: what agent code sees beside the language. Reference it from an agent with
//   /// <reference types="./agent.d.ts" />
//
// From the platform an agent has console (log, info, warn, error, debug; to standard error), setTimeout, setInterval,
// clearTimeout, clearInterval, URL, URLSearchParams, TextEncoder, TextDecoder, atob, btoa and structuredClone. Date and
// Math.random follow the run's clock and seed. Nothing else is there, whatever an editor offers: no Deno, no fetch.

/** Plain data. A property that is `undefined` is the same as none. */
type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** Plain data by name. */
interface JsonObject {
  readonly [name: string]: Json | undefined;
}

/** What `callTool` rejects with: every outcome of a call but its result. */
interface ToolCallError extends Error {
  readonly name: "ToolCallError";
  /** What became of the call. */
  readonly outcome: "denied" | "invalid" | "error" | "timeout" | "budget";
  /** Stable slug. `approval_denied`: a person said no. `approval_pending`: nobody said yes yet, and the run ends. */
  readonly code: string;
  /** The tool that was called. */
  readonly tool: string;
}

/** A store of plain data for the length of the run; with the policy's `session`, from one run that ended well to the next. */
interface AgentState {
  /** The value under a key, `null` where there is none. */
  get(key: string): Promise<Json>;
  set(key: string, value: Json): Promise<null>;
  /** Whether there was a value. */
  delete(key: string): Promise<boolean>;
  /** Keys in the order they were set. */
  list(): Promise<string[]>;
  reset(): Promise<null>;
}

/** The policy's `context`, frozen. */
declare const context: JsonObject;

declare const state: AgentState;

/** Emits an event into the log. Events with a `kind` count for the policy's `expectEvents`; one that does not fit its schema ends the run. */
declare function emit(event: Json): void;

/** Puts a note into the log. */
declare function auditNote(note: Json): void;

/** What this run records and limits: budgets, expected events, state, redaction. */
declare function auditControls(): JsonObject;

/** Gives every authority back: from now on each call is refused. Always `true`. */
declare function close(): boolean;

/** Arguments and results of the tools, by name. */
interface AgentTools {
  readonly "echo": {
    readonly args: JsonObject;
    readonly result: JsonObject;
  };
  readonly "fail": {
    readonly args: JsonObject;
    readonly result: never;
  };
  readonly "github.check.runs.list": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
      /** A branch, a tag or a commit. */
      readonly ref: string;
    };
    readonly result: {
      readonly total_count: number;
      readonly check_runs: readonly {
        readonly id: number;
        readonly [name: string]: Json | undefined;
      }[];
      /** Whether these are all check runs. */
      readonly complete: boolean;
    };
  };
  readonly "github.commit.read": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
      /** A branch, a tag or a commit. */
      readonly ref: string;
    };
    readonly result: {
      readonly sha: string;
      readonly files: readonly {
        readonly filename: string;
        readonly [name: string]: Json | undefined;
      }[];
      /** Whether these are all files that GitHub lists. */
      readonly complete: boolean;
      readonly [name: string]: Json | undefined;
    };
  };
  readonly "github.compare.read": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
      /** Where the comparison starts. */
      readonly base: string;
      /** Where the comparison ends. */
      readonly head: string;
    };
    readonly result: {
      readonly commits: readonly {
        readonly sha: string;
        readonly [name: string]: Json | undefined;
      }[];
      /** Whether these are all commits. */
      readonly complete: boolean;
      /** Whether GitHub surely left out no file. */
      readonly files_complete: boolean;
      readonly [name: string]: Json | undefined;
    };
  };
  readonly "github.file.read": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
      /** Path of the file, without a leading slash. */
      readonly path: string;
      /** A branch, a tag or a commit; without it, the default branch. */
      readonly ref?: string;
    };
    readonly result: {
      readonly type: "file";
      readonly path: string;
      readonly sha: string;
      /** Bytes of the file. */
      readonly size: number;
      /** `base64` where the file is not UTF-8 text. */
      readonly encoding: "utf-8" | "base64";
      readonly content: string;
    } | {
      readonly type: "dir";
      readonly path: string;
      readonly entries: readonly {
        readonly type: "file" | "dir" | "symlink" | "submodule";
        readonly name: string;
        readonly path: string;
        readonly sha: string;
        readonly size: number;
      }[];
      /** Whether GitHub surely left out no entry. */
      readonly complete: boolean;
    } | {
      readonly type: "symlink";
      readonly path: string;
      readonly sha: string;
      readonly target: string;
    } | {
      readonly type: "submodule";
      readonly path: string;
      readonly sha: string;
      readonly url: string | null;
    };
  };
  readonly "github.issue.read": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
      /** Number of the issue. */
      readonly number: number | string;
    };
    readonly result: {
      readonly number: number;
      readonly [name: string]: Json | undefined;
    };
  };
  readonly "github.pr.files.list": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
      /** Number of the pull request. */
      readonly number: number | string;
    };
    readonly result: {
      readonly files: readonly {
        readonly filename: string;
        readonly [name: string]: Json | undefined;
      }[];
      /** Whether these are all files that GitHub lists. */
      readonly complete: boolean;
    };
  };
  readonly "github.pr.read": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
      /** Number of the pull request. */
      readonly number: number | string;
    };
    readonly result: {
      readonly number: number;
      readonly [name: string]: Json | undefined;
    };
  };
  readonly "github.release.latest.read": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
    };
    readonly result: {
      readonly tag_name: string;
      readonly [name: string]: Json | undefined;
    };
  };
  readonly "github.repo.read": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
    };
    readonly result: {
      readonly full_name: string;
      readonly [name: string]: Json | undefined;
    };
  };
  readonly "github.workflow.jobs.list": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
      /** Number of the workflow run. */
      readonly run_id: number | string;
    };
    readonly result: {
      readonly total_count: number;
      readonly jobs: readonly {
        readonly id: number;
        readonly [name: string]: Json | undefined;
      }[];
      /** Whether these are all jobs. */
      readonly complete: boolean;
    };
  };
  readonly "github.workflow.run.read": {
    readonly args: {
      /** Owner of the repository: a user or an organisation. */
      readonly owner: string;
      /** Name of the repository. */
      readonly repo: string;
      /** Number of the workflow run. */
      readonly run_id: number | string;
    };
    readonly result: {
      readonly id: number;
      readonly [name: string]: Json | undefined;
    };
  };
  readonly "listFiles": {
    readonly args: {
      /** A file, or a folder to look below; everything without it. */
      readonly path?: string;
      /** Label of one read root. */
      readonly root?: string;
    };
    readonly result: {
      readonly files: readonly {
        readonly path: string;
        readonly root: string;
        readonly bytes: number;
        readonly kind: string;
        readonly readable: boolean;
        readonly reason: string;
        readonly source_hash: string | null;
      }[];
      readonly complete: boolean;
    };
  };
  readonly "model.call": {
    readonly args: {
      /** Names the question; without `input` it is the question. */
      readonly id: string;
      /** A model of the policy; without it, the first. */
      readonly model?: string;
      /** A text, a list of messages `{ role, content }` of texts, or other JSON, sent as its text. */
      readonly input?: Json;
    };
    readonly result: JsonObject;
  };
  readonly "npm.metadata": {
    readonly args: {
      /** Name of the package: `name` or `@scope/name`, never percent-encoded. */
      readonly package: string;
    };
    readonly result: JsonObject;
  };
  readonly "osv.query": {
    readonly args: {
      readonly package: {
        /** OSV ecosystem, for example `npm`. */
        readonly ecosystem: string;
        /** Name as the ecosystem writes it. */
        readonly name: string;
      };
      /** Exact version; without it, all versions. */
      readonly version?: string;
    };
    readonly result: {
      readonly vulns: readonly {
        readonly id: string;
        readonly [name: string]: Json | undefined;
      }[];
    };
  };
  readonly "process": {
    readonly args: {
      /** Name of a command of the policy. */
      readonly command: string;
      /** Its arguments, one word each; nothing is expanded. */
      readonly args?: readonly string[];
      /** Folder to start in; without it the policy's first. */
      readonly cwd?: string;
      /** Values for variables that the policy configures. */
      readonly env?: Readonly<Record<string, string>>;
      /** full (default): all of it; summary: head and tail; stream: all of it, recorded while it comes. */
      readonly output?: "full" | "summary" | "stream";
    };
    readonly result: {
      readonly exit_code: number | null;
      readonly signal: string | null;
      readonly stdout: string;
      readonly stderr: string;
      readonly duration_ms: number;
      readonly descendants_left?: true;
    } | {
      readonly exit_code: number | null;
      readonly signal: string | null;
      readonly stdout: string;
      readonly stderr: string;
      readonly output_mode: "stream";
      readonly descendants_left?: true;
    } | {
      readonly exit_code: number | null;
      readonly signal: string | null;
      readonly stdout_summary: {
        readonly stream: "stdout" | "stderr";
        readonly bytes: number;
        readonly captured_bytes: number;
        readonly truncated: boolean;
        readonly preview: string;
        readonly tail: string;
      };
      readonly stderr_summary: {
        readonly stream: "stdout" | "stderr";
        readonly bytes: number;
        readonly captured_bytes: number;
        readonly truncated: boolean;
        readonly preview: string;
        readonly tail: string;
      };
      readonly output_mode: "summary";
      readonly descendants_left?: true;
    };
  };
  readonly "readFile": {
    readonly args: {
      /** Path relative to its read root, or absolute. */
      readonly path: string;
      /** Label of the read root, where a path is in two. */
      readonly root?: string;
    };
    readonly result: {
      readonly path: string;
      readonly content: string;
      readonly bytes: number;
      readonly source_hash: string;
    };
  };
  readonly "slow": {
    readonly args: {
      /** How long to sleep, in milliseconds; without it, longer than any deadline. */
      readonly delay_ms?: number;
      /** Any JSON value; it comes back in the result. */
      readonly value?: Json;
    };
    readonly result: {
      readonly ok: true;
      readonly tool: "slow";
      readonly delay_ms: number;
      readonly value: Json;
    };
  };
  readonly "writeArtifact": {
    readonly args: {
      /** Path of the new file, relative to the write root. */
      readonly path: string;
      /** The whole text; written as UTF-8. */
      readonly content: string;
    };
    readonly result: {
      readonly path: string;
      readonly bytes: number;
      readonly hash: string;
      readonly sha256: string;
    };
  };
}

/**
 * Returns its arguments as they crossed the membrane.
 */
declare function callTool(
  name: "echo",
  args?: AgentTools["echo"]["args"],
): Promise<AgentTools["echo"]["result"]>;

/**
 * Fails every time, to show how a tool's fault is classified.
 */
declare function callTool(
  name: "fail",
  args?: AgentTools["fail"]["args"],
): Promise<AgentTools["fail"]["result"]>;

/**
 * Lists the check runs of a commit of a GitHub repository.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 * Mind: GitHub lists the check runs of the 1,000 newest check suites only.
 */
declare function callTool(
  name: "github.check.runs.list",
  args: AgentTools["github.check.runs.list"]["args"],
): Promise<AgentTools["github.check.runs.list"]["result"]>;

/**
 * Reads one commit of a GitHub repository and the files that it changes.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 * Mind: GitHub lists 3,000 files of a commit at most, and leaves large patches out.
 * Mind: Does not verify signatures: `verification` is what GitHub says of them.
 */
declare function callTool(
  name: "github.commit.read",
  args: AgentTools["github.commit.read"]["args"],
): Promise<AgentTools["github.commit.read"]["result"]>;

/**
 * Compares two commits of a GitHub repository.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 * Mind: GitHub puts 300 files into a comparison at most.
 */
declare function callTool(
  name: "github.compare.read",
  args: AgentTools["github.compare.read"]["args"],
): Promise<AgentTools["github.compare.read"]["result"]>;

/**
 * Reads one file, or lists one folder, of a GitHub repository.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 * Mind: GitHub lists 1,000 entries of a folder at most, and follows a link to a file of the same repository itself.
 */
declare function callTool(
  name: "github.file.read",
  args: AgentTools["github.file.read"]["args"],
): Promise<AgentTools["github.file.read"]["result"]>;

/**
 * Reads one issue of a GitHub repository.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 */
declare function callTool(
  name: "github.issue.read",
  args: AgentTools["github.issue.read"]["args"],
): Promise<AgentTools["github.issue.read"]["result"]>;

/**
 * Lists the files that a pull request of a GitHub repository changes.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 * Mind: GitHub lists 3,000 files of a pull request at most, and leaves large patches out.
 */
declare function callTool(
  name: "github.pr.files.list",
  args: AgentTools["github.pr.files.list"]["args"],
): Promise<AgentTools["github.pr.files.list"]["result"]>;

/**
 * Reads one pull request of a GitHub repository.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 */
declare function callTool(
  name: "github.pr.read",
  args: AgentTools["github.pr.read"]["args"],
): Promise<AgentTools["github.pr.read"]["result"]>;

/**
 * Reads the latest release of a GitHub repository.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 * Mind: Does not download assets, and does not verify that they are what their names say.
 */
declare function callTool(
  name: "github.release.latest.read",
  args: AgentTools["github.release.latest.read"]["args"],
): Promise<AgentTools["github.release.latest.read"]["result"]>;

/**
 * Reads what GitHub says of a repository.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 */
declare function callTool(
  name: "github.repo.read",
  args: AgentTools["github.repo.read"]["args"],
): Promise<AgentTools["github.repo.read"]["result"]>;

/**
 * Lists the jobs of a workflow run of a GitHub repository.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 */
declare function callTool(
  name: "github.workflow.jobs.list",
  args: AgentTools["github.workflow.jobs.list"]["args"],
): Promise<AgentTools["github.workflow.jobs.list"]["result"]>;

/**
 * Reads one workflow run of a GitHub repository.
 *
 * Mind: Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write.
 * Mind: Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions.
 */
declare function callTool(
  name: "github.workflow.run.read",
  args: AgentTools["github.workflow.run.read"]["args"],
): Promise<AgentTools["github.workflow.run.read"]["result"]>;

/**
 * Lists the granted source, with the reason for each name that cannot be read.
 *
 * Mind: shows no file that was created after the start of the run.
 */
declare function callTool(
  name: "listFiles",
  args?: AgentTools["listFiles"]["args"],
): Promise<AgentTools["listFiles"]["result"]>;

/**
 * Asks a model of the policy's provider once, or takes a recorded answer.
 *
 * Mind: Sends text alone and gives the model no tools: what it proposes, nobody does.
 * Mind: Does not judge questions or answers: an answer may be wrong, and may hold instructions.
 * Mind: Counts the tokens that the provider reports, not what they cost.
 */
declare function callTool(
  name: "model.call",
  args: AgentTools["model.call"]["args"],
): Promise<AgentTools["model.call"]["result"]>;

/**
 * Reads the abbreviated metadata of one package from the npm registry.
 *
 * Mind: Does not verify the signatures or the integrity of any tarball.
 */
declare function callTool(
  name: "npm.metadata",
  args: AgentTools["npm.metadata"]["args"],
): Promise<AgentTools["npm.metadata"]["result"]>;

/**
 * Asks OSV which vulnerabilities are known for one package.
 *
 * Mind: An empty list means that OSV knows of no vulnerability, not that there is none.
 */
declare function callTool(
  name: "osv.query",
  args: AgentTools["osv.query"]["args"],
): Promise<AgentTools["osv.query"]["result"]>;

/**
 * Runs one program of the policy with checked arguments.
 *
 * Mind: an argv-only supervised child process: there is no shell, no exec or spawn API.
 * Mind: no OS sandbox is claimed for the tool itself: run_start and each result's record say whether programs ran confined.
 * Mind: without confinement, what leaves the program's session is not ended, and what the program does is not bounded.
 * Mind: the git grammar reads history: what was ever committed can be shown.
 */
declare function callTool(
  name: "process",
  args: AgentTools["process"]["args"],
): Promise<AgentTools["process"]["result"]>;

/**
 * Reads one file of the granted source as text.
 *
 * Mind: reads no file that was created after the start of the run.
 * Mind: reads no binary file and no part of a file.
 */
declare function callTool(
  name: "readFile",
  args: AgentTools["readFile"]["args"],
): Promise<AgentTools["readFile"]["result"]>;

/**
 * Sleeps for a while, then returns: exercises deadlines.
 */
declare function callTool(
  name: "slow",
  args?: AgentTools["slow"]["args"],
): Promise<AgentTools["slow"]["result"]>;

/**
 * Creates one new text file below the write root.
 *
 * Mind: overwrites nothing.
 * Mind: writes to the first write root only.
 */
declare function callTool(
  name: "writeArtifact",
  args: AgentTools["writeArtifact"]["args"],
): Promise<AgentTools["writeArtifact"]["result"]>;
