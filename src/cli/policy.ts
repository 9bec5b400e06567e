/**
 * `twokey policy …`: check, explain, compile and lock policies.
 *
 * @module
 */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { LOCK_FILE } from "../authority/names.ts";
import { EXIT, type ExitCode, UsageError } from "../errors.ts";
import { type CompiledPolicy, compilePolicy } from "../launch/prepare.ts";
import { loadPolicy } from "../policy/load.ts";
import { escapeJson, escapeText } from "../report/escape.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, outJson, styleFor } from "./io.ts";
import type { DiffFlags } from "./policy_diff.ts";
import type { TestFlags } from "./policy_test.ts";
import { policyEditRoutes } from "./policy_edit_routes.ts";
import { findDefaultPolicy } from "./policy_flags.ts";

interface JsonOnly {
  readonly json: boolean;
}

const POLICY_ARGUMENT = {
  kind: "tuple",
  parameters: [{
    parse: String,
    brief: "Policy file; default: agent.policy.jsonc of this project",
    placeholder: "policy",
    optional: true,
  }],
} as const;

async function pathOf(path: string | undefined): Promise<string> {
  const found = path ?? await findDefaultPolicy();
  if (found === undefined) {
    throw new UsageError("usage_no_policy", "Cannot find a policy: there is no agent.policy.jsonc here; name the file");
  }
  return found;
}

async function compiled(path: string | undefined): Promise<CompiledPolicy> {
  return await compilePolicy(await loadPolicy(await pathOf(path)));
}

async function validate({ json }: JsonOnly, path?: string): Promise<ExitCode> {
  const { loaded, plan } = await compiled(path);
  if (json) outJson({ valid: true, file: loaded.file, policy: plan.policy, tools: Object.keys(plan.tools) });
  else out(`${styleFor(Deno.stdout).good("valid")}  ${escapeText(plan.name)}  sha256 ${plan.policy.sha256}\n`);
  return EXIT.ok;
}

interface ExplainFlags extends JsonOnly {
  readonly call?: string;
}

async function explain({ json, call }: ExplainFlags, ...words: string[]): Promise<ExitCode> {
  if (call !== undefined) {
    const [args = "{}", path] = words;
    const { explainCall } = await import("./explain_call.ts");
    return await explainCall({ json }, await pathOf(path), { tool: call, args });
  }
  const [path, more] = words;
  if (more !== undefined) throw new UsageError("usage_excess", `Cannot explain "${more}": one policy at a time`);
  const [{ loaded, plan }, { explainJson, explainPlan }] = await Promise.all([
    compiled(path),
    import("../report/explain.ts"),
  ]);
  if (json) outJson(explainJson(plan, loaded.positionOf));
  else out(explainPlan(plan, loaded.positionOf));
  return EXIT.ok;
}

async function test(flags: TestFlags, path?: string): Promise<ExitCode> {
  return await (await import("./policy_test.ts")).testPolicy(flags, await pathOf(path));
}

interface CompileFlags extends JsonOnly {
  readonly format: "flags" | "deno-json" | "plan";
  readonly portable: boolean;
}

async function compile({ format, portable, json }: CompileFlags, path?: string): Promise<ExitCode> {
  const loaded = await loadPolicy(await pathOf(path));
  if (format === "plan") {
    const { prepareRun } = await import("../launch/prepare.ts");
    const { plan } = loaded.policy.agent === undefined ? await compilePolicy(loaded) : await prepareRun(loaded);
    out(`${escapeJson(JSON.stringify(plan, null, json ? undefined : 2))}\n`);
    return EXIT.ok;
  }
  const { plan, places } = await compilePolicy(loaded);
  if (format === "flags") {
    const { hostFlags } = await import("../plan/flags.ts");
    const flags = hostFlags(plan, places, { portable });
    if (json) outJson(flags);
    else out(`${flags.join("\n")}\n`);
    return EXIT.ok;
  }
  const { permissionSet } = await import("../plan/permission_set.ts");
  const set = { permissions: { [plan.name]: permissionSet(plan, places, { portable }) } };
  out(`${escapeJson(JSON.stringify(set, null, json ? undefined : 2))}\n`);
  return EXIT.ok;
}

interface LockFlags extends JsonOnly {
  readonly check: boolean;
}

