/**
 * `twokey audit verify`: whether a log is as it was written.
 *
 * @module
 */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { verifyAudit } from "../audit/reader.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, outJson, styleFor } from "./io.ts";
import { findLog } from "./run_log.ts";

interface Flags {
  readonly json: boolean;
  readonly head?: string;
}

async function verify({ json, head }: Flags, word: string): Promise<ExitCode> {
  const path = await findLog(word);
  const verdict = await verifyAudit(path, head === undefined ? {} : { head });
  if (json) outJson({ type: "agent_audit_verify", audit_log: path, ...verdict });
  else {
    const { verdictLines } = await import("../report/text.ts");
    out(`${verdictLines(verdict, { style: styleFor(Deno.stdout) }).join("\n")}\n`);
  }
  return verdict.verdict === "broken" ? EXIT.data : EXIT.ok;
}

/** The commands below `audit`. */
export const auditRoutes = buildRouteMap<string, Context>({
  routes: {
    verify: buildCommand<Flags, [string], Context>({
      docs: {
        brief: "Check that a log is as it was written",
        fullDescription: [
          "Checks every hash of a log and names the first bad record. The verdict is one of:",
          "  authentic   whole, and it ends in the head that was given",
          "  consistent  whole in itself; without --head nobody can tell whether it was made anew",
          "  unfinished  whole, but the run has no end: it goes on, or its launcher was killed; calls in flight are named",
          "  broken      edited, cut, reordered or not the log that the head was noted of: exit 65",
          "Never writes. A log that does not exist is exit 66.",
          "",
          "EXAMPLE",
          "  twokey audit verify .twokey/runs/<run>/audit.jsonl --head <hash that the run printed>",
        ].join("\n"),
      },
      parameters: {
        flags: {
          ...JSON_FLAG,
          head: {
            kind: "parsed",
            parse: String,
            brief: "The head that the run printed",
            placeholder: "hash",
            optional: true,
          },
        },
        positional: {
          kind: "tuple",
          parameters: [{ parse: String, brief: "Log, folder or id of a run", placeholder: "audit" }],
        },
      },
      func: command(verify),
    }),
  },
  docs: { brief: "Verify a log" },
});
