/**
 * The manifest of an evidence bundle: what is in it, how its log relates to the original, its digest and its signature.
 *
 * @module
 */
import { DataError } from "../errors.ts";
import { escapeJson } from "../report/escape.ts";
import { canonical, isJsonObject, type Json, sha256 } from "../json.ts";

/** Name of the manifest; it lists every other file. */
export const MANIFEST_FILE = "evidence-bundle.json";

/** Name of the log in a bundle. */
export const LOG_FILE = "audit.jsonl";

/** Name of the plan in a bundle. */
export const PLAN_FILE = "plan.json";

/** Files that a bundle lists, at most. */
const MAX_ENTRIES = 64;

/** One file. */
export interface Entry {
  /** Relative to the bundle's folder; of letters, digits, `.`, `_`, `-` and `/`. */
  readonly path: string;
  readonly bytes: number;
  /** 64 lower-case hexadecimal digits. */
  readonly sha256: string;
}

/** The log as it was when the bundle was made, beside what the bundle holds of it. */
export interface LogRelation {
  readonly file: string;
  readonly records: number;
  /** Hash of the bundled log's last record. */
  readonly head: string;
  /** `unfinished`: the run has no end, because it went on or its launcher died. */
  readonly verdict: "consistent" | "unfinished";
  /** Records of the original in which something was replaced; at 0 both heads are the same. */
  readonly redacted_records: number;
  readonly original: {
    /** Of the whole file, also of a last line that was cut off. */
    readonly bytes: number;
    readonly sha256: string;
    /** Hash of the original's last whole record: what the run printed. */
    readonly head: string;
    /** Whether the last line was cut off; it is not in the bundle. */
    readonly torn_tail: boolean;
  };
}

/** What the bundle is about. */
export interface RunRelation {
  readonly run_id: string;
  /** `unfinished` where the log has no end. */
  readonly status: "ok" | "error" | "unfinished";
  readonly reason: string | null;
  readonly started_ms: number | null;
  readonly ended_ms: number | null;
  readonly policy_digest: string | null;
  readonly plan_digest: string | null;
}

/** Something that a reader might look for and does not find. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
}

/** What is digested and signed. */
export interface ManifestBody {
  readonly type: "agent_evidence_bundle";
  readonly version: 1;
  /** Milliseconds since the Unix epoch, by the clock of whoever made the bundle. */
  readonly created_ms: number;
  readonly run: RunRelation;
  readonly audit: LogRelation;
  /** Files whose text was changed, because it held what looked like a secret. */
  readonly redacted: readonly string[];
  readonly left_out: readonly LeftOut[];
  readonly nonclaims: readonly string[];
  /** Every file but the manifest, sorted by path. */
  readonly entries: readonly Entry[];
}

/** A signature over the canonical JSON of the body. */
export interface Signature {
  readonly algorithm: "Ed25519";
  /** SHA-256 of the public key's SPKI form. */
  readonly key_id: string;
  /** Base64. */
  readonly value: string;
}

/** A whole manifest. */
export interface Manifest extends ManifestBody {
  /** SHA-256 over the canonical JSON of the body. */
  readonly digest: string;
  readonly signature: Signature | "unsigned";
}

/** What a bundle does not claim. */
export const NONCLAIMS: readonly string[] = Object.freeze([
  "that the log is the one that the run wrote: where redacted_records is 0, compare audit.original.head with the head " +
  "that the run printed; elsewhere that head is the claim of whoever made the bundle",
  "that what the agent was told, or what it made of it, is true",
  "who made the bundle, unless it is signed and the key is yours to trust",
  "when it was made: the time is that of the machine which made it",
  "that nothing is confidential: secrets are removed by field name, by known value and by form, names and paths are not",
]);

/** The bytes that are digested and signed: canonical JSON (RFC 8785) of the body. */
export function signedBytes(body: ManifestBody): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(canonical(bodyOf(body)));
}

/** Digests a body, and puts it and a signature together. */
export async function sealManifest(body: ManifestBody, signature: Signature | "unsigned"): Promise<Manifest> {
  return { ...bodyOf(body), digest: await sha256(signedBytes(body)), signature };
}

/** The only text that a manifest has: nothing stands in it that is not digested, or is shown otherwise than it is. */
export function manifestText(manifest: Manifest): string {
  const { digest, signature } = manifest;
  return `${escapeJson(JSON.stringify({ ...bodyOf(manifest), digest, signature }, null, 2))}\n`;
}

function bodyOf(manifest: ManifestBody): ManifestBody {
  const { type, version, created_ms, run, audit, redacted, left_out, nonclaims, entries } = manifest;
  return { type, version, created_ms, run, audit, redacted, left_out, nonclaims, entries };
}

/**
 * Parses a manifest; says nothing of whether it is right.
 *
 * @throws {DataError} `evidence_invalid`, if it is none of this version.
 */
export function parseManifest(text: string): Manifest {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (cause) {
    throw invalid("it is not JSON", cause);
  }
  if (!isJsonObject(value) || value.type !== "agent_evidence_bundle") throw invalid("it is no manifest of a bundle");
  if (value.version !== 1) throw invalid("it is of another version");
  const { entries, audit, run, signature, digest, redacted, left_out, nonclaims, created_ms } = value;
  const isTexts = (list: Json | undefined) => Array.isArray(list) && list.every((item) => typeof item === "string");
  const isGood = Array.isArray(entries) && entries.length <= MAX_ENTRIES && entries.every(isEntry) &&
    isLog(audit) && isJsonObject(run) && typeof run.run_id === "string" && isDigest(digest) &&
    (signature === "unsigned" || isSignature(signature)) && isTexts(redacted) && isTexts(nonclaims) &&
    Array.isArray(left_out) && left_out.every(isLeftOut) && typeof created_ms === "number";
  if (!isGood) throw invalid("it does not have the form of one");
  return value as unknown as Manifest;
}

/** What is wrong with the path of an entry; `undefined` where nothing is. */
export function pathProblemOf(path: string): string | undefined {
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) return "it is absolute";
  if (path.split("/").some((part) => part === "..")) return "it leads out of the bundle";
  if (!/^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*){0,3}$/.test(path) || path.length > 200) {
    return "it is no plain relative path";
  }
  if (path.toLowerCase() === MANIFEST_FILE) return "it is the manifest itself";
}

function isEntry(value: Json): boolean {
  return isJsonObject(value) && typeof value.path === "string" && isDigest(value.sha256) && isCount(value.bytes);
}

function isLog(value: Json | undefined): boolean {
  return isJsonObject(value) && typeof value.file === "string" && isDigest(value.head) && isCount(value.records) &&
    isCount(value.redacted_records) && (value.verdict === "consistent" || value.verdict === "unfinished") &&
    isJsonObject(value.original) && isDigest(value.original.head) && isDigest(value.original.sha256);
}

function isLeftOut(value: Json): boolean {
  return isJsonObject(value) && typeof value.what === "string" && typeof value.why === "string";
}

function isSignature(value: Json | undefined): boolean {
  return isJsonObject(value) && Object.keys(value).length === 3 && value.algorithm === "Ed25519" &&
    isDigest(value.key_id) &&
    typeof value.value === "string" && /^[A-Za-z0-9+/]{86}==$/.test(value.value);
}

function isDigest(value: Json | undefined): boolean {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}

function isCount(value: Json | undefined): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function invalid(what: string, cause?: unknown): DataError {
  return new DataError("evidence_invalid", `Cannot verify the bundle: ${MANIFEST_FILE}: ${what}`, { cause });
}
