/**
 * Answers kept between runs: one authenticated envelope per request, in a private folder.
 *
 * Whoever can write the folder cannot put words into a service's mouth: an envelope counts only under the key that this
 * user's runs share. Everything else found there is a recorded miss, never an error and never an answer.
 *
 * @module
 */
import { sha256, utf8Length } from "../json.ts";
import type { RecordBody } from "../audit/record.ts";
import { absolute } from "../plan/plan.ts";
import type { RunContext } from "./context.ts";
import type { RawReply } from "../plan/raw_reply.ts";

const TYPE = "twokey_network_cache_v1";

/** Between the authenticated bytes of an envelope and its code. */
const SEAL = ',"mac":"';
const SEALED = /,"mac":"([0-9a-f]{64})"\}\n$/;

/** What an envelope may hold beside its body, in bytes. */
const ENVELOPE_BYTES = 65_536;

/** A temporary file that is older than this belongs to a run that died, in milliseconds. */
const ABANDONED_MS = 3_600_000;

/** What identifies an answer. */
export interface CacheRequest {
  readonly tool: string;
  readonly method: string;
  readonly url: string;
  /** For people: method and URL without query. */
  readonly endpoint: string;
  /** Body of the request; empty where there is none. */
  readonly body: string;
  /** Canonical JSON of the request's headers: the same URL answers differently for another media type. */
  readonly headers: string;
  /** Who asks: `none`, or an identity that does not tell the credential. No envelope of another one is an answer. */
  readonly credential: string;
}

/** What was found. */
export type CacheRead =
  | {
    readonly kind: "hit";
    readonly raw: RawReply;
    readonly storedMs: number;
    readonly ageMs: number;
    /** Portable path of the envelope. */
    readonly path: string;
  }
  | { readonly kind: "miss" }
  | {
    readonly kind: "stale";
    readonly ageMs: number;
    /** The kept answer, where its service can be asked whether it still holds; it stays until a newer one comes. */
    readonly kept?: RawReply;
  };

/** What a call lends to the cache. */
export interface CacheCall {
  /** Decoded bytes of a body, at most. */
  readonly limit: number;
  record(body: RecordBody): void;
}

/** The persistent cache of a run. */
export interface NetworkCache {
  readonly mode: "read-through" | "offline";
  readonly maxAgeMs: number | null;
  /** Never throws: whatever is wrong with an envelope is recorded, and a miss. */
  read(request: CacheRequest, call: CacheCall): Promise<CacheRead>;
  /** Never throws: a failed write is recorded. Does nothing offline. */
  write(request: CacheRequest, raw: RawReply, call: CacheCall): Promise<void>;
}

interface Envelope {
  readonly type: string;
  readonly tool: string;
  readonly method: string;
  readonly url: string;
  readonly headers_sha256: string;
  readonly body_sha256: string;
  readonly credential: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly stored_ms: number;
  /** `base64` for a body of bytes. */
  readonly encoding?: "base64";
  /** What a renamed repository was called when it gave this answer. */
  readonly repository?: string;
  readonly body: string;
}

/** Opens the cache that the plan names; `undefined` where it names none. Touches nothing until it is used. */
export function openCache(run: RunContext): NetworkCache | undefined {
  const plan = run.plan.network.cache;
  return plan === null ? undefined : new DirectoryCache(run, plan);
}

class DirectoryCache implements NetworkCache {
  readonly mode: "read-through" | "offline";
  readonly maxAgeMs: number | null;
  readonly #maxEntries: number | null;
  readonly #run: RunContext;
  readonly #dir: string;
  readonly #portableDir: string;
  /** Tools whose envelopes were pruned in this run; the limit may be lower than in the run before. */
  readonly #pruned = new Set<string>();
  #key: Promise<CryptoKey> | undefined;

  constructor(run: RunContext, plan: NonNullable<RunContext["plan"]["network"]["cache"]>) {
    this.mode = plan.mode;
    this.maxAgeMs = plan.maxAgeMs;
    this.#maxEntries = plan.maxEntries;
    this.#run = run;
    this.#dir = absolute(plan.dir, run.places);
    this.#portableDir = plan.dir;
  }

