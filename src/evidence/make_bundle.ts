/**
 * Makes an evidence bundle of one run: a folder of its own, whole or not at all.
 *
 * @module
 */
import { type Verdict, verifyAudit } from "../audit/reader.ts";
import type { Redactor } from "../audit/redact.ts";
import { scrubPatterns } from "../audit/secret_patterns.ts";
import { nameOf, parentOf, resolvePath } from "../authority/path.ts";
import { CreateError, DataError } from "../errors.ts";
import { escapeText } from "../report/escape.ts";
import { deriveFrom, README_FILE, readmeOf } from "./derived.ts";
import { digestFile } from "./file_digest.ts";
import {
  type LeftOut,
  LOG_FILE,
  type Manifest,
  MANIFEST_FILE,
  type ManifestBody,
  manifestText,
  NONCLAIMS,
  sealManifest,
  signedBytes,
} from "./manifest.ts";
import { redactLog } from "./redact_log.ts";
import { signBytes } from "./signature.ts";

/** A text that goes into a bundle beside the log. */
export interface BundleText {
  /** Name of the file. */
  readonly path: string;
  readonly text: string;
  /** Whether something in it was replaced already. */
  readonly isRedacted?: boolean;
}

/** What a bundle is made of. */
export interface BundleOptions {
  /** Path of the run's log. */
  readonly log: string;
  /** Folder to make; it may exist if it is empty. */
  readonly out: string;
  /** Policy, plan and lock, as far as they are those of the run; known secrets and their forms are removed. */
  readonly texts: readonly BundleText[];
  readonly leftOut: readonly LeftOut[];
  readonly redactor: Redactor;
  /** Private key in PEM. */
  readonly signKey?: string;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

/**
 * Makes a bundle. The files are readable for their owner alone.
 *
 * @throws {CreateError} If the folder is not empty or cannot be made; nothing is left behind then.
 * @throws {DataError} If the log is broken, or the key is none. @throws {InputError} If the log cannot be read.
 */
export async function makeBundle(options: BundleOptions): Promise<Manifest> {
  const out = resolvePath(Deno.cwd(), options.out);
  await assertFree(out, options.out);
  const checkedBytes = await sizeOf(options.log);
  const verdict = await verifyAudit(options.log);
  const isTorn = verdict.damage?.kind === "torn_tail";
  if (verdict.records === 0 || (verdict.verdict === "broken" && !isTorn)) {
    throw new DataError("evidence_log_broken", `Cannot bundle the log: it is not as it was written`, {
      ...(verdict.damage === null ? {} : { position: { file: options.log, line: verdict.damage.line, column: 1 } }),
      fix: "run `twokey audit verify` on it: it names what was done to the file",
    });
  }
  const staging = `${parentOf(out)}/.${nameOf(out)}.${crypto.randomUUID()}.tmp`;
  try {
    await Deno.mkdir(parentOf(out), { recursive: true });
    await Deno.mkdir(staging, { mode: 0o700 });
  } catch (cause) {
    throw cannotCreate(options.out, "the system refused", cause);
  }
  try {
    const manifest = await fill(staging, options, { verdict, isTorn, checkedBytes });
    await moveInto(staging, out, options.out);
    return manifest;
  } catch (error) {
    await Deno.remove(staging, { recursive: true }).catch(() => {});
    throw error;
  }
}

/** The log as it was checked. */
interface CheckedLog {
  readonly verdict: Verdict;
  /** Whether its last line was cut off. */
  readonly isTorn: boolean;
  readonly checkedBytes: number;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await Deno.stat(path)).size;
  } catch {
    return 0; // reading it says what is wrong
  }
}

async function fill(
  staging: string,
  options: BundleOptions,
  { verdict, isTorn, checkedBytes }: CheckedLog,
): Promise<Manifest> {
  const original = await digestFile(options.log, "audit.jsonl");
  // a log only ever grows: what has the length that was checked is what was checked
  if (original.bytes !== checkedBytes) {
    throw new DataError("evidence_moved", "Cannot bundle the log: the run goes on and writes to it", {
      fix: "Wait until it has ended",
    });
  }
  const log = `${staging}/${LOG_FILE}`;
  const copy = await redactLog({ from: options.log, to: log, verdict, redactor: options.redactor });
  const derived = await deriveFrom(log, verdict);
  const redacted: string[] = copy.changed > 0 ? [LOG_FILE] : [];
  for (const { path, text, isRedacted = false } of options.texts) {
    const clean = scrubPatterns(options.redactor.scrub(text));
    if (clean !== text || isRedacted) redacted.push(path);
    await write(staging, path, clean);
  }
  for (const [path, text] of derived.files) await write(staging, path, text);
  const partial = {
    created_ms: options.nowMs,
    run: derived.run,
    audit: {
      file: LOG_FILE,
      records: copy.records,
      head: copy.head,
      verdict: verdict.finished ? "consistent" : "unfinished",
      redacted_records: copy.changed,
      original: { ...original, head: verdict.head, torn_tail: isTorn },
    },
    redacted: redacted.toSorted(),
    left_out: options.leftOut,
    nonclaims: NONCLAIMS,
  } as const satisfies Partial<ManifestBody>;
  await write(staging, README_FILE, readmeOf({ ...partial, entries: await entriesOf(staging) }));
  const body: ManifestBody = {
    type: "agent_evidence_bundle",
    version: 1,
    ...partial,
    entries: await entriesOf(staging),
  };
  const signature = options.signKey === undefined ? "unsigned" : await signBytes(signedBytes(body), options.signKey);
  const manifest = await sealManifest(body, signature);
  await write(staging, MANIFEST_FILE, manifestText(manifest));
  return manifest;
}

async function entriesOf(folder: string): Promise<Manifest["entries"]> {
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).toSorted();
  return await Promise.all(names.map(async (path) => ({ path, ...await digestFile(`${folder}/${path}`, path) })));
}

async function write(folder: string, path: string, text: string): Promise<void> {
  await Deno.writeTextFile(`${folder}/${path}`, text, { createNew: true, mode: 0o600 });
}

async function assertFree(out: string, shown: string): Promise<void> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.lstat(out);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw cannotCreate(shown, "it cannot be reached", error);
  }
  if (!info.isDirectory) throw cannotCreate(shown, "something that is no folder is there");
  try {
    for await (const _ of Deno.readDir(out)) throw cannotCreate(shown, "the folder is not empty");
  } catch (error) {
    if (error instanceof CreateError) throw error;
    throw cannotCreate(shown, "it cannot be read", error);
  }
}

/** Gives a finished folder its name. An empty folder gives way; anything that came into it meanwhile stays. */
async function moveInto(staging: string, out: string, shown: string): Promise<void> {
  try {
    await Deno.rename(staging, out);
  } catch (cause) {
    throw cannotCreate(shown, "the folder is not empty, or the system refused", cause);
  }
}

function cannotCreate(shown: string, what: string, cause?: unknown): CreateError {
  return new CreateError("evidence_not_created", `Cannot make the bundle "${escapeText(shown)}": ${what}`, { cause });
}
