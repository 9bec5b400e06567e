/**
 * A tool's definition as pure data: what people, models, policies and locks know of it.
 *
 * @module
 */
import { toJsonSchema } from "@valibot/to-json-schema";
import { digest, type Json, type JsonObject } from "../json.ts";
import type { AuditMode, Effect, Tool, ToolAuthority } from "./define.ts";

/** The manifest of one tool. */
export interface ToolManifest {
  /** What agents call and policies grant. */
  readonly name: string;
  /** Group of the tool, for people. */
  readonly family: string;
  /** One line for people and models. */
  readonly summary: string;
  /** What a call does to the world. */
  readonly effect: Effect;
  /** What the tool needs beside its name; nothing, where empty. */
  readonly authority: ToolAuthority;
  /** Limits of the tool's own; the policy's apply as well. */
  readonly limits: { readonly timeoutMs?: number; readonly replyBytes?: number };
  /** What the log keeps of each argument and of the result. */
  readonly audit: { readonly args: Readonly<Record<string, AuditMode>>; readonly result: AuditMode };
  /** What the tool does not do, where a reader might think it does. */
  readonly nonClaims: readonly string[];
  /** JSON Schema 2020-12 of the arguments. */
  readonly argsSchema: JsonObject;
  /** JSON Schema 2020-12 of the result. */
  readonly resultSchema: JsonObject;
  /** SHA-256 over the canonical form of every other field. */
  readonly digest: string;
}

/** The committed form of all manifests, keyed by tool name. */
export type ToolManifests = Readonly<Record<string, ToolManifest>>;

/**
 * Derives the manifest of a tool.
 *
 * @throws {Error} If a schema cannot be expressed as JSON Schema; such checks belong into `prepare`.
 */
export async function manifestOf(tool: Tool): Promise<ToolManifest> {
  const body = {
    name: tool.name,
    family: tool.family,
    summary: tool.summary,
    effect: tool.effect,
    authority: tool.authority,
    limits: tool.limits,
    audit: tool.audit,
    nonClaims: tool.nonClaims,
    argsSchema: toJsonSchema(tool.args, {
      errorMode: "throw",
      typeMode: "input",
      target: "draft-2020-12",
    }) as unknown as JsonObject,
    resultSchema: toJsonSchema(tool.result, {
      errorMode: "throw",
      typeMode: "input",
      target: "draft-2020-12",
    }) as unknown as JsonObject,
  };
  const plain = JSON.parse(JSON.stringify(body)) as typeof body;
  return { ...plain, digest: await digest(plain as unknown as Json) };
}
