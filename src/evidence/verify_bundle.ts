/**
 * Checks an evidence bundle. Reads only; follows no link; reads no file that the manifest does not list.
 *
 * @module
 */
import { readRecords, type Verdict, verifyAudit } from "../audit/reader.ts";
import { DataError, InputError, TwokeyError } from "../errors.ts";
import { sha256 } from "../json.ts";
import { type Derived, deriveFrom, README_FILE, readmeOf } from "./derived.ts";
import { digestFile } from "./file_digest.ts";
import {
  LOG_FILE,
  type Manifest,
  MANIFEST_FILE,
  manifestText,
  parseManifest,
  pathProblemOf,
  PLAN_FILE,
  signedBytes,
} from "./manifest.ts";
import { checkSignature } from "./signature.ts";

/** Largest manifest that is read, in bytes. */
const MAX_MANIFEST_BYTES = 1024 * 1024;

/** Things in a folder that are looked at; a bundle has a dozen. */
const MAX_FILES = 10_000;

/** One thing that is not as it should be. */
export interface Finding {
  /** Stable slug: `changed`, `missing`, `extra`, `link`, `path`, `manifest`, `signature`, `log` or `mismatch`. */
  readonly kind: string;
  /** What it is about: a path in the bundle, as the bundle or its folder names it: untrusted text. */
  readonly path: string;
  readonly detail: string;
}

/** What checking a bundle found. */
export interface BundleVerdict {
  /**
   * - `authentic`: whole, and signed with the key that was given.
   * - `consistent`: whole in itself. Whoever can write the folder can also make it so, hence not `authentic`.
   * - `broken`: see `findings`.
   */
  readonly verdict: "authentic" | "consistent" | "broken";
  readonly run_id: string;
  /** SHA-256 of the manifest's body, as the manifest says. */
  readonly digest: string;
  readonly signed: boolean;
  /** Id of the key that it names; `null` where it is not signed. */
  readonly key_id: string | null;
  /** Files that are as the manifest says. */
  readonly files: number;
  /** Head of the run's own log, as the manifest says. */
  readonly original_head: string;
  /**
   * Whether the bundled log ends in that head, so that comparing it with what the run printed tells whether it is the
   * run's own. It is not where something was redacted: then the head is no more than the claim of the maker.
   */
  readonly head_is_proven: boolean;
  readonly findings: readonly Finding[];
}

/**
 * Checks a bundle.
 *
 * @param options `key`: public key in PEM; with it, an unsigned bundle is broken.
 * @throws {InputError} If the folder or its manifest cannot be read at all.
 * @throws {DataError} `evidence_invalid` if the manifest is none, `evidence_key` if the key is none.
 */
export async function verifyBundle(folder: string, options: { readonly key?: string } = {}): Promise<BundleVerdict> {
  const text = await readManifest(folder);
  const manifest = parseManifest(text);
  const findings: Finding[] = [];
  const find = (kind: string, path: string, detail: string): void => {
    findings.push({ kind, path, detail });
  };
  await checkManifest(manifest, text, find);
  await checkKey(manifest, options.key, find);
  const files = await checkFiles(folder, manifest, find);
  // a file that is not what the manifest says tells nothing more
  if (findings.length === 0) await checkLog(folder, manifest, find);
  if (findings.length === 0) await checkText(README_FILE, readmeOf(manifest), { manifest, find });
  const { signature } = manifest;
  const whole = options.key === undefined ? "consistent" : "authentic";
  return {
    verdict: findings.length > 0 ? "broken" : whole,
    run_id: manifest.run.run_id,
    digest: manifest.digest,
    signed: signature !== "unsigned",
    key_id: signature === "unsigned" ? null : signature.key_id,
    files,
    original_head: manifest.audit.original.head,
    head_is_proven: findings.length === 0 && manifest.audit.redacted_records === 0,
    findings,
  };
}

type Find = (kind: string, path: string, detail: string) => void;

