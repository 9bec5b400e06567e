/**
 * `twokey doctor`: what holds on this machine, found out by trying.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { examinationJson, examine } from "../doctor/examine.ts";
import { EXIT, type ExitCode, UsageError } from "../errors.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { CLEAR_LINE, err, out, outJson, styleFor } from "./io.ts";

interface Flags {
  readonly json: boolean;
  readonly human: boolean;
  readonly project?: string;
}

async function runDoctor({ json, human, project }: Flags): Promise<ExitCode> {
  if (json && human) throw new UsageError("usage_conflict", "Cannot use --json with --human: name one of them");
  const live = !json && Deno.stderr.isTerminal();
  const found = await examine({
    ...(project === undefined ? {} : { project }),
    ...(live ? { onStep: (done, of) => err(`${CLEAR_LINE}  trying: ${done} of ${of}`) } : {}),
  });
  if (live) err(CLEAR_LINE);
  if (json) outJson(examinationJson(found));
  else {
    const { doctorLines } = await import("../report/doctor.ts");
    out(`${doctorLines(found, { style: styleFor(Deno.stdout) }).join("\n")}\n`);
  }
  if (!found.held) return EXIT.unavailable;
  return (found.project?.problems.length ?? 0) > 0 ? EXIT.data : EXIT.ok;
}

/** The command. */
export const doctorCommand = buildCommand<Flags, [], Context>({
  docs: {
    brief: "Try out what holds on this machine",
    fullDescription: [
      "Runs agents that try to read, write, fetch, start a program, see a secret, reach the log, spin and fill the memory,",
      "in each isolation, and says what stopped them: key 1 (Deno's permissions), key 2 (registry and gate), both, the",
      "isolation, a bound of the launcher, or nothing. A control is only claimed where its probe held in this invocation.",
      "With --project also compiles that project's default policy and compares its lock.",
      "",
      "Exit codes: 0 every required control held, 65 the project's policy or lock is wrong, 78 a required control did not",
      "hold or is missing.",
      "",
      "EXAMPLES",
      "  twokey doctor",
      "  twokey doctor --json",
      "  twokey doctor --project .",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...JSON_FLAG,
      human: { kind: "boolean", brief: "Print a table for people; the default", default: false, withNegated: false },
      project: {
        kind: "parsed",
        parse: String,
        brief: "Folder of a project to examine as well",
        placeholder: "folder",
        optional: true,
      },
    },
  },
  func: command(runDoctor),
});
