/**
 * A request for an approval, and the inbox of requests, as people see them.
 *
 * Whoever says yes must see what will run and nothing else: every text is shown as JSON in which only letters, digits,
 * punctuation, symbols and the plain blank stand for themselves. Nothing moves the cursor, hides, reorders, stacks on
 * another line or looks like the end of a text.
 *
 * @module
 */
import { type ApprovalItem, approvalStatus } from "../audit/approval_entries.ts";
import type { ApprovalRequest, ApprovedNeed } from "../audit/approval_request.ts";
import { type Json, type JsonObject, utf8Length } from "../json.ts";
import { breakLine } from "./break_line.ts";
import { escapeText } from "./escape.ts";
import { withoutProject } from "./reasons.ts";
import { PLAIN, type Style } from "./style.ts";
import { tableLines } from "./table.ts";
import { instant, span } from "./units.ts";

/** Characters of one argument, and arguments, that are shown before there is a cut. */
const MAX_VALUE = 1000;
const MAX_ARGS = 24;
/** Requirements that are shown before there is a cut. */
const MAX_NEEDS = 12;

/**
 * Everything that is not a letter, a digit, punctuation, a symbol or the plain blank; every blank behind another, which
 * could move a text to where it passes for another line; letters and symbols that look like nothing; and the scripts that
 * run from right to left, which reorder what stands beside them.
 */
