/**
 * What a run wrote, gathered from its own records for the last but one of them.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { Plan } from "../plan/plan.ts";

/** Files that are listed; further ones are counted. */
const MAX_LISTED = 1000;

/** Longest path that is listed, in UTF-16 units; a longer one is cut, which its digest does not depend on. */
const MAX_PATH = 4096;

/** How the run ended, as its last record says. */
export interface LedgerEnd {
  readonly status: "ok" | "error";
  readonly reason: string;
}

/** Gathers the files of one run. */
export class ArtifactLedger {
  readonly #plan: Plan;
  readonly #listed: JsonObject[] = [];
  #omitted = 0;
  #bytes = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** Takes a record of the host. What it says of a file is believed as far as the record is. */
  saw({ type, tool, call_id, result }: RecordBody): void {
    if (type !== "tool_result" || typeof tool !== "string" || !isJsonObject(result)) return;
    if (!Object.hasOwn(this.#plan.tools, tool) || this.#plan.tools[tool]?.fs !== "write") return;
    const { path, bytes, sha256 } = result;
    if (typeof path !== "string" || typeof bytes !== "number" || typeof sha256 !== "string") return;
    if (!/^[0-9a-f]{64}$/.test(sha256)) return;
    this.#bytes += bytes;
    if (this.#listed.length >= MAX_LISTED) this.#omitted++;
    else this.#listed.push({ call_id: call_id ?? null, tool, path: path.slice(0, MAX_PATH), bytes, sha256 });
  }

  /** The body of the `run_artifact_manifest` record. @param planDigest SHA-256 of the plan, as `run_start` says. */
  record({ status, reason }: LedgerEnd, planDigest: Json): RecordBody {
    const { agent, isolation, policy, tools } = this.#plan;
    return {
      type: "run_artifact_manifest",
      version: 1,
      status,
      reason,
      policy: { ...policy },
      plan: planDigest,
      isolation,
      agent: agent === null ? null : { entry: agent.entry, modules: agent.modules.length },
      tools: Object.keys(tools),
      artifacts: this.#listed,
      artifact_bytes: this.#bytes,
      omitted: this.#omitted,
    };
  }
}
