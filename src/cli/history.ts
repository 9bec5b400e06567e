/**
 * `twokey history`: the runs whose logs are kept.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { parentOf } from "../authority/path.ts";
import { EXIT, type ExitCode, InputError } from "../errors.ts";
import { history } from "../replay/history.ts";
import { escapeText } from "../report/escape.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, outJson, styleFor } from "./io.ts";
import { runFolders } from "./run_log.ts";

interface Flags {
  readonly json: boolean;
  readonly limit?: number;
  readonly runsDir?: string;
}

async function listRuns({ json, limit, runsDir }: Flags, project?: string): Promise<ExitCode> {
  const folders = runsDir === undefined ? await runFolders(await folderOf(project ?? ".")) : [await folderOf(runsDir)];
  const entries = await history(folders, limit === undefined ? {} : { limit });
  if (json) outJson({ type: "agent_history", folders, runs: entries });
  else {
    const { historyLines } = await import("../report/text.ts");
    out(`${historyLines(entries, { style: styleFor(Deno.stdout) }).join("\n")}\n`);
  }
  return EXIT.ok;
}

/** The folder that a word names; that of the file, where it names a file such as a policy. */
async function folderOf(word: string): Promise<string> {
  try {
    const path = await Deno.realPath(word);
    return (await Deno.stat(path)).isDirectory ? path : parentOf(path);
  } catch (cause) {
    const what = cause instanceof Deno.errors.NotFound ? "it does not exist" : "it cannot be reached";
    throw new InputError("history_unreadable", `Cannot list the runs of "${escapeText(word)}": ${what}`, { cause });
  }
}

/** The command. */
export const historyCommand = buildCommand<Flags, [string?], Context>({
  docs: {
    brief: "List the runs of a project",
    fullDescription: [
      "Lists the runs of a project whose logs are kept, the newest first: those in the project's .twokey/runs, and those",
      "without a policy file in the user's state folder. The logs are read, not verified.",
      "",
      "EXAMPLES",
      "  twokey history",
      "  twokey history --limit=5 --json path/to/project",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...JSON_FLAG,
      limit: { kind: "parsed", parse: count, brief: "The newest so many", placeholder: "n", optional: true },
      runsDir: {
        kind: "parsed",
        parse: String,
        brief: "Folder that was given to run with --runs-dir",
        placeholder: "folder",
        optional: true,
      },
    },
    positional: {
      kind: "tuple",
      parameters: [{
        parse: String,
        brief: "Folder or policy of the project; default: this folder",
        placeholder: "project",
        optional: true,
      }],
    },
  },
  func: command(listRuns),
});

function count(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number === 0) {
    throw new TypeError("a whole number over 0 is needed");
  }
  return number;
}