async function readManifest(folder: string): Promise<string> {
  const path = `${folder}/${MANIFEST_FILE}`;
  try {
    const { isFile, size } = await Deno.lstat(path);
    if (!isFile) {
      throw new DataError("evidence_invalid", `Cannot verify the bundle: ${MANIFEST_FILE} is no regular file`);
    }
    if (size > MAX_MANIFEST_BYTES) {
      throw new DataError("evidence_invalid", `Cannot verify the bundle: ${MANIFEST_FILE} is larger than any manifest`);
    }
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await Deno.readFile(path));
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    if (cause instanceof TypeError) {
      throw new DataError("evidence_invalid", `Cannot verify the bundle: ${MANIFEST_FILE} is not UTF-8`, { cause });
    }
    throw new InputError("evidence_unreadable", `Cannot verify the bundle: its ${MANIFEST_FILE} cannot be read`, {
      cause,
    });
  }
}

/** The manifest is the one text that says what it says, and its digest is right. */
async function checkManifest(manifest: Manifest, text: string, find: Find): Promise<void> {
  if (await sha256(signedBytes(manifest)) !== manifest.digest) {
    find("manifest", MANIFEST_FILE, "its digest is not that of its fields: it was edited");
  } else if (manifestText(manifest) !== text) {
    find("manifest", MANIFEST_FILE, "its text holds more, or is written otherwise, than a manifest: it was edited");
  }
  const seen = new Set<string>();
  for (const { path } of manifest.entries) {
    const problem = pathProblemOf(path);
    if (problem !== undefined) find("path", path, problem);
    else if (seen.has(path.toLowerCase())) find("path", path, "it is listed twice, but for the case of letters");
    seen.add(path.toLowerCase());
  }
}

async function checkKey(manifest: Manifest, key: string | undefined, find: Find): Promise<void> {
  if (key === undefined) return;
  const { signature } = manifest;
  if (signature === "unsigned") return find("signature", MANIFEST_FILE, "it is not signed, and a key was given");
  switch (await checkSignature(signedBytes(manifest), signature, key)) {
    case "other_key":
      return find("signature", MANIFEST_FILE, "it is signed with another key than the one that was given");
    case "wrong":
      return find("signature", MANIFEST_FILE, "its signature is not one over its fields");
  }
}

/** Every file is listed, every listed file is there, and each is what the manifest says. Returns how many are. */
async function checkFiles(folder: string, manifest: Manifest, find: Find): Promise<number> {
  const listed = new Map(
    manifest.entries.filter(({ path }) => pathProblemOf(path) === undefined)
      .map((entry) => [entry.path, entry]),
  );
  const there = new Set<string>();
  await walk(folder, "", (path, kind) => {
    if (kind === "file") there.add(path);
    if (kind === "link") find("link", path, "it is a link, which a bundle never holds");
    else if (kind === "other") find("extra", path, "it is neither a file nor a folder");
    else if (kind === "file" && path !== MANIFEST_FILE && !listed.has(path)) {
      find("extra", path, "the manifest does not list it");
    } else if (kind === "folder" && ![...listed.keys()].some((entry) => entry.startsWith(`${path}/`))) {
      find("extra", path, "it is a folder in which the manifest lists nothing");
    }
  });
  let good = 0;
  for (const [path, entry] of listed) {
    if (!there.has(path)) {
      find("missing", path, "the manifest lists it, and it is not there");
      continue;
    }
    const { bytes, sha256 } = await digestFile(`${folder}/${path}`, path);
    if (sha256 === entry.sha256 && bytes === entry.bytes) good++;
    else find("changed", path, bytes === entry.bytes ? "other bytes" : `${bytes} bytes instead of ${entry.bytes}`);
  }
  return good;
}

async function walk(
  folder: string,
  below: string,
  take: (path: string, kind: "file" | "folder" | "link" | "other") => void,
  budget: { left: number } = { left: MAX_FILES },
): Promise<void> {
  const entries: Deno.DirEntry[] = [];
  try {
    for await (const entry of Deno.readDir(below === "" ? folder : `${folder}/${below}`)) {
      if (budget.left-- <= 0) break;
      entries.push(entry);
    }
  } catch (cause) {
    throw new InputError("evidence_unreadable", "Cannot verify the bundle: a folder cannot be read", { cause });
  }
  for (const { name, isFile, isDirectory, isSymlink } of entries.toSorted((a, b) => a.name < b.name ? -1 : 1)) {
    const path = below === "" ? name : `${below}/${name}`;
    take(path, isSymlink ? "link" : isFile ? "file" : isDirectory ? "folder" : "other");
    // no listed path is deeper: what is there is extra already
    if (isDirectory && path.split("/").length < 4) await walk(folder, path, take, budget);
  }
}