  async read(request: CacheRequest, call: CacheCall): Promise<CacheRead> {
    const name = await fileName(request);
    if (this.mode !== "offline" && !this.#pruned.has(request.tool)) {
      this.#pruned.add(request.tool);
      await this.#prune(request, { keep: name, call });
    }
    const found = await this.#load(name, request, call);
    if (typeof found === "string") {
      if (found !== "absent") this.#recordError("read", found, { request, call });
      call.record({ ...this.#fields(request, name), type: "named_network_cache_miss", reason: found });
      return { kind: "miss" };
    }
    const ageMs = this.#run.now() - found.stored_ms;
    // A clock that ran backwards makes every age a guess
    const stale = ageMs < 0 || (this.maxAgeMs !== null && ageMs > this.maxAgeMs);
    const age = { stored_ms: found.stored_ms, age_ms: ageMs, max_age_ms: this.maxAgeMs };
    if (stale) {
      const kept = this.mode !== "offline" && canRevalidate(request, found) ? rawOf(found) : undefined;
      const disposition = this.mode === "offline" ? "failed_closed" : kept === undefined ? "evicted" : "revalidated";
      call.record({ ...this.#fields(request, name), type: "named_network_cache_stale", disposition, ...age });
      if (disposition === "evicted") await this.#evict(name, "deleted_stale_envelope", { request, call });
      return { kind: "stale", ageMs, ...(kept === undefined ? {} : { kept }) };
    }
    call.record({
      ...this.#fields(request, name),
      type: "named_network_cache_hit",
      cache_scope: "persistent",
      freshness: "cached_persistent",
      ...age,
    });
    return { kind: "hit", raw: rawOf(found), storedMs: found.stored_ms, ageMs, path: this.#portable(name) };
  }

  async write(request: CacheRequest, raw: RawReply, call: CacheCall): Promise<void> {
    if (this.mode === "offline") return;
    const name = await fileName(request);
    const storedMs = this.#run.now();
    const envelope: Envelope = {
      type: TYPE,
      ...await identity(request),
      status: raw.status,
      headers: raw.headers,
      stored_ms: storedMs,
      ...(raw.encoding === undefined ? {} : { encoding: raw.encoding }),
      ...(raw.repository === undefined ? {} : { repository: raw.repository }),
      body: raw.text,
    };
    const sealed = JSON.stringify(envelope).slice(0, -1);
    const bytes = new TextEncoder().encode(`${sealed}${SEAL}${await this.#seal(sealed)}"}\n`);
    const temporary = `${this.#dir}/${name}.${crypto.randomUUID()}.tmp`;
    try {
      await this.#makeDirectory();
      await Deno.writeFile(temporary, bytes, { createNew: true, mode: 0o600 });
      // The order of pruning must not depend on when the bytes reached the disk
      await Deno.utime(temporary, new Date(storedMs), new Date(storedMs));
      await Deno.rename(temporary, `${this.#dir}/${name}`);
    } catch (error) {
      await Deno.remove(temporary).catch(() => {});
      this.#recordError("write", reasonOf(error), { request, call });
      return;
    }
    call.record({
      ...this.#fields(request, name),
      type: "named_network_cache_write",
      stored_ms: storedMs,
      bytes: bytes.byteLength,
    });
    await this.#prune(request, { keep: name, call });
  }

  /** Reads and authenticates an envelope; a text says why there is none. */
  async #load(name: string, request: CacheRequest, call: CacheCall): Promise<Envelope | string> {
    const path = `${this.#dir}/${name}`;
    let text: string;
    try {
      if ((await Deno.lstat(this.#dir)).isSymlink) return "directory_link";
      const info = await Deno.lstat(path);
      if (!info.isFile) return info.isSymlink ? "link" : "not_a_file";
      // A body of JSON text grows to twice its size at most when it is quoted
      const bytes = await readBounded(path, 2 * call.limit + ENVELOPE_BYTES);
      if (bytes === undefined) return "oversize";
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return "absent";
      return error instanceof TypeError ? "malformed" : reasonOf(error);
    }
    const mac = SEALED.exec(text.slice(-(SEAL.length + 67)))?.[1];
    if (mac === undefined) return "malformed";
    const sealed = text.slice(0, -(SEAL.length + 67));
    if (!await this.#isSealed(sealed, mac)) return "unauthenticated";
    // Authentic, so written by a run of this user: its shape is trusted, its place is not
    const envelope = JSON.parse(`${sealed}}`) as Envelope;
    const expected = Object.entries({ type: TYPE, ...await identity(request) });
    return expected.every(([key, value]) => envelope[key as keyof Envelope] === value) ? envelope : "mismatch";
  }

  async #makeDirectory(): Promise<void> {
    const found = await Deno.lstat(this.#dir).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
    if (found === undefined) await Deno.mkdir(this.#dir, { recursive: true, mode: 0o700 });
    else if (found.isSymlink) throw new CacheFault("directory_link");
    else if (found.mode !== null && (found.mode & 0o077) !== 0) await Deno.chmod(this.#dir, 0o700);
  }

  /** Removes the oldest envelopes of one tool beyond the limit, and what dead runs left behind. */
  async #prune(request: CacheRequest, options: { readonly keep: string; readonly call: CacheCall }): Promise<void> {
    if (this.#maxEntries === null) return;
    const { keep, call } = options;
    const entries: { name: string; atMs: number }[] = [];
    try {
      for await (const { name, isFile } of Deno.readDir(this.#dir)) {
        if (!isFile || !name.startsWith(prefix(request.tool))) continue;
        const atMs = (await Deno.lstat(`${this.#dir}/${name}`)).mtime?.getTime() ?? 0;
        if (/^-[0-9a-f]{64}\.json$/.test(name.slice(prefix(request.tool).length - 1))) entries.push({ name, atMs });
        else if (name.endsWith(".tmp") && this.#run.now() - atMs > ABANDONED_MS) {
          await Deno.remove(`${this.#dir}/${name}`);
        }
      }
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return; // another run prunes at the same time
      this.#recordError("retention_scan", reasonOf(error), { request, call });
      return;
    }
    entries.sort((a, b) => a.atMs - b.atMs || (a.name < b.name ? -1 : 1));
    const surplus = entries.filter(({ name }) => name !== keep).slice(
      0,
      Math.max(0, entries.length - this.#maxEntries),
    );
    for (const { name } of surplus) await this.#evict(name, "retention_prune", { request, call });
  }

  async #evict(
    name: string,
    disposition: "deleted_stale_envelope" | "retention_prune",
    context: { readonly request: CacheRequest; readonly call: CacheCall },
  ): Promise<void> {
    try {
      await Deno.remove(`${this.#dir}/${name}`);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      const operation = disposition === "retention_prune" ? "retention_prune" : "evict";
      this.#recordError(operation, reasonOf(error), context);
      return;
    }
    const fields = this.#fields(context.request, name);
    context.call.record({ ...fields, type: "named_network_cache_eviction", disposition });
  }

  #recordError(
    operation: "read" | "write" | "evict" | "retention_prune" | "retention_scan",
    reason: string,
    { request, call }: { readonly request: CacheRequest; readonly call: CacheCall },
  ): void {
    call.record({
      type: "named_network_cache_error",
      endpoint: request.endpoint,
      operation,
      reason,
      policy: "ignored",
    });
  }

  #fields(request: CacheRequest, name: string): { endpoint: string; cache_path: string; cache_mode: string } {
    return { endpoint: request.endpoint, cache_path: this.#portable(name), cache_mode: this.mode };
  }

  #portable(name: string): string {
    return `${this.#portableDir}/${name}`;
  }

  async #seal(text: string): Promise<string> {
    const code = await crypto.subtle.sign("HMAC", await this.#hmac(), sealedBytes(text));
    return new Uint8Array(code).toHex();
  }

  async #isSealed(text: string, mac: string): Promise<boolean> {
    return await crypto.subtle.verify("HMAC", await this.#hmac(), Uint8Array.fromHex(mac), sealedBytes(text));
  }

  #hmac(): Promise<CryptoKey> {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    this.#key ??= crypto.subtle.importKey("raw", this.#run.cacheKey, algorithm, false, ["sign", "verify"]);
    return this.#key;
  }
}

/** An entity tag that can be sent back as it is (RFC 9110 section 8.8.3). */
const ETAG = /^(?:W\/)?"[\x21\x23-\x7e]*"$/;

/** Whether the service can be asked if a kept answer still holds. Only what was asked for with GET. */
function canRevalidate({ method }: CacheRequest, { headers }: Envelope): boolean {
  return method === "GET" && ETAG.test(headers.etag ?? "");
}

function rawOf({ status, headers, body, encoding, repository }: Envelope): RawReply {
  return {
    status,
    headers,
    text: body,
    bytes: encoding === "base64" ? Uint8Array.fromBase64(body).byteLength : utf8Length(body),
    ...(encoding === undefined ? {} : { encoding }),
    ...(repository === undefined ? {} : { repository }),
  };
}

/** A refusal of ours among the errors of the file system. */
class CacheFault extends Error {
  override readonly name = "CacheFault";
}

/** Reads a file of at most `max` bytes, whatever becomes of it meanwhile; `undefined` if it is larger. */
async function readBounded(path: string, max: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  using file = await Deno.open(path, { read: true });
  const { size } = await file.stat();
  if (size > max) return undefined;
  const bytes = new Uint8Array(size);
  let filled = 0;
  while (filled < size) {
    const count = await file.read(bytes.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

/** The name of the use separates these codes from any other that the same key may seal. */
function sealedBytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${TYPE}\n${text}`);
}

/** File system messages hold host paths, so only the kind of the error is recorded. */
function reasonOf(error: unknown): string {
  if (error instanceof CacheFault) return error.message;
  return error instanceof Error ? error.name : "unknown";
}

function prefix(tool: string): string {
  return `${tool.replaceAll(/[^A-Za-z0-9_.-]/g, "_")}-`;
}

async function fileName(request: CacheRequest): Promise<string> {
  const { tool, ...rest } = await identity(request);
  return `${prefix(tool)}${await sha256(JSON.stringify([tool, rest]))}.json`;
}

/** What an envelope must agree with to answer a request, who asks included. */
async function identity(
  { tool, method, url, headers, body, credential }: CacheRequest,
): Promise<Pick<Envelope, "tool" | "method" | "url" | "headers_sha256" | "body_sha256" | "credential">> {
  return {
    tool,
    method,
    url,
    headers_sha256: await sha256(headers),
    body_sha256: await sha256(body),
    credential,
  };
}
