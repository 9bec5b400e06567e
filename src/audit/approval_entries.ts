/**
 * The entries of the approval log, and what they come to for each request. Pure: the log itself is the launcher's.
 *
 * @module
 */
import type { ApprovalRequest } from "./approval_request.ts";

/** What every entry has. */
interface Entry {
  /** The request, 64 hexadecimal digits. */
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly at_ms: number;
}

/** One entry, as it is written; the log adds its number and its seal. */
export type ApprovalEntry =
  & Entry
  & (
    /** A run stopped at the call. */
    | {
      readonly kind: "pending";
      readonly request: ApprovalRequest;
      readonly run_id: string;
      readonly max_age_ms: number;
    }
    /** Somebody allowed one call, from outside of a run. */
    | { readonly kind: "allowed"; readonly grant: string; readonly reason: string | null }
    /** Somebody denied it, from outside of a run; it stays denied until it is allowed, or the denial is stale. */
    | { readonly kind: "denied"; readonly reason: string | null }
    /** A person or a program was asked while the run went on. The answer was for that one call. */
    | {
      readonly kind: "answered";
      readonly answer: "allowed" | "denied";
      readonly via: "terminal" | "callback";
      readonly request: ApprovalRequest;
      readonly reason: string | null;
      readonly run_id: string;
      readonly call_id: string;
    }
    /** A run took a grant for its call: nobody else can. */
    | { readonly kind: "taken"; readonly grant: string; readonly run_id: string; readonly call_id: string }
    /** The log was written anew, with what can still matter: nothing of an older one fits behind it. */
    | { readonly kind: "compacted" }
    /** The call never started, so the grant is there again. */
    | { readonly kind: "returned"; readonly grant: string; readonly run_id: string; readonly call_id: string }
  );

/** What became of a request. */
export interface ApprovalItem {
  readonly id: string;
  /** As the last run that asked wrote it down: redacted, long texts cut. `null` where the log never held it. */
  readonly request: ApprovalRequest | null;
  /** When a run first stopped at it since the last decision, or asked on the spot; `null` where neither did. */
  readonly asked_ms: number | null;
  /** The run that did. */
  readonly run_id: string | null;
  /** Whether a run stopped at it and nobody has decided since. */
  readonly open: boolean;
  /** Grants that nobody has used, oldest first. */
  readonly grants: readonly { readonly grant: string; readonly at_ms: number }[];
  /** Calls that an approval let run. */
  readonly used: number;
  /** The last decision. */
  readonly decision: {
    readonly status: "allowed" | "denied";
    readonly via: "inbox" | "terminal" | "callback";
    readonly at_ms: number;
    readonly reason: string | null;
  } | null;
  /** Milliseconds that an approval holds, as the policy of the last run that asked says. */
  readonly max_age_ms: number | null;
}

type Mutable = { -readonly [K in keyof ApprovalItem]: ApprovalItem[K] };

/** Adds up the entries of a log: one item for each request, in the order they were first asked for. */
export function foldApprovals(entries: readonly ApprovalEntry[]): Map<string, ApprovalItem> {
  const items = new Map<string, Mutable>();
  const given = new Map<string, { readonly id: string; readonly at_ms: number }>();
  for (const entry of entries) {
    if (entry.kind === "compacted") continue;
    const item = items.get(entry.id) ?? emptyItem(entry.id);
    items.set(entry.id, item);
    switch (entry.kind) {
      case "pending":
        item.request = entry.request;
        item.asked_ms = entry.at_ms;
        item.run_id = entry.run_id;
        item.max_age_ms = entry.max_age_ms;
        item.open = true;
        break;
      case "allowed":
        given.set(entry.grant, { id: entry.id, at_ms: entry.at_ms });
        item.grants = [...item.grants, { grant: entry.grant, at_ms: entry.at_ms }];
        item.open = false;
        item.decision = { status: "allowed", via: "inbox", at_ms: entry.at_ms, reason: entry.reason };
        break;
      case "denied":
        item.grants = [];
        // Also the ones that a run has taken and may return.
        for (const [grant, { id }] of given) if (id === entry.id) given.delete(grant);
        item.open = false;
        item.decision = { status: "denied", via: "inbox", at_ms: entry.at_ms, reason: entry.reason };
        break;
      case "answered":
        item.request = entry.request;
        item.asked_ms = entry.at_ms;
        item.run_id = entry.run_id;
        item.open = false;
        item.decision = { status: entry.answer, via: entry.via, at_ms: entry.at_ms, reason: entry.reason };
        if (entry.answer === "allowed") item.used++;
        break;
      case "taken":
        item.grants = item.grants.filter(({ grant }) => grant !== entry.grant);
        item.used++;
        break;
      case "returned": {
        const back = given.get(entry.grant);
        if (back === undefined || item.grants.some(({ grant }) => grant === entry.grant)) break;
        item.grants = [{ grant: entry.grant, at_ms: back.at_ms }, ...item.grants];
        item.used--;
        break;
      }
    }
  }
  return items;
}

