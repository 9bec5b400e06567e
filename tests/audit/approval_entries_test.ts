import assert from "node:assert/strict";
import { type ApprovalEntry, approvalStatus, foldApprovals, standingOf } from "../../src/audit/approval_entries.ts";
import type { ApprovalRequest } from "../../src/audit/approval_request.ts";

const ID = "a".repeat(64);
const REQUEST: ApprovalRequest = {
  id: ID,
  tool: "echo",
  args: {},
  arg_bytes: 2,
  requirements: [],
  rule: "/approvals/require/0",
  policy: { name: "p", path: null, sha256: "0".repeat(64) },
  agent: { entry: null, sha256: "0".repeat(64) },
  plan: "0".repeat(64),
};

const at = (at_ms: number) => ({ id: ID, at_ms });
const pending = (ms: number): ApprovalEntry => ({
  ...at(ms),
  kind: "pending",
  request: REQUEST,
  run_id: "r",
  max_age_ms: 100,
});
const allowed = (ms: number, grant = "g"): ApprovalEntry => ({ ...at(ms), kind: "allowed", grant, reason: null });
const denied = (ms: number): ApprovalEntry => ({ ...at(ms), kind: "denied", reason: "no" });
const taken = (ms: number, grant = "g"): ApprovalEntry => ({
  ...at(ms),
  kind: "taken",
  grant,
  run_id: "r",
  call_id: "c1",
});
const returned = (ms: number, grant = "g"): ApprovalEntry => ({
  ...at(ms),
  kind: "returned",
  grant,
  run_id: "r",
  call_id: "c1",
});
const answered = (ms: number, answer: "allowed" | "denied"): ApprovalEntry => ({
  ...at(ms),
  kind: "answered",
  answer,
  via: "terminal",
  request: REQUEST,
  reason: null,
  run_id: "r",
  call_id: "c1",
});

/** Status and standing of what entries come to, at a time. */
function look(entries: readonly ApprovalEntry[], nowMs = 50, maxAgeMs = 100): readonly [string, string] {
  const item = foldApprovals(entries).get(ID);
  assert.ok(item !== undefined);
  return [approvalStatus(item, nowMs), standingOf(item, { nowMs, maxAgeMs }).status];
}

Deno.test("a grant serves one call, and each further call needs its own", () => {
  assert.deepEqual(look([pending(1)]), ["pending", "none"]);
  assert.deepEqual(look([pending(1), allowed(2)]), ["allowed", "granted"]);
  assert.deepEqual(look([pending(1), allowed(2), taken(3)]), ["used", "none"]);
  assert.deepEqual(look([pending(1), allowed(2, "g"), allowed(3, "h"), taken(4, "g")]), ["allowed", "granted"]);
  assert.deepEqual(look([allowed(2, "g"), allowed(3, "h"), taken(4, "g"), taken(5, "h")]), ["used", "none"]);
  const standing = standingOf(foldApprovals([allowed(2, "g"), allowed(3, "h")]).get(ID), { nowMs: 9, maxAgeMs: 100 });
  assert.deepEqual(standing, { status: "granted", grant: "g", ageMs: 7 }, "the oldest first");
});

Deno.test("a grant is there again when its call never started, but not after a denial, and not twice", () => {
  assert.deepEqual(look([allowed(2), taken(3), returned(4)]), ["allowed", "granted"]);
  assert.deepEqual(look([allowed(2), taken(3), returned(4), returned(5), taken(6)]), ["used", "none"]);
  assert.deepEqual(look([allowed(2), taken(3), denied(4), returned(5)]), ["denied", "denied"]);
  assert.deepEqual(look([allowed(2), taken(3), denied(4), allowed(5, "h"), returned(6), taken(7, "h")]), [
    "used",
    "none",
  ]);
  assert.deepEqual(look([pending(1), returned(2, "never given")]), ["pending", "none"]);
});

Deno.test("what is older than it may be is stale, and so is what was decided in the future", () => {
  assert.deepEqual(look([pending(1), allowed(2)], 102), ["allowed", "granted"]);
  assert.deepEqual(look([pending(1), allowed(2)], 103), ["stale", "stale"]);
  assert.deepEqual(look([pending(1), denied(2)], 103), ["denied", "stale"]);
  assert.deepEqual(look([pending(1), allowed(200)], 100), ["stale", "stale"]);
  assert.deepEqual(look([pending(1), allowed(2), pending(110)], 111), ["pending", "stale"]);
  assert.deepEqual(look([pending(1), allowed(2), allowed(100, "h")], 103), ["allowed", "granted"]);
});

Deno.test("a denial of the inbox holds and takes the grants along; one of a running call was for that call", () => {
  assert.deepEqual(look([pending(1), allowed(2), denied(3)]), ["denied", "denied"]);
  assert.deepEqual(look([pending(1), denied(3), allowed(4)]), ["allowed", "granted"]);
  assert.deepEqual(look([answered(3, "denied")]), ["denied", "none"]);
  assert.deepEqual(look([answered(3, "allowed")]), ["used", "none"]);
});

Deno.test("a request that the log does not know stands nowhere", () => {
  assert.deepEqual(standingOf(undefined, { nowMs: 1, maxAgeMs: 1 }), { status: "none" });
});