/** The log is a chain that ends in the head that the manifest names, and is of the run that the manifest is about. */
async function checkLog(folder: string, manifest: Manifest, find: Find): Promise<void> {
  const { audit, entries, redacted } = manifest;
  if (audit.file !== LOG_FILE || !entries.some(({ path }) => path === LOG_FILE)) {
    return find("mismatch", LOG_FILE, "the bundle has no log");
  }
  const log = `${folder}/${LOG_FILE}`;
  const verdict = await verifyAudit(log, { head: audit.head });
  if (verdict.damage !== null) {
    return find("log", LOG_FILE, `line ${verdict.damage.line}: ${verdict.damage.detail} (${verdict.damage.kind})`);
  }
  const isOwn = audit.redacted_records === 0;
  const entry = entries.find(({ path }) => path === LOG_FILE);
  const { original } = audit;
  const claims: readonly (readonly [string, unknown, unknown])[] = [
    ["audit.records", audit.records, verdict.records],
    ["audit.verdict", audit.verdict, verdict.finished ? "consistent" : "unfinished"],
    ["redacted", redacted.includes(LOG_FILE), !isOwn],
    ...(isOwn ? [["audit.original.head", original.head, verdict.head] as const] : []),
    ...(isOwn && original.torn_tail !== true
      ? [
        ["audit.original.sha256", original.sha256, entry?.sha256] as const,
        ["audit.original.bytes", original.bytes, entry?.bytes] as const,
      ]
      : []),
    ...await startClaims(log, manifest, redacted),
  ];
  for (const [name, said, is] of claims) {
    if (said !== is) find("mismatch", MANIFEST_FILE, `"${name}" is not what the files say`);
  }
  await checkDerived(log, manifest, { verdict, find });
}

/** What is said of the run, and every file that follows from the log, is what the log comes to. */
async function checkDerived(
  log: string,
  manifest: Manifest,
  { verdict, find }: { readonly verdict: Verdict; readonly find: Find },
): Promise<void> {
  let derived: Derived;
  try {
    derived = await deriveFrom(log, verdict);
  } catch (error) {
    if (!(error instanceof TwokeyError)) throw error;
    return find("mismatch", LOG_FILE, `nothing can be made of it (${error.code})`);
  }
  const said: Readonly<Record<string, unknown>> = { ...manifest.run };
  const is: Readonly<Record<string, unknown>> = { ...derived.run };
  for (const name of new Set([...Object.keys(said), ...Object.keys(is)])) {
    if (said[name] !== is[name]) find("mismatch", MANIFEST_FILE, `"run.${name}" is not what the log says`);
  }
  for (const [path, text] of derived.files) await checkText(path, text, { manifest, find });
}

async function checkText(
  path: string,
  text: string,
  { manifest, find }: { readonly manifest: Manifest; readonly find: Find },
): Promise<void> {
  const entry = manifest.entries.find((entry) => entry.path === path);
  if (entry === undefined) find("missing", path, "every bundle has it");
  else if (entry.sha256 !== await sha256(text)) {
    find("mismatch", path, "it is not what this version of twokey makes of the bundled log and the manifest");
  }
}

/** The plan that lies in the bundle is the one that the log's first record names. */
async function startClaims(
  log: string,
  { entries }: Manifest,
  redacted: readonly string[],
): Promise<(readonly [string, unknown, unknown])[]> {
  const planFile = redacted.includes(PLAN_FILE) ? undefined : entries.find(({ path }) => path === PLAN_FILE);
  if (planFile === undefined) return [];
  try {
    for await (const { plan } of readRecords(log)) return [[PLAN_FILE, planFile.sha256, plan]];
  } catch (error) {
    if (!(error instanceof TwokeyError)) throw error;
    return [["audit", "readable", error.code]];
  }
  return [];
}
