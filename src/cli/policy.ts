/**
 * `twokey policy …`: check, explain, compile and lock policies.
 *
 * @module
 */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { LOCK_FILE } from "../authority/names.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { compilePolicy } from "../launch/compile_policy.ts";
import { loadPolicy } from "../policy/load.ts";
import { escapeJson, escapeText } from "../report/escape.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { explainCall } from "./explain_call.ts";
import { out, outJson } from "./io.ts";
import {
  diffCommand,
  type JsonOnly,
  makeExplainCommand,
  pathOf,
  POLICY_ARGUMENT,
  validateCommand,
} from "./policy_checks.ts";
import type { TestFlags } from "./policy_test.ts";
import { policyEditRoutes } from "./policy_edit_routes.ts";

async function test(flags: TestFlags, path?: string): Promise<ExitCode> {
  return await (await import("./policy_test.ts")).testPolicy(flags, pathOf(path));
}

interface CompileFlags extends JsonOnly {
  readonly format: "flags" | "deno-json" | "plan";
  readonly portable: boolean;
}

async function compile({ format, portable, json }: CompileFlags, path?: string): Promise<ExitCode> {
  const loaded = await loadPolicy(pathOf(path));
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
  const prepared = await prepareRun(await loadPolicy(pathOf(path)));
  if (check) await assertLocked(prepared);
  const written = check ? `${prepared.loaded.base}/${LOCK_FILE}` : await writeLock(prepared);
  if (json) outJson({ lock: written, checked: check });
  else out(`${check ? "holds" : "wrote"}  ${escapeText(written)}\n`);
  return EXIT.ok;
}

async function manifest({ json }: JsonOnly, path?: string): Promise<ExitCode> {
  const loaded = await loadPolicy(pathOf(path));
  const [{ prepareRun }, { authorityManifest, authorityText }] = await Promise.all([
    import("../launch/prepare.ts"),
    import("../report/authority_manifest.ts"),
  ]);
  const { plan } = loaded.policy.agent === undefined ? await compilePolicy(loaded) : await prepareRun(loaded);
  if (json) out(`${escapeJson(JSON.stringify(authorityManifest(plan), null, 2))}\n`);
  else out(authorityText(plan));
  return EXIT.ok;
}

/** The commands below `policy`. */
export const policyRoutes = buildRouteMap<string, Context>({
  routes: {
    validate: validateCommand,
    explain: makeExplainCommand(explainCall),
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
    diff: diffCommand,
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
