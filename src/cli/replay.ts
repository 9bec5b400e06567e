/**
 * `twokey replay`: a run in numbers, from its log alone, or what differs between two runs; with `--rerun` the agent
 * again, against what was recorded.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { EXIT, type ExitCode, UsageError } from "../errors.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, outJson, styleFor } from "./io.ts";
import { findLog } from "./run_log.ts";

interface Flags {
  readonly json: boolean;
  readonly human: boolean;
  readonly diff: boolean;
  readonly rerun: boolean;
  readonly head?: string;
  readonly runsDir?: string;
}

async function replay(flags: Flags, first: string, second?: string): Promise<ExitCode> {
  if (flags.human && flags.json) {
    throw new UsageError("usage_conflict", "Cannot use --human with --json: name one of them");
  }
  const json = flags.json || (!flags.human && !Deno.stdout.isTerminal());
  if (flags.rerun) return await runAgain(flags, { json, first, second });
  if (flags.runsDir !== undefined) {
    throw new UsageError("usage_conflict", "Cannot use --runs-dir without --rerun: nothing else is run");
  }
  return flags.diff ? await compare(flags, { json, first, second }) : await sumUp(flags, { json, first, second });
}

/** What is to be replayed, and how it is printed. */
interface Wanted {
  readonly json: boolean;
  readonly first: string;
  readonly second: string | undefined;
}

async function runAgain({ diff, head, runsDir }: Flags, { json, first, second }: Wanted): Promise<ExitCode> {
  if (diff) throw new UsageError("usage_conflict", "Cannot use --rerun with --diff: name one of them");
  if (second !== undefined) throw new UsageError("usage_two_logs", "Cannot run two logs again at once: name one");
  const { rerun } = await import("./rerun.ts");
  return await rerun({ word: first, json, head, runsDir });
}

async function sumUp({ head }: Flags, { json, first, second }: Wanted): Promise<ExitCode> {
  if (second !== undefined) {
    throw new UsageError("usage_two_logs", "Cannot replay two logs at once: compare them with --diff");
  }
  const [path, { replayAudit }] = await Promise.all([findLog(first), import("../replay/replay.ts")]);
  const summary = await replayAudit(path, head === undefined ? {} : { head });
  if (json) outJson(summary);
  else {
    const { replayLines } = await import("../report/text.ts");
    out(`${replayLines(summary, { style: styleFor(Deno.stdout) }).join("\n")}\n`);
  }
  return summary.verdict === "broken" ? EXIT.data : EXIT.ok;
}

async function compare({ head }: Flags, { json, first, second }: Wanted): Promise<ExitCode> {
  if (second === undefined) throw new UsageError("usage_one_log", "Cannot compare: --diff needs two logs");
  if (head !== undefined) {
    throw new UsageError("usage_conflict", "Cannot use --head with --diff: a head belongs to one log");
  }
  const [left, right, { diffAudits }] = await Promise.all([
    findLog(first),
    findLog(second),
    import("../replay/diff.ts"),
  ]);
  const diff = await diffAudits(left, right);
  if (json) outJson(diff);
  else {
    const { diffLines } = await import("../report/text.ts");
    out(`${diffLines(diff, { style: styleFor(Deno.stdout) }).join("\n")}\n`);
  }
  return diff.left_verdict === "broken" || diff.right_verdict === "broken" ? EXIT.data : EXIT.ok;
}

/** The command. */
export const replayCommand = buildCommand<Flags, [string, string?], Context>({
  docs: {
    brief: "Sum up a run from its log, or compare two",
    fullDescription: [
      "Sums up a run from its log: calls, denials, budgets, files, where answers came from. Reads only.",
      "A log is named by its file, its folder, or the id of a run of this project. Prints text on a terminal and one JSON",
      "line elsewhere, unless --human or --json says which.",
      "",
      "With --diff, compares two logs: changed numbers, and calls and events that were changed, added or removed.",
      "A difference is no failure. A log that is not as it was written is exit 65; what stands before the damage is counted.",
      "",
      "With --rerun, runs the agent again against what `run --record` kept, with a host that is granted nothing, and names",
      "the first step that differs: exit 65, as for a recording or an agent that has changed. Without a recording: exit 66.",
      "",
      "EXAMPLES",
      "  twokey replay .twokey/runs/<run>/audit.jsonl --human",
      "  twokey replay <run> --head <hash that the run printed>",
      "  twokey replay --diff <run> <run>",
      "  twokey replay --rerun <run>",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...JSON_FLAG,
      human: { kind: "boolean", brief: "Print text", default: false, withNegated: false },
      diff: { kind: "boolean", brief: "Compare two logs", default: false, withNegated: false },
      rerun: { kind: "boolean", brief: "Run the agent again, as it was recorded", default: false, withNegated: false },
      head: {
        kind: "parsed",
        parse: String,
        brief: "The head that the run printed: its hash proves the log",
        placeholder: "hash",
        optional: true,
      },
      runsDir: {
        kind: "parsed",
        parse: String,
        brief: "With --rerun, folder for its own log; default .twokey/runs in the project",
        placeholder: "folder",
        optional: true,
      },
    },
    positional: {
      kind: "tuple",
      parameters: [
        { parse: String, brief: "Log, folder or id of a run", placeholder: "audit" },
        { parse: String, brief: "With --diff, the other one", placeholder: "other", optional: true },
      ],
    },
  },
  func: command(replay),
});
