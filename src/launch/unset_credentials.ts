/**
 * Variables of a policy's credentials that are not set where a run starts: which they are, and what to do.
 *
 * @module
 */
import type { Position } from "../errors.ts";
import type { Plan } from "../plan/plan.ts";
import type { LoadedPolicy } from "../policy/load.ts";
import type { RunEnd } from "./launch_options.ts";

/** A variable that holds no credential, although the policy says that it does. */
export interface UnsetCredential {
  /** Name of the variable. */
  readonly env: string;
  /** JSON Pointer of what names it. */
  readonly rule: string;
  /** Tools that would send it, at least one. */
  readonly tools: readonly string[];
  /** Whether all of them also ask without it. */
  readonly optional: boolean;
}

/** What to do about one. */
export interface CredentialAdvice {
  /** Where the policy names the variable. */
  readonly position: Position;
  /** What to change. */
  readonly fix: string;
}

/**
 * Finds the variables that a run would need and that are not set; none for a run whose answers are recorded.
 *
 * @param env Value of a variable of the caller's environment; an empty one counts as none.
 */
export function unsetCredentials(
  { credentials, network, tools }: Plan,
  env: (name: string) => string | undefined,
): readonly UnsetCredential[] {
  const found = new Map<string, UnsetCredential>();
  for (const [tool, { env: name, rule }] of Object.entries(credentials)) {
    const planned = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
    const isRecorded = network.fixtures.length > 0 && planned?.service !== "model";
    if (isRecorded || (env(name) ?? "") !== "") continue;
    const key = `${rule}\n${name}`;
    const known = found.get(key);
    found.set(key, {
      env: name,
      rule,
      tools: [...known?.tools ?? [], tool],
      optional: (known?.optional ?? true) && planned?.credential?.optional === true,
    });
  }
  return [...found.values()];
}

/** Says where the policy names such a variable, and what to do. */
export function credentialAdvice({ env, rule, optional }: UnsetCredential, loaded: LoadedPolicy): CredentialAdvice {
  const otherwise = optional ? `or remove "${loaded.nameOf(rule)}" to ask without` : "or name another variable there";
  return { position: loaded.positionOf(rule), fix: `Run \`export ${env}=…\` first, ${otherwise}` };
}

/** One line for whoever runs a policy whose tools then ask without their credential. */
export function withoutCredentialText(unset: UnsetCredential, loaded: LoadedPolicy): string {
  const { position: { file, line, column }, fix } = credentialAdvice(unset, loaded);
  const [first = "", ...more] = unset.tools;
  const who = more.length === 0 ? first : `${first} and ${more.length} more`;
  return `warning: the variable "${unset.env}" is not set, so ${who} will ask without a credential\n` +
    `  at ${file}:${line}:${column}\n  fix: ${fix}`;
}

/** Adds to a run that ended for want of a credential where the policy names it, and the fix. */
export function withAdvice(end: RunEnd, unset: readonly UnsetCredential[], loaded: LoadedPolicy): RunEnd {
  const needed = unset.find(({ optional }) => !optional);
  if (end.control?.code !== "credential_unset" || needed === undefined) return end;
  return { ...end, control: { ...end.control, ...credentialAdvice(needed, loaded) } };
}
