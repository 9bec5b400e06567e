/**
 * Reading what a host wants approved. The host runs tools, so nothing of it is believed.
 *
 * @module
 */
import type { ApprovalRequest } from "../audit/approval_request.ts";
import { AuditError } from "../errors.ts";
import { isJsonObject, type Json } from "../json.ts";

/** Requirements of one call, at most; the host makes no more than a tool can name. */
const MAX_REQUIREMENTS = 10_000;

/** What a call needs, as its host names it. @throws {AuditError} If that is nothing a host could ask. */
export function requirementsOf(value: Json | undefined): ApprovalRequest["requirements"] {
  if (!Array.isArray(value) || value.length > MAX_REQUIREMENTS) throw notAQuestion();
  return (value as readonly Json[]).map((entry) => {
    if (!isJsonObject(entry) || typeof entry.kind !== "string" || typeof entry.target !== "string") {
      throw notAQuestion();
    }
    const { kind, target, folder } = entry;
    if (folder === undefined) return { kind, target };
    if (kind !== "command.execute" || typeof folder !== "string") throw notAQuestion();
    return { kind, target, folder };
  });
}

/** The refusal of a line that no question could be. */
export function notAQuestion(): AuditError {
  return new AuditError(
    "audit_approval",
    "Cannot take a line of the host: it asks for no approval that there could be",
  );
}
