/**
 * First sight on the command line: a question on a terminal, a line and a record elsewhere.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import { lookAtPolicy, rememberPolicy } from "../launch/first_sight.ts";
import type { PreparedRun } from "../launch/prepare.ts";
import type { Change } from "../plan/change.ts";
import { escapeText } from "../report/escape.ts";
import { changeText } from "../report/policy_diff.ts";
import { canAsk, confirmed, DeclinedError } from "./confirm.ts";
import { err, styleFor } from "./io.ts";

/** Gains that are printed and recorded, at most. */
const MAX_GAINS = 100;

/**
 * Looks at a policy before its run, and asks where it is new and a person is there. A run whose lock holds was reviewed
 * already: it is only remembered.
 *
 * @returns Fields for `run_start`.
 * @throws {DeclinedError} If the person says no.
 */
export async function atFirstSight(
  prepared: PreparedRun,
  options: { readonly locked: boolean; readonly json: boolean },
): Promise<JsonObject> {
  const sight = await lookAtPolicy(prepared);
  if (sight === null) return {};
  const { first, gained, known } = sight;
  if ((first || gained.length > 0) && !options.locked) {
    err(`${noticeLines(prepared, gained, first).join("\n")}\n`);
    if (!options.json && canAsk() && !confirmed("Run it?")) throw new DeclinedError("Cannot run: nobody agreed to it");
  }
  if (!known) await rememberPolicy(prepared);
  return { first_sight: { first, gained: gained.slice(0, MAX_GAINS).map(changeText) } };
}

function noticeLines({ loaded, plan }: PreparedRun, gained: readonly Change[], first: boolean): string[] {
  const style = styleFor(Deno.stderr);
  const name = escapeText(plan.name);
  const head = gained.length === 0
    ? `the policy ${name} has not run here in this form; it gains nothing`
    : first
    ? `the policy ${name} has not run here in this form; it gains`
    : `the policy ${name} gains more than when it last ran here`;
  const lines = gained.slice(0, MAX_GAINS).map((change) => {
    const { line } = loaded.positionOf(change.rule);
    return `  ${style.warn("gained")}  ${escapeText(changeText(change), { max: 300 })}   [line ${line}]`;
  });
  const more = gained.length - lines.length;
  return [style.heading(head), ...lines, ...(more > 0 ? [`  and ${more} more`] : [])];
}
