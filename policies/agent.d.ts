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
  /** Stable slug. */
  readonly code: string;
  /** The tool that was called. */
  readonly tool: string;
}

/** A store of plain data for the length of the run. */
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

/** Emits an event into the log. Events with a `kind` count for the policy's `expectEvents`. */
declare function emit(event: Json): void;

/** Puts a note into the log. */
declare function auditNote(note: Json): void;

/** What this run records and limits. */
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
 * Lists the granted source, with the reason for each name that cannot be read.
 *
 * Mind: shows no file that was created after the start of the run.
 */
declare function callTool(
  name: "listFiles",
  args?: AgentTools["listFiles"]["args"],
): Promise<AgentTools["listFiles"]["result"]>;

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
