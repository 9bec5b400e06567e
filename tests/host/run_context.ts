import type { CallContext, RunContext } from "../../src/host/context.ts";
import type { Budgets, Plan, ReadRoot, WriteRoot } from "../../src/plan/plan.ts";
import type { RecordBody } from "../../src/audit/record.ts";
import type { JsonObject } from "../../src/json.ts";
import type { Target } from "../../src/tool/powers.ts";
import { sha256 } from "../../src/json.ts";

/** What a test says of the file system side of a plan. */
export interface FsPlan {
  /** `root` is relative to the project. */
  readonly read?: readonly {
    readonly root: string;
    readonly label?: string;
    readonly include?: string[];
    readonly exclude?: string[];
  }[];
  readonly write?: readonly string[];
  readonly protected?: readonly string[];
  readonly secret?: readonly string[];
  readonly budgets?: Partial<Budgets>;
}

/** A run over a project folder, with the records that were sent. */
export interface TestRun extends RunContext {
  readonly records: RecordBody[];
}

/** A call that the gate allowed, with what it noted. */
export interface TestCall extends CallContext {
  readonly notes: JsonObject[];
}

const BUDGETS: Budgets = {
  toolTimeoutMs: 10_000,
  toolArgBytes: 1_048_576,
  toolResultBytes: 16_777_216,
  totalArgBytes: 1e9,
  totalResultBytes: 1e9,
  toolCalls: 100_000,
  parallelCalls: 8,
  events: 1000,
  eventBytes: 1_048_576,
  stateBytes: 1_048_576,
  noteBytes: 1_048_576,
  operations: 100_000,
  artifactBytes: 1_048_576,
  readFileBytes: 1_048_576,
  editFileBytes: 4_194_304,
  readFiles: 50_000,
  stderrBytes: 1_048_576,
  wallMs: 60_000,
  cpuMs: 60_000,
  heapMb: 256,
  rssMb: 512,
};

/** Makes a run over `project`, an absolute folder without links, by hand. */
export function makeRun(project: string, fs: FsPlan = {}): TestRun {
  const place = (path: string) => path === "." ? "${project}" : path.startsWith("/") ? path : "${project}/" + path;
  const read = (fs.read ?? []).map(({ root, label, include, exclude }, index): ReadRoot => ({
    root: place(root),
    label: label ?? root,
    include: include ?? [],
    exclude: exclude ?? [],
    rule: `/fs/read/${index}`,
  }));
  const write = (fs.write ?? []).map((root, index): WriteRoot => ({
    root: place(root),
    label: root,
    rule: `/fs/write/${index}`,
  }));
  const plan: Plan = {
    version: 1,
    name: "test",
    policy: { path: null, sha256: "0".repeat(64) },
    isolation: "process",
    tools: {},
    fs: { read, write, protected: fs.protected ?? [], secret: fs.secret ?? [] },
    network: { fixtures: [], cache: null, retryAttempts: 0, proxy: null, ca: null, ipv6: false },
    github: { repos: [] },
    credentials: {},
    gate: [],
    budgets: { ...BUDGETS, ...fs.budgets },
    env: [],
    redact: [],
    expectEvents: {},
    expectDenials: [],
    context: {},
    agent: null,
    unsafe: [],
  };
  const records: RecordBody[] = [];
  return {
    plan,
    places: { project, twokey: "/nonexistent/twokey", state: "/nonexistent/state" },
    fixtures: {},
    cacheKey: new Uint8Array(32),
    credentials: { of: () => undefined, note: () => ({}) },
    env: () => undefined,
    now: () => Date.now(),
    sha256,
    record: (body) => {
      records.push(body);
    },
    records,
  };
}

/** Makes a call in which the gate allowed exactly `targets`. */
export function makeCall(tool: string, targets: readonly Target[], signal?: AbortSignal): TestCall {
  const notes: JsonObject[] = [];
  return {
    callId: "c1",
    tool,
    signal: signal ?? new AbortController().signal,
    deadlineMs: Date.now() + 10_000,
    granted: new Set(targets.map((target) => target.requirement)),
    record: () => {},
    note: (fields) => {
      notes.push(fields);
    },
    notes,
  };
}

/** Makes a folder without links in its path, runs `body` in it, and removes it. */
export async function withTree(body: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-test-" }));
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Writes files below `folder`: a path with its text or bytes; a path that ends with `/` is a folder. */
export async function plant(folder: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const full = `${folder}/${path}`;
    await Deno.mkdir(path.endsWith("/") ? full : full.slice(0, full.lastIndexOf("/")), { recursive: true });
    if (path.endsWith("/")) continue;
    await Deno.writeFile(full, typeof content === "string" ? new TextEncoder().encode(content) : content);
  }
}