/**
 * The entries that can still matter, in their order: requests that wait, approvals that nobody has used and that still
 * hold, denials that still do. Without the others every request stands where it stood, but for how often it was used.
 */
export function liveEntries(entries: readonly ApprovalEntry[], nowMs: number): ApprovalEntry[] {
  const items = foldApprovals(entries);
  const live = new Map([...items].filter(([, item]) => {
    const status = approvalStatus(item, nowMs);
    const time = { nowMs, maxAgeMs: item.max_age_ms ?? Infinity };
    return item.open || status === "allowed" || standingOf(item, time).status === "denied";
  }));
  const last = new Map<string, ApprovalEntry>();
  for (const entry of entries) last.set(`${entry.kind} ${entry.id}`, entry);
  return entries.filter((entry) => {
    const item = live.get(entry.id);
    if (item === undefined) return false;
    if (entry.kind === "allowed") return item.grants.some(({ grant }) => grant === entry.grant);
    return (entry.kind === "pending" || entry.kind === "denied") && last.get(`${entry.kind} ${entry.id}`) === entry;
  });
}

function emptyItem(id: string): Mutable {
  return {
    id,
    request: null,
    asked_ms: null,
    run_id: null,
    open: false,
    grants: [],
    used: 0,
    decision: null,
    max_age_ms: null,
  };
}

/** How many requests of a policy wait. Another text of a policy is the same one where it stands in the same place. */
export function countOpen(items: ReadonlyMap<string, ApprovalItem>, { policy }: ApprovalRequest): number {
  const name = policy.path ?? policy.sha256;
  return [...items.values()].filter(({ open, request }) =>
    open && request !== null && (request.policy.path ?? request.policy.sha256) === name
  ).length;
}

/** What a request is, for people. */
export type ApprovalStatus = "pending" | "allowed" | "denied" | "stale" | "used";

/** The status of a request at a time. */
export function approvalStatus(item: ApprovalItem, nowMs: number): ApprovalStatus {
  const maxAgeMs = item.max_age_ms ?? Infinity;
  if (item.grants.some(({ at_ms }) => isFresh(at_ms, { nowMs, maxAgeMs }))) return "allowed";
  if (item.open) return "pending";
  if (item.grants.length > 0) return "stale";
  if (item.decision?.status === "denied") return "denied";
  return item.used > 0 ? "used" : "pending";
}

/** What the log says to a run that is at a call. */
export type Standing =
  | { readonly status: "granted"; readonly grant: string; readonly ageMs: number }
  | { readonly status: "denied" | "stale"; readonly ageMs: number; readonly reason: string | null }
  | { readonly status: "none" };

/** Where a request stands: the oldest grant that still holds, a denial that does, or one of both that is too old. */
export function standingOf(
  item: ApprovalItem | undefined,
  time: { readonly nowMs: number; readonly maxAgeMs: number },
): Standing {
  if (item === undefined) return { status: "none" };
  const { nowMs } = time;
  const fresh = item.grants.find(({ at_ms }) => isFresh(at_ms, time));
  if (fresh !== undefined) return { status: "granted", grant: fresh.grant, ageMs: nowMs - fresh.at_ms };
  const { decision, grants } = item;
  // An answer that was given while a run went on was for that call alone.
  const isDenied = decision?.status === "denied" && decision.via === "inbox";
  if (isDenied && isFresh(decision.at_ms, time)) {
    return { status: "denied", ageMs: nowMs - decision.at_ms, reason: decision.reason };
  }
  const old = isDenied ? decision.at_ms : grants.at(-1)?.at_ms;
  return old === undefined ? { status: "none" } : { status: "stale", ageMs: nowMs - old, reason: null };
}

/** A time that has not come yet is not fresh: somebody set a clock. */
function isFresh(atMs: number, { nowMs, maxAgeMs }: { readonly nowMs: number; readonly maxAgeMs: number }): boolean {
  return atMs > 0 && atMs <= nowMs && nowMs - atMs <= maxAgeMs;
}