const UNSHOWN_REGEXP =
  /[^\p{L}\p{N}\p{P}\p{S} ]|(?<= ) |\p{Default_Ignorable_Code_Point}|[\u2800\ufffc\u{1d159}\u{13441}\u{13442}]|[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/gu;

/** Prints a value as JSON on one line, with an escape for whatever could deceive. The text is JSON of the same value. */
export function plainJson(value: Json): string {
  return JSON.stringify(value).replaceAll(UNSHOWN_REGEXP, (character) => {
    let escaped = "";
    for (let at = 0; at < character.length; at++) {
      escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
    }
    return escaped;
  });
}

/** How a request is printed. */
export interface RequestOptions {
  readonly style?: Style;
  /** Real path of the project; places below it are named relative to it. */
  readonly project?: string;
  /** Shows all of it, however long. */
  readonly whole?: boolean;
  /** Columns of the terminal; default 80. Longer lines are broken, with a mark before the rest. */
  readonly columns?: number | undefined;
}

/** A request in lines, and whether something of it was cut. */
export interface PrintedRequest {
  readonly lines: readonly string[];
  readonly isCut: boolean;
}

/** Prints the one request that an approval is about. Lines without a newline; everything in them is escaped. */
export function requestLines(request: ApprovalRequest, options: RequestOptions = {}): PrintedRequest {
  const { style = PLAIN, project = null, whole = false, columns } = options;
  const { tool, args, requirements, policy, agent, rule, id } = request;
  const entries = Object.entries(args);
  const shownArgs = entries.slice(0, whole ? Infinity : MAX_ARGS).map(([name, value]) => argument(name, value, whole));
  const needs = requirements.slice(0, whole ? Infinity : MAX_NEEDS)
    .map((need) => needLines(need, { project, whole }));
  const isCut = [...shownArgs, ...needs].some(({ isCut }) => isCut) || entries.length > shownArgs.length ||
    requirements.length > needs.length;
  const [heading = "", ...lines] = [
    `approval  ${escapeText(tool, { max: 60 })}`,
    ...needs.flatMap(({ lines }) => lines),
    ...(requirements.length > needs.length ? [`          and ${requirements.length - needs.length} more`] : []),
    ...shownArgs.map(({ text }) => `  arg     ${text}`),
    ...(entries.length > shownArgs.length ? [`          and ${entries.length - shownArgs.length} more`] : []),
    ...(entries.length === 0 ? ["  arg     none"] : []),
    `  agent   ${escapeText(agent.entry?.replace(/^\$\{project\}\//, "") ?? "one call, without an agent")} (sha256 ${
      agent.sha256.slice(0, 12)
    }…)`,
    `  policy  ${escapeText(policy.name)} (sha256 ${policy.sha256.slice(0, 12)}…) asks: ${escapeText(rule)}`,
    `  id      ${id}`,
  ].flatMap((line) => breakLine(line, columns));
  // deno-lint-ignore no-control-regex
  if (/[^\x00-\x7f]/.test(JSON.stringify([args, requirements]))) {
    lines.push(style.warn("  mind    not all of it is ASCII: letters of other alphabets can look alike"));
  }
  return { lines: [style.heading(heading), ...lines], isCut };
}

/** What a call needs: the target, and for a program also where it would start and whether it is the one that is meant. */
function needLines(
  { kind, target, folder, program }: ApprovedNeed,
  { project, whole }: { readonly project: string | null; readonly whole: boolean },
): { readonly lines: readonly string[]; readonly isCut: boolean } {
  const text = unquoted(withoutProject(target, project));
  const isCut = !whole && text.length > MAX_VALUE;
  const shown = isCut ? `${text.slice(0, MAX_VALUE)}… (cut; ${utf8Length(text)} bytes in all)` : text;
  const below = (path: string) => path === project ? "./" : path.replace(/^(?!\/)/, "./");
  return {
    lines: [
      `  needs   ${unquoted(kind)} ${shown}`,
      ...(folder === undefined ? [] : [`  in      ${unquoted(below(withoutProject(folder, project)))}`]),
      ...(program === undefined ? [] : [
        `  program ${unquoted(program.path.replace(/^\$\{project\}\//, "./"))}`,
        `  sha256  ${program.sha256}`,
      ]),
    ],
    isCut,
  };
}

function argument(name: string, value: Json, whole: boolean): { readonly text: string; readonly isCut: boolean } {
  const text = plainJson(value);
  const label = /^\w{1,40}$/.test(name) ? name : plainJson(name);
  if (whole || text.length <= MAX_VALUE) return { text: `${label}: ${text}`, isCut: false };
  const bytes = utf8Length(JSON.stringify(value));
  return { text: `${label}: ${text.slice(0, MAX_VALUE)}… (cut; ${bytes} bytes of JSON in all)`, isCut: true };
}

/** A target, shown like any other text but without its quotes. */
function unquoted(text: string): string {
  return plainJson(text).slice(1, -1);
}

/** The counts of an inbox: requests by status. */
export interface InboxCounts {
  readonly pending: number;
  readonly allowed: number;
  readonly denied: number;
  readonly stale: number;
  readonly used: number;
  readonly total: number;
}

/** What neither the inbox nor an approval is. */
export const APPROVAL_NON_CLAIMS: readonly string[] = [
  "known secrets and fields with the names of secrets are redacted, and long texts may be cut; the id is over all of it",
  "an approval says that somebody with this user's state folder decided, not who it was",
];

/** An inbox as JSON. */
export function inboxJson(
  items: readonly ApprovalItem[],
  { path, foreign, nowMs }: { readonly path: string; readonly foreign: number; readonly nowMs: number },
): JsonObject {
  const listed = items.map((item) => ({ ...item, status: approvalStatus(item, nowMs) }));
  return JSON.parse(JSON.stringify({
    type: "agent_approval_inbox",
    schema_version: 1,
    approval_log: path,
    counts: countsOf(items, nowMs),
    foreign_lines: foreign,
    items: listed.map(({ id, status, request, asked_ms, run_id, grants, used, decision, max_age_ms }) => ({
      id,
      status,
      tool: request?.tool ?? null,
      args: request?.args ?? null,
      arg_bytes: request?.arg_bytes ?? null,
      requirements: request?.requirements ?? [],
      rule: request?.rule ?? null,
      policy: request?.policy ?? null,
      agent: request?.agent ?? null,
      asked_ms,
      run_id,
      unused_grants: grants.length,
      used,
      decision,
      max_age_ms,
    })),
    nonclaims: APPROVAL_NON_CLAIMS,
  }));
}

/** Counts requests by status. */
export function countsOf(items: readonly ApprovalItem[], nowMs: number): InboxCounts {
  const count = (status: string) => items.filter((item) => approvalStatus(item, nowMs) === status).length;
  return {
    pending: count("pending"),
    allowed: count("allowed"),
    denied: count("denied"),
    stale: count("stale"),
    used: count("used"),
    total: items.length,
  };
}

/** An inbox as a table, the newest request last, and what to do next. Lines without a newline; escaped. */
export function inboxLines(
  items: readonly ApprovalItem[],
  { style = PLAIN, project = null, columns = Infinity, foreign, nowMs }: {
    readonly style?: Style;
    /** Columns of the terminal, where it goes to one: there, longer lines are broken. */
    readonly columns?: number | undefined;
    readonly project?: string | null;
    readonly foreign: number;
    readonly nowMs: number;
  },
): string[] {
  const { pending, allowed, denied, used } = countsOf(items, nowMs);
  const [head, ...rows] = tableLines(
    ["id", "status", "tool", "what", "asked", "holds"],
    items.map((item) => [
      item.id.slice(0, 12),
      approvalStatus(item, nowMs),
      item.request?.tool ?? null,
      item.request === null ? null : whatText(item.request, project),
      instant(item.asked_ms),
      holdsText(item, nowMs),
    ]),
  );
  return [
    ...(head === undefined
      ? ["Nothing waits for an approval here"]
      : [style.heading(head), ...rows.flatMap((row) => breakLine(row, columns)), ""]),
    ...(head === undefined ? [] : [`${pending} pending, ${allowed} allowed, ${denied} denied, ${used} used`]),
    ...(pending > 0 ? [style.dim("twokey approval allow <id>, or deny <id>; show <id> prints the whole request")] : []),
    ...(foreign > 0
      ? [style.warn(`torn or not ours, so they say nothing: ${foreign} ${foreign === 1 ? "line" : "lines"} of the log`)]
      : []),
  ];
}

/** What a call is about, in a few words: what it needs, else its arguments. */
function whatText({ requirements, args }: ApprovalRequest, project: string | null): string {
  const [first] = requirements;
  if (first === undefined) return plainJson(args);
  const more = requirements.length > 1 ? ` and ${requirements.length - 1} more` : "";
  return `${unquoted(withoutProject(first.target, project))}${more}`;
}

function holdsText({ grants, max_age_ms: maxAgeMs }: ApprovalItem, nowMs: number): string | null {
  const newest = grants.at(-1);
  if (newest === undefined) return null;
  const times = grants.length > 1 ? `${grants.length} calls, ` : "";
  if (maxAgeMs === null) return `${times}one call`;
  const left = newest.at_ms + maxAgeMs - nowMs;
  const unit = left < 7_200_000 ? 60_000 : 3_600_000;
  return left <= 0 ? "no longer" : `${times}${span(Math.max(unit, Math.floor(left / unit) * unit))} more`;
}
