/**
 * What the records of calls to models say and keep.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import type { ModelPlan } from "../plan/model_plan.ts";
import type { Plan } from "../plan/plan.ts";
import type { AuditMode, Tool } from "../tool/define.ts";
import type { Credentials } from "./credentials.ts";

/**
 * What the log keeps of a tool's arguments and results: what its definition says, or the texts where the policy wants
 * them. The redactor takes known secrets out of those as of everything.
 */
export function auditOf({ model }: Plan, { authority, audit }: Tool): Tool["audit"] {
  if (authority.model === undefined || model?.audit !== "redacted") return audit;
  const args = Object.fromEntries(Object.keys(audit.args).map((name): [string, AuditMode] => [name, "keep"]));
  return { args, result: "keep" };
}

/** Who asks, also where nobody does, and what the log keeps; nothing for a tool that asks no model. */
export function modelNote({ model, tools }: Plan, tool: string, credentials: Credentials): JsonObject {
  const service = Object.hasOwn(tools, tool) ? tools[tool]?.service : undefined;
  if (model === undefined || service !== "model") return {};
  const credential = credentials.of(tool);
  return {
    credential_mode: credential?.mode ?? "none",
    credential_env: credential?.env ?? null,
    ...transcriptNote(model),
  };
}

function transcriptNote({ audit }: ModelPlan): JsonObject {
  const isKept = audit === "redacted";
  const disposition = isKept ? "redacted_audit_fields_only" : "shape_and_hash_only";
  return {
    transcript_persistence: isKept ? "metadata_and_redacted_payload_fields" : "metadata_only",
    prompt_disposition: disposition,
    output_disposition: disposition,
    // A text without its secrets is still the text: only a log without it may say that it holds none
    raw_prompt_persisted: isKept,
    raw_output_persisted: isKept,
  };
}
