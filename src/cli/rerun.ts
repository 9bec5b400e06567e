/**
 * `twokey replay --rerun`: the agent of a log again, against what was recorded.
 *
 * @module
 */
import { EXIT, type ExitCode } from "../errors.ts";
import { sha256 } from "../json.ts";
import { escapeText } from "../report/escape.ts";
import { err, out, outJson, styleFor } from "./io.ts";
import { findLog } from "./run_log.ts";

/** What is to be run again, and how it is printed. */
export interface RerunWanted {
  /** Log, folder or id of a run. */
  readonly word: string;
  readonly json: boolean;
  readonly head: string | undefined;
  readonly runsDir: string | undefined;
}

/** Runs an agent again and prints what came of it. */
export async function rerun({ word, json, head, runsDir }: RerunWanted): Promise<ExitCode> {
  const [path, { readRecording }, { rerunAgent }, { reportRerun }] = await Promise.all([
    findLog(word),
    import("../replay/recording.ts"),
    import("../launch/rerun.ts"),
    import("../replay/rerun_report.ts"),
  ]);
  const recording = await readRecording(path, head === undefined ? {} : { head });
  const { prepared, end, runId, auditPath } = await rerunAgent({ ...recording, head: recording.verdict.head }, {
    project: await projectOf(path),
    ...(runsDir === undefined ? {} : { runsDir }),
    onProgress: (line) => err(`${line}\n`),
    onRecord: () => {},
    onStderr: (source, line) => err(`${source}| ${escapeText(line)}\n`),
  });
  const report = await reportRerun({
    path,
    recording,
    rerun: { runId, auditPath, head: end.head, bundle: await sha256(prepared.code), deno: Deno.version.deno },
  });
  if (json) outJson(report);
  else {
    const { rerunLines } = await import("../report/rerun.ts");
    out(`${rerunLines(report, { style: styleFor(Deno.stdout), folder: Deno.cwd() }).join("\n")}\n`);
    if (end.control !== undefined) err(`control   ${escapeText(end.control.message)}\n`);
  }
  switch (report.verdict) {
    case "same":
    case "same_so_far":
      return EXIT.ok;
    case "diverged":
      return EXIT.data;
    case "ended":
      return EXIT.ended;
  }
}

/** The project of a run: the one that its log lies in, else the one around this folder. */
async function projectOf(path: string): Promise<string> {
  const real = await Deno.realPath(path);
  const inProject = /^(.+)\/\.twokey\/runs\/[^/]+\/[^/]+$/.exec(real)?.[1];
  if (inProject !== undefined) return inProject;
  const { findProject } = await import("../policy/load.ts");
  return findProject(await Deno.realPath(Deno.cwd()));
}
