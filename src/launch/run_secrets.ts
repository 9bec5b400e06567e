/**
 * The secrets that nothing of a run may show: those it uses, and those that its policy names all the same.
 *
 * @module
 */
import { makeRedactor, MIN_SECRET_BYTES, type Redactor } from "../audit/redact.ts";
import { isSecretVariable } from "../authority/variables.ts";
import { utf8Length } from "../json.ts";
import type { Plan } from "../plan/plan.ts";
import type { PreparedRun } from "./prepare.ts";

/** Knows every credential of the policy, so that nothing which host or agent print can show one. */
export function redactorOf(
  plan: Plan,
  { passed, hidden }: Readonly<Record<"passed" | "hidden", Readonly<Record<string, string>>>>,
): Redactor {
  const secrets = new Map<string, string>(
    Object.entries(passed).filter(([name, value]) => isSecretVariable(name) && utf8Length(value) >= MIN_SECRET_BYTES),
  );
  for (const { env } of Object.values(plan.credentials)) {
    const value = Deno.env.get(env);
    // One that is too short is refused by the host before anything runs
    if (value !== undefined && utf8Length(value) >= MIN_SECRET_BYTES) secrets.set(env, value);
  }
  for (const [name, value] of Object.entries(hidden)) secrets.set(name, value);
  return makeRedactor({ fields: plan.redact, secrets });
}

/**
 * Credentials that the policy names and this run does not use, as its answers are recorded: a file or an answer may hold
 * one all the same. By the name of their variable; those that are too short to be told from harmless text are left out.
 */
export function unusedSecrets(
  { plan, loaded: { policy } }: Pick<PreparedRun, "plan" | "loaded">,
): Readonly<Record<string, string>> {
  const { github, model, secrets = {} } = policy;
  const used = new Set(Object.values(plan.credentials).map(({ env }) => env));
  const hidden: Record<string, string> = Object.create(null);
  for (const name of [model?.apiKeyEnv, github?.tokenEnv, ...Object.values(secrets)]) {
    const value = name === undefined || used.has(name) ? undefined : Deno.env.get(name);
    if (name !== undefined && value !== undefined && utf8Length(value) >= MIN_SECRET_BYTES) hidden[name] = value;
  }
  return hidden;
}