async function lock({ check, json }: LockFlags, path?: string): Promise<ExitCode> {
  const [{ prepareRun }, { assertLocked, writeLock }] = await Promise.all([
    import("../launch/prepare.ts"),
    import("../policy/lock.ts"),
  ]);
  const prepared = await prepareRun(await loadPolicy(await pathOf(path)));
  if (check) await assertLocked(prepared);
  const written = check ? `${prepared.loaded.base}/${LOCK_FILE}` : await writeLock(prepared);
  if (json) outJson({ lock: written, checked: check });
  else out(`${check ? "holds" : "wrote"}  ${escapeText(written)}\n`);
  return EXIT.ok;
}

async function manifest({ json }: JsonOnly, path?: string): Promise<ExitCode> {
  const loaded = await loadPolicy(await pathOf(path));
  const [{ prepareRun }, { authorityManifest, authorityText }] = await Promise.all([
    import("../launch/prepare.ts"),
    import("../report/authority_manifest.ts"),
  ]);
  const { plan } = loaded.policy.agent === undefined ? await compilePolicy(loaded) : await prepareRun(loaded);
  if (json) out(`${escapeJson(JSON.stringify(authorityManifest(plan), null, 2))}\n`);
  else out(authorityText(plan));
  return EXIT.ok;
}

async function diff(flags: DiffFlags, base: string, head?: string): Promise<ExitCode> {
  return await (await import("./policy_diff.ts")).diff(flags, base, head);
}

/** The commands below `policy`. */
export const policyRoutes = buildRouteMap<string, Context>({
  routes: {
    validate: buildCommand<JsonOnly, [string?], Context>({
      docs: {
        brief: "Check a policy and everything it names",
        fullDescription:
          "Checks a policy and everything it names. Every problem is printed with its place and its fix; exit 65 then.",
      },
      parameters: { flags: JSON_FLAG, positional: POLICY_ARGUMENT },
      func: command(validate),
    }),
    explain: buildCommand<ExplainFlags, string[], Context>({
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
      func: command(explain),
    }),
    test: buildCommand<TestFlags, [string?], Context>({
      docs: {
        brief: "Run a policy's own tests",
        fullDescription: [
          "Decides on every call of the policy's `tests` block with the run's own evaluator and compares. Exit 1 on a failure.",
          "With --mutate each line is dropped and widened in turn; a change that no test notices is untested authority.",
        ].join("\n"),
      },
      parameters: {
        flags: {
          ...JSON_FLAG,
          mutate: {
            kind: "boolean",
            brief: "Also look for authority that no test covers",
            default: false,
            withNegated: false,
          },
        },
        positional: POLICY_ARGUMENT,
      },
      func: command(test),
    }),
    compile: buildCommand<CompileFlags, [string?], Context>({
      docs: {
        brief: "Print what a policy compiles to",
        fullDescription: "Prints key 1 as flags of Deno or as a permission set of a deno.json, or the whole plan.",
      },
      parameters: {
        flags: {
          ...JSON_FLAG,
          format: { kind: "enum", values: ["flags", "deno-json", "plan"], brief: "What to print", default: "flags" },
          portable: {
            kind: "boolean",
            brief: "Keep ${project} and the like: the same on every machine",
            default: false,
            withNegated: false,
          },
        },
        positional: POLICY_ARGUMENT,
      },
      func: command(compile),
    }),
    manifest: buildCommand<JsonOnly, [string?], Context>({
      docs: {
        brief: "List a policy's authority as a stable document",
        fullDescription:
          "Lists paths, endpoints, variables, rules, budgets, tools and agent modules with their digests: sorted, one fact a line, made for diff.",
      },
      parameters: { flags: JSON_FLAG, positional: POLICY_ARGUMENT },
      func: command(manifest),
    }),
    diff: buildCommand<DiffFlags, [string, string?], Context>({
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
    }),
    lock: buildCommand<LockFlags, [string?], Context>({
      docs: {
        brief: "Write agent.lock.json, which locked runs compare with",
        fullDescription:
          "Writes agent.lock.json beside the policy: digests of the policy, the plan, the agent's modules and the tools. Review and commit it.",
      },
      parameters: {
        flags: {
          ...JSON_FLAG,
          check: { kind: "boolean", brief: "Only compare; exit 65 on drift", default: false, withNegated: false },
        },
        positional: POLICY_ARGUMENT,
      },
      func: command(lock),
    }),
    ...policyEditRoutes,
  },
  docs: { brief: "Check, explain, test, compare, edit and lock policies" },
});
