/**
 * `twokey call`: one tool call through the whole path, and exactly one JSON line on standard output.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { EXIT, type ExitCode, TwokeyError } from "../errors.ts";
import { dropGroundwork, execute, startGroundwork } from "../launch/execute.ts";
import { prepareRun } from "../launch/prepare.ts";
import { judge, Tally } from "../launch/verdict.ts";
import { escapeText } from "../report/escape.ts";
import { type Context } from "./command.ts";
import { err, outJson, reportError } from "./io.ts";
import { loadNamed, RUN_FLAGS, type RunFlags } from "./policy_flags.ts";

/** The agent that makes the one call. Its two inputs come as context: they are never part of a source text. */
const CALLER = `
let outcome;
try {
  outcome = { outcome: "result", result: await callTool(context.tool, JSON.parse(context.args)) };
} catch (error) {
  outcome = { outcome: error.outcome, code: error.code, message: error.message };
}
export { outcome };
`;

/** The line that is printed. */
interface CallLine {
  readonly outcome: "result" | "denied" | "invalid" | "error" | "timeout" | "budget";
  readonly tool: string;
  readonly result?: unknown;
  readonly code?: string;
  readonly message?: string;
  readonly run_id?: string;
}

const EXITS: Readonly<Record<CallLine["outcome"], ExitCode>> = {
  result: EXIT.ok,
  denied: EXIT.denied,
  invalid: EXIT.data,
  error: EXIT.agentFailed,
  timeout: EXIT.ended,
  budget: EXIT.ended,
};

async function runCall(flags: RunFlags, tool: string, argsText: string): Promise<ExitCode> {
  if (!isJson(argsText)) {
    const message = `Cannot call "${tool}": its arguments are not JSON`;
    return print({ outcome: "invalid", tool, code: "tool_invalid_args", message });
  }
  const groundwork = startGroundwork();
  let prepared: Awaited<ReturnType<typeof prepareRun>>;
  try {
    const { loaded } = await loadNamed(flags);
    prepared = await prepareRun(loaded, { code: CALLER });
  } catch (error) {
    await dropGroundwork(groundwork);
    throw error;
  }
  const plan = { ...prepared.plan, context: { tool, args: argsText }, expectEvents: {}, expectDenials: [] };
  const tally = new Tally();
  const { end, runId } = await execute({ ...prepared, plan }, {
    groundwork,
    ...(flags.runsDir === undefined ? {} : { runsDir: flags.runsDir }),
    start: { command: "call" },
    onRecord: (body) => tally.saw(body),
    onStderr: (source, line) => err(`${source}| ${escapeText(line)}\n`),
  });
  if (end.value !== undefined) {
    const { outcome, ...rest } = JSON.parse(end.value) as Pick<CallLine, "outcome" | "result" | "code" | "message">;
    return print({ outcome, tool, ...rest, run_id: runId });
  }
  const { exit } = judge({
    reason: end.reason,
    denials: tally.denials,
    expected: [],
    done: 1,
    failOnDenial: false,
    failOnNothing: false,
  });
  const message = end.control?.message ?? `Cannot finish "${tool}": the run ended (${end.reason})`;
  const outcome = end.reason === "tool_unresponsive" || end.reason === "wall_exceeded" ? "timeout" : "error";
  outJson({ outcome, tool, code: end.reason, message, run_id: runId } satisfies CallLine);
  return exit === EXIT.ok ? EXIT.ended : exit;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function print(line: CallLine): ExitCode {
  outJson(line);
  return EXITS[line.outcome];
}

/** The command. */
export const callCommand = buildCommand<RunFlags, [string, string?], Context>({
  docs: {
    brief: "Run one tool call through the whole path",
    fullDescription: [
      "Runs one tool call through the whole path, in its own run with its own log, and prints exactly one JSON line:",
      '  {"outcome":"result"|"denied"|"invalid"|"error"|"timeout"|"budget","tool":…,"result":…,"code":…,"message":…,"run_id":…}',
      "",
      "Exit codes: 0 result, 77 denied, 65 invalid, 1 error, 70 timeout or budget.",
      "",
      "EXAMPLES",
      `  twokey call echo '{"hello":"world"}' --tool=echo`,
      `  twokey call readFile '{"path":"README.md"}' --tool=readFile --fs-read=.`,
      `  twokey call osv.query '{"package":{"ecosystem":"npm","name":"lodash"},"version":"4.17.20"}' --policy agent.policy.jsonc`,
    ].join("\n"),
  },
  parameters: {
    flags: RUN_FLAGS,
    positional: {
      kind: "tuple",
      parameters: [
        { parse: String, brief: "Name of the tool", placeholder: "tool" },
        { parse: String, brief: "Its arguments as JSON; default {}", placeholder: "json", optional: true },
      ],
    },
  },
  async func(this: Context, flags: RunFlags, tool: string, args?: string): Promise<void> {
    try {
      this.exit = await runCall(flags, tool, args ?? "{}");
    } catch (error) {
      // Whoever reads the line must find one also where the policy itself is wrong.
      const known = error instanceof TwokeyError;
      const code = known ? error.code : "internal";
      const message = known ? error.message : "Cannot run the call: an internal fault";
      const invalid = known && (error.exit === EXIT.data || error.exit === EXIT.usage || error.exit === EXIT.noInput);
      outJson({ outcome: invalid ? "invalid" : "error", tool, code, message });
      this.exit = reportError(error, { json: false });
    }
  },
});
