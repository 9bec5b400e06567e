/**
 * `twokey call`: one tool call through the whole path, and exactly one JSON line on standard output.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { EXIT, type ExitCode, TwokeyError } from "../errors.ts";
import { type CallResult, callTool } from "../launch/call_tool.ts";
import { judge } from "../launch/verdict.ts";
import { escapeText } from "../report/escape.ts";
import { approvalsOf } from "./approvals_of.ts";
import type { Context } from "./command.ts";
import { err, errLines, outJson, reportError } from "./io.ts";
import { loadNamed, RUN_FLAGS, type RunFlags } from "./policy_flags.ts";
import { Progress } from "./progress.ts";
import { unknownTool } from "./unknown_tool.ts";

const EXITS: Readonly<Record<CallResult["outcome"], ExitCode>> = {
  result: EXIT.ok,
  denied: EXIT.denied,
  invalid: EXIT.data,
  error: EXIT.agentFailed,
  timeout: EXIT.ended,
  budget: EXIT.ended,
};

interface Flags extends RunFlags {
  readonly dryRun: boolean;
}

async function runCall(flags: Flags, tool: string, args: string): Promise<ExitCode> {
  const progress = new Progress({ quiet: true });
  const { result, reason, fix } = await callTool(async () => (await loadNamed(flags)).loaded, { tool, args }, {
    dryRun: flags.dryRun,
    ...(flags.runsDir === undefined ? {} : { runsDir: flags.runsDir }),
    ...await approvalsOf(flags, { progress, mayPrompt: true }),
    onNotice: errLines,
    onStderr: (source, line) => progress.print(`${source}| ${escapeText(line)}`),
  });
  outJson(result);
  if (result.outcome === "denied" && result.code === "tool_not_granted") {
    const grant = flags.policy === undefined
      ? `grant it with --tool=${escapeText(tool)}, or name a --policy`
      : undefined;
    const advice = unknownTool(tool) ?? grant;
    if (advice !== undefined) err(`fix: ${advice}\n`);
  }
  if (fix !== undefined) err(`fix: ${escapeText(fix)}\n`);
  if (reason === "approval_pending") err("fix: see it with `twokey approval inbox`, allow it, and call again\n");
  if (reason === "done") return EXITS[result.outcome];
  return judge({ reason, denials: [], expected: [], done: 1, failOnDenial: false, failOnNothing: false }).exit;
}

/** The command. */
export const callCommand = buildCommand<Flags, [string, string?], Context>({
  docs: {
    brief: "Run one tool call through the whole path",
    fullDescription: [
      "Runs one tool call through the whole path, in its own run with its own log, and prints exactly one JSON line:",
      '  {"outcome":"result"|"denied"|"invalid"|"error"|"timeout"|"budget","tool":…,"result":…,"code":…,"message":…,"run_id":…}',
      "",
      "Exit codes: 0 result, 77 denied, 79 denied with the code approval_pending, 65 invalid, 1 error, 70 timeout or budget.",
      "",
      "EXAMPLES",
      `  twokey call echo '{"hello":"world"}' --tool=echo`,
      `  twokey call readFile '{"path":"README.md"}' --tool=readFile --fs-read=.`,
      `  twokey call osv.query '{"package":{"ecosystem":"npm","name":"lodash"},"version":"4.17.20"}' --policy agent.policy.jsonc`,
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...RUN_FLAGS,
      dryRun: {
        kind: "boolean",
        brief: "Only decide: print the rules that would allow the call, and do nothing",
        default: false,
        withNegated: false,
      },
    },
    positional: {
      kind: "tuple",
      parameters: [
        { parse: String, brief: "Name of the tool", placeholder: "tool" },
        { parse: String, brief: "Its arguments as JSON; default {}", placeholder: "json", optional: true },
      ],
    },
  },
  async func(this: Context, flags: Flags, tool: string, args?: string): Promise<void> {
    try {
      this.exit = await runCall(flags, tool, args ?? "{}");
    } catch (error) {
      // Whoever reads the line must find one also where the policy itself is wrong.
      const known = error instanceof TwokeyError;
      const code = known ? error.code : "internal";
      const message = known ? error.message : "Cannot run the call: an internal fault";
      const invalid = known && [EXIT.data, EXIT.usage, EXIT.noInput].some((exit) => exit === error.exit);
      outJson({ outcome: invalid ? "invalid" : "error", tool, code, message });
      this.exit = reportError(error, { json: false });
    }
  },
});
