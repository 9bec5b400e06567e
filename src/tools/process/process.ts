import * as v from "valibot";
import { ToolInputError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";
import type { OutputText } from "../../tool/powers.ts";

/** UTF-16 units of a command's name, of a path, of one argument. */
const MAX_NAME = 64;
const MAX_PATH = 4_096;
const MAX_ARGUMENT = 8_192;

const streamSummary = v.strictObject({
  stream: v.picklist(["stdout", "stderr"]),
  bytes: v.number(),
  captured_bytes: v.number(),
  truncated: v.boolean(),
  preview: v.string(),
  tail: v.string(),
});

/**
 * Runs one program of the policy's `process` block to its end and gives back its exit and its output.
 *
 * `command` is a name of the policy; `args` must fit that command's grammar; `cwd` is a folder that the policy admits, or
 * one below it; `env` gives other values to variables that the policy configures. A non-zero exit is a result. Output is
 * untrusted text, scrubbed of known secrets. `descendants_left` says that something the program had started still held
 * its output when it ended, and was ended.
 *
 * Denied: `process_command_not_admitted`, `process_args_not_admitted`, `process_cwd_not_admitted`,
 * `process_env_not_admitted`, `process_program_changed`, `process_repository_not_admitted`. Error:
 * `process_spawn_failed`. Over `toolResultBytes` on one stream: budget `process_output_bytes`, unless `output` is
 * `summary`.
 */
export const process = defineTool({
  name: "process",
  family: "process",
  summary: "Runs one program of the policy with checked arguments",
  args: v.strictObject({
    command: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MAX_NAME),
      v.description("Name of a command of the policy"),
    ),
    args: v.optional(v.pipe(
      v.array(v.pipe(v.string(), v.maxLength(MAX_ARGUMENT))),
      v.maxLength(1024),
      v.description("Its arguments, one word each; nothing is expanded"),
    )),
    cwd: v.optional(v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MAX_PATH),
      v.description("Folder to start in; without it the policy's first"),
    )),
    env: v.optional(v.pipe(
      v.record(v.string(), v.pipe(v.string(), v.maxLength(32_768))),
      v.description("Values for variables that the policy configures"),
    )),
    output: v.optional(v.pipe(
      v.picklist(["full", "summary", "stream"]),
      v.description("full (default): all of it; summary: head and tail; stream: all of it, recorded while it comes"),
    )),
  }),
  result: v.union([
    v.strictObject({
      exit_code: v.nullable(v.number()),
      signal: v.nullable(v.string()),
      stdout: v.string(),
      stderr: v.string(),
      duration_ms: v.number(),
      descendants_left: v.optional(v.literal(true)),
    }),
    v.strictObject({
      exit_code: v.nullable(v.number()),
      signal: v.nullable(v.string()),
      stdout: v.string(),
      stderr: v.string(),
      output_mode: v.literal("stream"),
      descendants_left: v.optional(v.literal(true)),
    }),
    v.strictObject({
      exit_code: v.nullable(v.number()),
      signal: v.nullable(v.string()),
      stdout_summary: streamSummary,
      stderr_summary: streamSummary,
      output_mode: v.literal("summary"),
      descendants_left: v.optional(v.literal(true)),
    }),
  ]),
  authority: { process: true },
  effect: "spawn",
  audit: {
    args: { command: "keep", args: "keep", cwd: "keep", env: "digest", output: "keep" },
    result: "digest",
  },
  nonClaims: [
    "an argv-only supervised child process: there is no shell, no exec or spawn API",
    "no OS sandbox is claimed for the tool itself: run_start and each result's record say whether programs ran confined",
    "without confinement, what leaves the program's session is not ended, and what the program does is not bounded",
    "the git grammar reads history: what was ever committed can be shown",
  ],
  async prepare({ command, args = [], cwd, env, output = "full" }, resolve) {
    for (const key of Object.keys(env ?? {})) {
      if (key === "" || key.includes("=") || key.includes("\0")) {
        throw new ToolInputError("tool_invalid_args", 'Cannot call "process": a name in "env" is no variable\'s name');
      }
    }
    const target = await resolve.command({
      command,
      args,
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    });
    const note = {
      command,
      cwd: target.cwd,
      env_keys: target.envKeys,
      output_mode: output,
      ...(target.problem === undefined ? {} : { problem: target.problem }),
    };
    return { targets: [target], artifact: { target, output }, note };
  },
  async invoke({ target, output }, { spawn, note }) {
    const ended = await spawn(target, { output });
    const { exitCode, signal, stdout, stderr, durationMs, descendantsLeft } = ended;
    const left = descendantsLeft ? { descendants_left: true as const } : {};
    const base = { exit_code: exitCode, signal, ...left };
    note({ ...base, stdout_bytes: stdout.bytes, stderr_bytes: stderr.bytes, output_mode: output });
    if (output === "summary") {
      return {
        ...base,
        stdout_summary: summaryOf("stdout", stdout),
        stderr_summary: summaryOf("stderr", stderr),
        output_mode: output,
      };
    }
    const texts = { ...base, stdout: stdout.text, stderr: stderr.text };
    return output === "stream" ? { ...texts, output_mode: output } : { ...texts, duration_ms: durationMs };
  },
});

function summaryOf(stream: "stdout" | "stderr", { text, tail, bytes, captured }: OutputText) {
  return { stream, bytes, captured_bytes: captured, truncated: tail !== "", preview: text, tail };
}
