/**
 * `twokey reset`: starts a session anew, or puts the one before back.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { EXIT, type ExitCode, UsageError } from "../errors.ts";
import { compilePolicy } from "../launch/compile_policy.ts";
import { resetSession } from "../launch/reset_session.ts";
import { policyFromFlags, withFlags } from "../policy/from_flags.ts";
import { type LoadedPolicy, loadPolicy } from "../policy/load.ts";
import { resetLines } from "../report/reset.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, outJson, styleFor } from "./io.ts";
import { findDefaultPolicy } from "./default_policy.ts";

interface Flags {
  readonly json: boolean;
  readonly dryRun: boolean;
  readonly rollback: boolean;
  readonly policy?: string;
  readonly sessionFile?: string;
  readonly runsDir?: string;
}

async function reset(flags: Flags): Promise<ExitCode> {
  const { dryRun, rollback, runsDir, json } = flags;
  const compiled = await compilePolicy(await loadSession(flags));
  const done = await resetSession(compiled, { dryRun, rollback, ...(runsDir === undefined ? {} : { runsDir }) });
  if (json) outJson({ type: "product_reset", ...done.report, audit: done.auditPath, head: done.head });
  else out(`${resetLines(done, styleFor(Deno.stdout)).join("\n")}\n`);
  return EXIT.ok;
}

/** The policy whose session is meant: named, the project's own, or that of flags alone. */
async function loadSession({ policy, sessionFile }: Flags): Promise<LoadedPolicy> {
  const flags = sessionFile === undefined ? {} : { sessionFile };
  const cwd = Deno.cwd();
  if (policy !== undefined) return (await withFlags(await loadPolicy(policy), flags, { cwd })).loaded;
  if (sessionFile !== undefined) return await policyFromFlags(flags, cwd);
  const found = findDefaultPolicy();
  if (found !== undefined) return await loadPolicy(found);
  throw new UsageError(
    "usage_no_policy",
    "Cannot reset: there is no agent.policy.jsonc here; name a policy with --policy, or its --session-file",
  );
}

/** The command. */
export const resetCommand = buildCommand<Flags, [], Context>({
  docs: {
    brief: "Start a session anew, or put the one before back",
    fullDescription: [
      "Sets the session of a policy aside, so that the next run starts with an empty state. One backup is kept; --rollback",
      "puts it back, and what it replaces becomes the backup. A session that cannot be used, because it was edited for one,",
      "is set aside under a name of its own, and the backup stays. Logs, artifacts, caches and approvals stay as they are.",
      "What was done stands in a log of its own, that of a dry run as well.",
      "",
      "Exit codes: 0 done, 65 no session in the policy or a backup that was edited, 66 nothing to put back, 74 a run holds",
      "the session.",
      "",
      "EXAMPLES",
      "  twokey reset --dry-run",
      "  twokey reset --policy policies/review/agent.policy.jsonc",
      "  twokey reset --rollback",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...JSON_FLAG,
      policy: {
        kind: "parsed",
        parse: String,
        brief: "Policy file; default agent.policy.jsonc of this project",
        placeholder: "file",
        optional: true,
      },
      sessionFile: {
        kind: "parsed",
        parse: String,
        brief: "Session file that runs were given as a flag",
        placeholder: "file",
        optional: true,
      },
      dryRun: {
        kind: "boolean",
        brief: "Only say what would be done",
        default: false,
        withNegated: false,
      },
      rollback: {
        kind: "boolean",
        brief: "Put the backup back",
        default: false,
        withNegated: false,
      },
      runsDir: {
        kind: "parsed",
        parse: String,
        brief: "Folder for the log; default .twokey/runs in the project",
        placeholder: "folder",
        optional: true,
      },
    },
  },
  func: command(reset),
});
