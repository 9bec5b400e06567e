/**
 * `twokey policy validate`, `explain` and `diff`: what people and hooks ask again and again, so they start apart from the
 * commands that are seldom used.
 *
 * @module
 */
import { buildCommand, type Command } from "@stricli/core";
import { EXIT, type ExitCode, UsageError } from "../errors.ts";
import { type CompiledPolicy, compilePolicy } from "../launch/compile_policy.ts";
import { loadPolicy } from "../policy/load.ts";
import { escapeText } from "../report/escape.ts";
import { explainJson, explainPlan } from "../report/explain.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import type { explainCall } from "./explain_call.ts";
import { out, outJson, styleFor } from "./io.ts";
import { diff, type DiffFlags } from "./policy_diff.ts";
import { findDefaultPolicy } from "./default_policy.ts";

/** The flags of a command that has no others. */
export interface JsonOnly {
  readonly json: boolean;
}

/** The policy as the only word of a command. */
export const POLICY_ARGUMENT = {
  kind: "tuple",
  parameters: [{
    parse: String,
    brief: "Policy file; default: agent.policy.jsonc of this project",
    placeholder: "policy",
    optional: true,
  }],
} as const;

/** Path of the named policy, or of this project's. @throws {UsageError} `usage_no_policy`. */
export function pathOf(path: string | undefined): string {
  const found = path ?? findDefaultPolicy();
  if (found === undefined) {
    throw new UsageError("usage_no_policy", "Cannot find a policy: there is no agent.policy.jsonc here; name the file");
  }
  return found;
}

async function compiled(path: string | undefined): Promise<CompiledPolicy> {
  return await compilePolicy(await loadPolicy(pathOf(path)));
}

async function validate({ json }: JsonOnly, path?: string): Promise<ExitCode> {
  const { loaded, plan, places } = await compiled(path);
  if (plan.network.fixtures.length > 0 || (plan.model?.fixture ?? null) !== null) {
    const { readFixtures } = await import("../launch/prepare.ts");
    await readFixtures(plan, places);
  }
  if (json) outJson({ valid: true, file: loaded.file, policy: plan.policy, tools: Object.keys(plan.tools) });
  else out(`${styleFor(Deno.stdout).good("valid")}  ${escapeText(plan.name)}  sha256 ${plan.policy.sha256}\n`);
  return EXIT.ok;
}

interface ExplainFlags extends JsonOnly {
  readonly call?: string;
}

async function explain(
  explainOne: typeof explainCall,
  { json, call }: ExplainFlags,
  words: readonly string[],
): Promise<ExitCode> {
  if (call !== undefined) {
    const [args = "{}", path] = words;
    return await explainOne({ json }, pathOf(path), { tool: call, args });
  }
  const [path, more] = words;
  if (more !== undefined) throw new UsageError("usage_excess", `Cannot explain "${more}": one policy at a time`);
  const { loaded, plan } = await compiled(path);
  if (json) outJson(explainJson(plan, loaded.positionOf));
  else out(explainPlan(plan, loaded.positionOf));
  return EXIT.ok;
}

/** `policy validate`. */
export const validateCommand: Command<Context> = buildCommand<JsonOnly, [string?], Context>({
  docs: {
    brief: "Check a policy and everything it names",
    fullDescription:
      "Checks a policy and everything it names. Every problem is printed with its place and its fix; exit 65 then.",
  },
  parameters: { flags: JSON_FLAG, positional: POLICY_ARGUMENT },
  func: command(validate),
});

/**
 * Makes `policy explain`.
 *
 * @param explainOne What `--call` does: as it decides with all that a run has, it is a large part of the program.
 */
export function makeExplainCommand(explainOne: typeof explainCall): Command<Context> {
  return buildCommand<ExplainFlags, string[], Context>({
    docs: {
      brief: "Say what a policy grants, in words, or what becomes of one call",
      fullDescription: [
        "Says what may be read, written, reached and spent, by which tool, behind which key, with the line that says so.",
        "With --call: what would become of that call, the line that decides, and the smallest line that would change it.",
        "The call is decided by the run's own evaluator; nothing is done.",
        "",
        "EXAMPLES",
        "  twokey policy explain",
        `  twokey policy explain --call readFile '{"path":".env"}'`,
      ].join("\n"),
    },
    parameters: {
      flags: {
        ...JSON_FLAG,
        call: {
          kind: "parsed",
          parse: String,
          brief: "Tool of the call; its arguments as JSON follow",
          placeholder: "tool",
          optional: true,
        },
      },
      positional: {
        kind: "array",
        parameter: { parse: String, brief: "Arguments of --call as JSON, then the policy file", placeholder: "word" },
        maximum: 2,
      },
    },
    func: command((flags, ...words) => explain(explainOne, flags, words)),
  });
}

/** `policy diff`. */
export const diffCommand: Command<Context> = buildCommand<DiffFlags, [string, string?], Context>({
  docs: {
    brief: "Say what authority was gained, lost or narrowed",
    fullDescription: [
      "Compares two policies by what they grant, not by their text. BASE and HEAD are policy files or git revisions",
      "(`main`, a commit, `A...B` for what both have in common); without HEAD the work tree. Exit 3 if authority is gained.",
      "",
      "EXAMPLES",
      "  twokey policy diff main",
      "  twokey policy diff origin/main HEAD --markdown",
      "  twokey policy diff old.policy.jsonc new.policy.jsonc",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...JSON_FLAG,
      markdown: { kind: "boolean", brief: "Print Markdown for a pull request", default: false, withNegated: false },
      policy: {
        kind: "parsed",
        parse: String,
        brief: "Policy file in a revision; default: agent.policy.jsonc of this project",
        placeholder: "file",
        optional: true,
      },
    },
    positional: {
      kind: "tuple",
      parameters: [
        { parse: String, brief: "File or revision to compare with", placeholder: "base" },
        { parse: String, brief: "File or revision; default: the work tree", placeholder: "head", optional: true },
      ],
    },
  },
  func: command(diff),
});
