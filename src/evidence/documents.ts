/**
 * What a bundle says beside the log, taken from the log: sources, controls, written files. Pure.
 *
 * @module
 */
import type { Record as AuditRecord } from "../audit/record.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { LeftOut, Manifest } from "./manifest.ts";
import { LOG_FILE, MANIFEST_FILE } from "./manifest.ts";

/** Entries of the source manifest, at most: a log may be larger than the memory. */
const MAX_SOURCES = 100_000;

/** Fields of `run_start` that tell what held the run, in the order they are written. */
const CONTROL_FIELDS = [
  "name",
  "isolation",
  "deno",
  "platform",
  "flags",
  "budgets",
  "clock",
  "seed",
  "locked",
  "command",
  "process",
  "unsafe",
  "expect_denials",
  "expect_events",
  "first_sight",
] as const;

/** Gathers the documents of one run from its records, in order. */
export class Documents {
  #start: AuditRecord | undefined;
  #end: AuditRecord | undefined;
  #attested: AuditRecord | undefined;
  #artifacts: AuditRecord | undefined;
  readonly #sources: Json[] = [];
  #omitted = 0;

  /** Takes the next record, redacted. */
  take(record: AuditRecord): void {
    switch (record.type) {
      case "run_start":
        this.#start ??= record;
        break;
      case "fs_read_source_manifest":
        this.#takeSources(record);
        break;
      case "authority_check":
        this.#attested ??= record;
        break;
      case "run_artifact_manifest":
        this.#artifacts = record;
        break;
      case "run_end":
        this.#end = record;
        break;
    }
  }

  #takeSources({ root, entries }: AuditRecord): void {
    for (const entry of Array.isArray(entries) ? entries : []) {
      if (this.#sources.length >= MAX_SOURCES) this.#omitted++;
      else this.#sources.push(isJsonObject(entry) ? { root: root ?? null, ...entry } : entry);
    }
  }

  /** The first record; `undefined` where the log has none. */
  get start(): AuditRecord | undefined {
    return this.#start;
  }

  /** The last record of the run; `undefined` where it has no end. */
  get end(): AuditRecord | undefined {
    return this.#end;
  }

  /** What the agent consisted of, and what lay below its read roots: paths and digests, no texts. */
  sources(): JsonObject {
    return {
      type: "agent_source_manifest",
      version: 1,
      agent: this.#start?.agent ?? null,
      tools: this.#start?.tools ?? {},
      fs_read: this.#sources,
      omitted: this.#omitted,
    };
  }

  /** What held the run: flags, budgets, what the host attested. */
  controls(): JsonObject {
    const start = this.#start;
    const held = CONTROL_FIELDS.flatMap((name): [string, Json][] => {
      const value = start !== undefined && Object.hasOwn(start, name) ? start[name] : undefined;
      return value === undefined ? [] : [[name, value]];
    });
    const attested = this.#attested;
    return {
      type: "agent_control_snapshot",
      version: 1,
      ...Object.fromEntries(held),
      attested: attested === undefined ? null : { grants: attested.grants ?? null, refused: attested.refused ?? null },
    };
  }

  /** What the run wrote, as its last record but one says; `complete` is false where the log has no such record. */
  artifacts(): JsonObject {
    const type = "agent_artifact_manifest";
    if (this.#artifacts === undefined) return { type, complete: false, artifacts: [] };
    const { seq: _, at_ms: __, prev: ___, hash: ____, type: _____, ...fields } = this.#artifacts;
    return { type, complete: true, ...fields };
  }
}

/** The text for whoever gets the bundle. */
export function readmeText(
  { audit, run, redacted, left_out, nonclaims, entries }: Omit<Manifest, "digest" | "signature" | "type" | "version">,
): string {
  const list = (items: readonly string[]) => items.length === 0 ? ["  none"] : items.map((item) => `  ${item}`);
  const lines = [
    `Evidence of the run ${run.run_id}: ${run.status}${run.reason === null ? "" : ` (${run.reason})`}`,
    "",
    "Check it:",
    "  twokey bundle-verify <this folder>",
    "  twokey bundle-verify <this folder> --key <public key in PEM>   where it is signed",
    "",
    `${MANIFEST_FILE} lists every other file with its size and SHA-256 (sha256sum <file> prints the same). Its own`,
    "digest, and its signature where it has one, are over the canonical JSON (RFC 8785) of all its fields but these two.",
    "",
    `${LOG_FILE} is a chain of hashes that ends in ${audit.head}.`,
    audit.redacted_records === 0
      ? "Nothing in it was replaced: it is the run's own log, with the head that the run printed."
      : `In ${audit.redacted_records} of ${audit.records} records something was replaced, so it is a chain of its own.`,
    `The run's own log has ${audit.original.bytes} bytes, SHA-256 ${audit.original.sha256},`,
    ...(audit.redacted_records === 0
      ? [`and the head ${audit.original.head}: compare that with the one that the run printed.`]
      : [
        `and the head ${audit.original.head}, as whoever made the bundle says: the bundle`,
        "cannot show it, so a head that is right says nothing of the log that lies here.",
      ]),
    ...(audit.original.torn_tail ? ["Its last line was cut off, and is left out."] : []),
    "",
    "Files:",
    ...list(entries.map(({ path, bytes }) => `${path} (${bytes} bytes)`)),
    "",
    "Changed because they held what looked like a secret:",
    ...list(redacted),
    "",
    "Left out:",
    ...list(left_out.map(({ what, why }: LeftOut) => `${what}: ${why}`)),
    "",
    "Not claimed:",
    ...list(nonclaims),
  ];
  return `${lines.join("\n")}\n`;
}
