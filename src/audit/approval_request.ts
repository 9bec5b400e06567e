/**
 * What one approval is about: the one call that it lets run, and what that call is bound to.
 *
 * @module
 */
import { canonical, digest, type Json, type JsonObject, sha256, utf8Length } from "../json.ts";
import { shapeOf } from "./redact.ts";

/** The call that waits, as it will run if somebody says yes. */
export interface ApprovalRequest {
  /** 64 hexadecimal digits: {@linkcode approvalId} of everything that the approval is bound to. */
  readonly id: string;
  /** Tool that would run. */
  readonly tool: string;
  /** Its arguments as they were checked. Untrusted; what stands here is what runs, but for secrets and what was cut. */
  readonly args: JsonObject;
  /** UTF-8 bytes of the arguments as the agent sent them. */
  readonly arg_bytes: number;
  /** What the call needs, canonical. */
  readonly requirements: readonly ApprovedNeed[];
  /** JSON Pointer of the line of the policy that asks. */
  readonly rule: string;
  /** The policy: its name, where it stands, and the digest that the approval is bound to. */
  readonly policy: { readonly name: string; readonly path: string | null; readonly sha256: string };
  /** The agent: its entry and the digest of all of its code, to which the approval is bound. */
  readonly agent: { readonly entry: string | null; readonly sha256: string };
  /** Digest of the plan, to which the approval is bound. */
  readonly plan: string;
}

/** One thing that a call needs, as an approval is bound to it. */
export interface ApprovedNeed {
  /** One of the kinds of requirements. */
  readonly kind: string;
  /** Its canonical target. */
  readonly target: string;
  /** Real path of the folder that a program starts in, whatever words the call had for it, or none. */
  readonly folder?: string;
  /** The program that would run, as the launcher found it when the run started. */
  readonly program?: {
    /** As the plan names it. */
    readonly path: string;
    /** SHA-256 of its bytes. */
    readonly sha256: string;
  };
}

/** What an id is made of: with any other value it is another id. */
export interface ApprovalBinding {
  readonly tool: string;
  /** Unredacted. */
  readonly args: JsonObject;
  readonly requirements: readonly ApprovedNeed[];
  readonly policy: string;
  readonly agent: string;
  readonly plan: string;
}

/** SHA-256 over the canonical JSON of what an approval is bound to. Texts that only look alike give different ids. */
export function approvalId({ tool, args, requirements, policy, agent, plan }: ApprovalBinding): Promise<string> {
  const bound = requirements.map(({ kind, target, folder, program }) => ({
    kind,
    target,
    ...(folder === undefined ? {} : { folder }),
    ...(program === undefined ? {} : { program: { path: program.path, sha256: program.sha256 } }),
  }));
  return digest({ type: "twokey_approval_v1", tool, args, requirements: bound, policy, agent, plan });
}

/** UTF-8 bytes of arguments that are kept whole once they were decided on. */
const MAX_KEPT_BYTES = 4_096;
/** Characters that are kept of a text where the whole is too large. */
const MAX_TEXT = 1000;

/**
 * The arguments as the approval log keeps them once they were decided on: whole up to 4 KiB, else every long text cut
 * with the number of characters that are missing; where that is still too much, their shape and SHA-256. The id is over
 * all of them in any case.
 */
export async function keptArgs(args: JsonObject): Promise<JsonObject> {
  if (utf8Length(JSON.stringify(args)) <= MAX_KEPT_BYTES) return args;
  const cut = cutTexts(args) as JsonObject;
  if (utf8Length(JSON.stringify(cut)) <= MAX_KEPT_BYTES) return cut;
  const text = canonical(args);
  return { cut: true, bytes: utf8Length(text), sha256: await sha256(text), shape: shapeOf(args) };
}

function cutTexts(value: Json): Json {
  if (typeof value === "string") {
    if (value.length <= MAX_TEXT) return value;
    const head = value.slice(0, MAX_TEXT).toWellFormed();
    return `${head}… [${value.length - MAX_TEXT} more characters]`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map(cutTexts);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cutTexts(inner)]));
}
