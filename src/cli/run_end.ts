/**
 * Why a run ended, for people and for programs: what the agent threw, the budget that was used up, the control that did
 * not hold, each with what to do.
 *
 * @module
 */
import type { Position } from "../errors.ts";
import type { FinishedRun } from "../launch/run_policy.ts";
import type { Json } from "../json.ts";
import { type OverBudget, overBudget } from "../plan/over_budget.ts";
import { escapeText } from "../report/escape.ts";
import type { Style } from "../report/style.ts";

/** Lines of a stack that are printed. */
const MAX_STACK_LINES = 8;

/** An ended run. */
export interface RunEnded extends Pick<FinishedRun, "prepared" | "end"> {
  /** `budget` of every `budget_exceeded` record of the run. */
  readonly over: ReadonlySet<string>;
}

/** How the end is printed. */
export interface EndOptions {
  readonly style: Style;
  /** A path as the reader would name it. */
  shown(path: string): string;
}

/** What the JSON of a run says of the budget that ended it; nothing where none did. */
export function endFields(ended: RunEnded): Record<string, unknown> {
  const spent = spentOf(ended);
  if (spent === undefined) return {};
  const position = placeOf(ended, spent);
  return { budget: { ...spent, ...(position === undefined ? {} : { position }) } };
}

/** Says why a run ended. Lines without a newline; what came from the agent is escaped. */
export function endLines(ended: RunEnded, options: EndOptions): string[] {
  const { error, reason } = ended.end;
  const { bad } = options.style;
  const spent = spentOf(ended);
  return [
    ...(error === undefined ? [] : [`${bad("agent")}     ${thrownText(error)}`]),
    ...(reason === "agent_stalled"
      ? [`${bad("agent")}     the agent waits for something that never comes: no call, timer or answer is left`]
      : []),
    ...(spent === undefined ? [] : budgetLines(ended, spent, options)),
    ...controlLines(ended, options),
  ];
}

function thrownText({ name, message, stack }: { readonly [key: string]: Json }): string {
  const text = typeof stack === "string" && stack !== "" ? stack : `${String(name)}: ${String(message)}`;
  return text.split("\n").slice(0, MAX_STACK_LINES).map((line) => escapeText(line)).join("\n          ");
}

function budgetLines(ended: RunEnded, spent: OverBudget, { style, shown }: EndOptions): string[] {
  const { budget, limit, unit, what, raise } = spent;
  const position = placeOf(ended, spent);
  const at = position === undefined ? "the default" : placeText(position, shown);
  return [
    `${style.bad("budget")}    ${budget} of ${limit} ${unit} is used up (${at}): ${what}`,
    `          ${raise === null ? "no policy may allow more" : `to raise it: ${raise}`}`,
  ];
}

function controlLines({ end: { control } }: RunEnded, { style, shown }: EndOptions): string[] {
  if (control === undefined) return [];
  const { message, position, fix } = control;
  return [
    `${style.bad("control")}   ${escapeText(message)}`,
    ...(position === undefined ? [] : [`          at ${placeText(position, shown)}`]),
    ...(fix === undefined ? [] : [`          fix: ${escapeText(fix)}`]),
  ];
}

function placeText({ file, line, column }: Position, shown: (path: string) => string): string {
  return escapeText(`${shown(file)}:${line}:${column}`);
}

function spentOf({ prepared, end, over }: RunEnded): OverBudget | undefined {
  return overBudget(end.reason, over, prepared.plan.budgets);
}

/** Where the policy sets a budget; `undefined` where its default holds. */
function placeOf({ prepared: { loaded } }: RunEnded, { budget }: OverBudget): Position | undefined {
  return loaded.policy.budgets?.[budget] === undefined ? undefined : loaded.positionOf(`/budgets/${budget}`);
}
