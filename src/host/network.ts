/**
 * How tools reach their endpoints: URLs built and pinned at preparation, and one order of sources at invocation: memory,
 * recorded answers, persistent cache, pinned HTTPS with bounded retry.
 *
 * @module
 */
import { BugError, ToolError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { EndpointTarget, Reply, ResolveSend, SendOptions, SendPower, Target } from "../tool/powers.ts";
import { AnswerMemory, type KeptAnswer } from "./answer_memory.ts";
import { type NetworkCache, openCache } from "./cache.ts";
import { assertGranted, type CallContext, deny, type RunContext } from "./context.ts";
import { buildEndpointUrl } from "./endpoint_url.ts";
import { type FixtureSet, loadFixtures } from "../plan/fixtures.ts";
import { exchange, type IPv4Canary, ipv4Canary, makeHttpClient } from "./http_client.ts";
import { asksNetwork } from "../plan/plan.ts";
import type { RawReply } from "../plan/raw_reply.ts";
import { judge, type NetworkFailure, overBudget } from "./http_reply.ts";
import { backoffMs, settled, sleep } from "./retry.ts";
import { makeRequest, type SendRequest } from "./send_request.ts";

/** What only the wiring of a host knows. */
export interface NetworkOptions {
  /** Text of the CA file that the plan names, or that the variable which the plan names points to. */
  readonly caPem?: string;
  /** Jitter: numbers of 0 to 1, exclusive. */
  readonly random?: () => number;
}

/** The network of a run. */
export interface Network {
  /** The resolver of one tool: fills in the endpoints that the plan grants it. */
  resolver(tool: string): ResolveSend;
  /** The power of one call. `replyBytes` is the tool's own limit for one answer. */
  power(call: CallContext, limits: { readonly replyBytes?: number }): SendPower;
  /**
   * Makes the client, so that a bad proxy or CA is found before an agent starts. Makes none where every answer is
   * recorded. @throws {ControlError} `proxy_unusable` or `ca_unusable`.
   */
  open(): void;
  /** Proves that the client reaches no IPv6 address; `undefined` where it is not bound, or nothing is ever sent. */
  ipv4Canary(): Promise<IPv4Canary | undefined>;
  /** Drops the client and its connections. */
  close(): void;
}

/** Where an answer came from, in the words of the audit log. */
type Transport = KeptAnswer["origin"] | "memory_cache";

/** Freshness by transport, freshest first: an outcome claims the last of those that its answers had. */
const FRESHNESS: Readonly<Record<Transport, string>> = {
  pinned_https: "live",
  memory_cache: "cached_in_run",
  persistent_cache: "cached_persistent",
  fixture: "fixture",
};
const BY_FRESHNESS: readonly string[] = Object.keys(FRESHNESS);

/** What a call used so far. */
interface Ledger {
  readonly startedMs: number;
  requests: number;
  /** Bytes of all answers, wherever they came from. */
  bytes: number;
  /** Bytes that came over the network in this call, or were replayed in its place. */
  responseBytes: number;
  retries: number;
  transport: Transport | undefined;
}

/** An answer with what the record says of it. */
interface Answer {
  readonly raw: RawReply;
  readonly reply: Reply;
  readonly transport: Transport;
  readonly note: JsonObject;
}

type Sourced = { readonly answer: Answer } | { readonly failure: NetworkFailure; readonly transport: Transport };

/**
 * Makes the network of a run. Reads no file and opens no connection; `open` makes the client.
 *
 * @throws {DataError} `fixture_invalid` or `fixture_ambiguous`.
 */
export function makeNetwork(run: RunContext, options: NetworkOptions = {}): Network {
  return new PinnedNetwork(run, options);
}

class PinnedNetwork implements Network {
  readonly #run: RunContext;
  readonly #options: NetworkOptions;
  readonly #fixtures: FixtureSet | undefined;
  readonly #cache: NetworkCache | undefined;
  readonly #memory = new AnswerMemory();
  /** Requests under way, so that equal ones of calls that overlap are sent once. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  /** The tool that each target was made for: a target of another maker, or of another tool, is none. */
  readonly #issued = new WeakMap<Target, string>();
  #client: Deno.HttpClient | undefined;

  constructor(run: RunContext, options: NetworkOptions) {
    this.#run = run;
    this.#options = options;
    this.#cache = openCache(run);
    const named = run.plan.network.fixtures;
    if (named.length > 0) {
      this.#fixtures = loadFixtures(named.map(({ path }) => {
        const text = Object.hasOwn(run.fixtures, path) ? run.fixtures[path] : undefined;
        if (text === undefined) throw new BugError("bug_fixture", "Cannot start: a fixture of the plan was not read");
        return { file: path, text };
      }));
    }
  }

  resolver(tool: string): ResolveSend {
    const { tools } = this.#run.plan;
    const endpoints = Object.hasOwn(tools, tool) ? tools[tool]?.endpoints ?? {} : {};
    return Object.freeze({
      endpoint: (name: string, segments: Readonly<Record<string, string>> = {}): EndpointTarget => {
        const endpoint = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined;
        if (endpoint === undefined) return notGranted(name);
        const url = buildEndpointUrl(endpoint, segments);
        const text = `${endpoint.method} ${url}`;
        const requirement = Object.freeze({ kind: "network" as const, target: text, description: text });
        const target = Object.freeze({ requirement, endpoint: name, method: endpoint.method, url });
        this.#issued.set(target, tool);
        return target;
      },
    });
  }

  power(call: CallContext, limits: { readonly replyBytes?: number }): SendPower {
    const ledger: Ledger = {
      startedMs: this.#run.now(),
      requests: 0,
      bytes: 0,
      responseBytes: 0,
      retries: 0,
      transport: undefined,
    };
    return Object.freeze({
      send: async (target: EndpointTarget, options: SendOptions = {}): Promise<Reply> => {
        assertGranted(call, target);
        if (this.#issued.get(target) !== call.tool) throw deny(call, "not_in_request");
        const request = makeRequest(call.tool, target, options);
        return await this.#send(request, { call, ledger, replyBytes: limits.replyBytes ?? Infinity });
      },
    });
  }

  open(): void {
    if (asksNetwork(this.#run.plan.network)) this.#liveClient();
  }

  async ipv4Canary(): Promise<IPv4Canary | undefined> {
    const { network } = this.#run.plan;
    return asksNetwork(network) && !network.ipv6 ? await ipv4Canary() : undefined;
  }

  close(): void {
    this.#client?.close();
    this.#client = undefined;
  }

  async #send(request: SendRequest, scope: Scope): Promise<Reply> {
    const { call, ledger } = scope;
    ledger.requests++;
    let sourced: Sourced;
    try {
      sourced = await this.#source(request, scope);
    } catch (error) {
      // The host makes the outcome of an abort; the record then still says what was being waited for
      if (call.signal.aborted) this.#note(request, scope, { error_kind: "timeout" });
      throw error;
    }
    if ("failure" in sourced) throw this.#toolError(request, sourced, scope);
    const { raw, reply, transport, note } = sourced.answer;
    ledger.bytes += raw.bytes;
    if (transport === "pinned_https" || transport === "fixture") ledger.responseBytes += raw.bytes;
    const before = ledger.transport;
    if (before === undefined || BY_FRESHNESS.indexOf(transport) > BY_FRESHNESS.indexOf(before)) {
      ledger.transport = transport;
      this.#note(request, scope, { status_code: raw.status, ...note });
    } else {
      this.#note(request, scope, {});
    }
    call.signal.throwIfAborted();
    return reply;
  }

  /** Adds up what the outcome's record says of all requests of a call. */
  #note(request: SendRequest, { call, ledger }: Scope, fields: JsonObject): void {
    const { transport } = ledger;
    call.note({
      endpoint: request.endpoint,
      ...(transport === undefined ? {} : { transport, freshness: FRESHNESS[transport] }),
      requests: ledger.requests,
      response_bytes: ledger.responseBytes,
      duration_ms: Math.max(0, this.#run.now() - ledger.startedMs),
      ...fields,
    });
  }

  async #source(request: SendRequest, scope: Scope): Promise<Sourced> {
    const { signal } = scope.call;
    signal.throwIfAborted();
    const other = this.#underWay.get(request.key);
    if (other !== undefined) await settled(other, signal);
    const remembered = this.#fromMemory(request, scope);
    if (remembered !== undefined) return remembered;
    const own = this.#ask(request, scope);
    if (this.#underWay.has(request.key)) return await own;
    this.#underWay.set(request.key, own);
    try {
      return await own;
    } finally {
      this.#underWay.delete(request.key);
    }
  }

  #fromMemory(request: SendRequest, scope: Scope): Sourced | undefined {
    const kept = this.#memory.get(request.key);
    if (kept === undefined) return undefined;
    const ageMs = this.#run.now() - kept.storedMs;
    const maxAgeMs = this.#cache?.maxAgeMs ?? null;
    if (maxAgeMs !== null && kept.origin !== "fixture" && ageMs > maxAgeMs) {
      this.#memory.delete(request.key);
      return undefined;
    }
    const fields = {
      cache_scope: "run",
      origin: kept.origin,
      stored_ms: kept.storedMs,
      age_ms: Math.max(0, ageMs),
      max_age_ms: maxAgeMs,
    };
    const freshness = FRESHNESS.memory_cache;
    scope.call.record({ type: "named_network_cache_hit", endpoint: request.endpoint, freshness, ...fields });
    return this.#judged(kept.raw, { transport: "memory_cache", scope, note: { cache_hit: true, ...fields } });
  }

  /** Fixture, then persistent cache, then the pinned endpoint. Where fixtures are named nothing else is ever asked. */
  async #ask(request: SendRequest, scope: Scope): Promise<Sourced> {
    const { call } = scope;
    if (this.#fixtures !== undefined) {
      const found = this.#fixtures.find(request.method, request.url, request.body);
      if (found === undefined) {
        const message = "no recorded answer matches this request";
        return { transport: "fixture", failure: { kind: "fixture_miss", message, retryable: false } };
      }
      const note = { fixture: found.file, recorded: found.recorded };
      const sourced = this.#judged(found.reply, { transport: "fixture", scope, note });
      this.#remember(request, sourced, this.#run.now());
      return sourced;
    }
    if (this.#cache !== undefined) {
      const limit = byteLimit(this.#run, scope);
      const found = await this.#cache.read(request, { limit, record: (body) => call.record(body) });
      if (found.kind === "hit") {
        const { storedMs, ageMs, path } = found;
        const age = { stored_ms: storedMs, age_ms: ageMs, max_age_ms: this.#cache.maxAgeMs };
        const note = { cache_hit: true, cache_scope: "persistent", cache_path: path, ...age };
        const sourced = this.#judged(found.raw, { transport: "persistent_cache", scope, note });
        this.#remember(request, sourced, storedMs);
        return sourced;
      }
      if (this.#cache.mode === "offline") {
        const message = found.kind === "stale"
          ? `the cached answer is ${found.ageMs} ms old and the cache is offline`
          : "no cached answer and the cache is offline";
        return { transport: "persistent_cache", failure: { kind: "cache_miss", message, retryable: false } };
      }
    }
    const sourced = await this.#live(request, scope);
    this.#remember(request, sourced, this.#run.now());
    if ("answer" in sourced && this.#cache !== undefined) {
      const limit = byteLimit(this.#run, scope);
      await this.#cache.write(request, sourced.answer.raw, { limit, record: (body) => call.record(body) });
    }
    return sourced;
  }

  /** Asks the endpoint, again and again where that can help, never past the call's deadline. */
  async #live(request: SendRequest, scope: Scope): Promise<Sourced> {
    const { call, ledger } = scope;
    const client = this.#liveClient();
    const { method, url, sent: headers } = request;
    const body = request.body === "" ? undefined : request.body;
    const maxAttempts = this.#run.plan.network.retryAttempts;
    for (let retry = 1;; retry++) {
      const limit = byteLimit(this.#run, scope);
      const got = await exchange(client, { method, url, headers, body }, { limit, signal: call.signal });
      const sourced: Sourced = "failure" in got
        ? { failure: got.failure, transport: "pinned_https" }
        : this.#judged(got.raw, { transport: "pinned_https", scope, note: { cache_hit: false } });
      if ("answer" in sourced || !sourced.failure.retryable || retry > maxAttempts) return sourced;
      const { failure } = sourced;
      const random = (this.#options.random ?? Math.random)();
      const waitMs = backoffMs(retry, { random, retryAfterMs: failure.retryAfterMs });
      // A wait that ends at the deadline can only turn a clear failure into a timeout
      if (this.#run.now() + waitMs >= call.deadlineMs) return sourced;
      ledger.retries++;
      call.record({
        type: "named_network_retry",
        endpoint: request.endpoint,
        transport: "pinned_https",
        attempt: retry,
        max_attempts: maxAttempts,
        error_kind: failure.kind,
        status_code: failure.status ?? null,
        retryable: true,
        retry_policy: "bounded",
        backoff_ms: waitMs,
        retry_after_ms: failure.retryAfterMs ?? null,
        elapsed_ms: Math.max(0, this.#run.now() - ledger.startedMs),
      });
      await sleep(waitMs, call.signal);
    }
  }

  #liveClient(): Deno.HttpClient {
    this.#client ??= makeHttpClient(this.#run, { caPem: this.#options.caPem });
    return this.#client;
  }

  /** Every answer, from wherever, passes the same budget and the same judgement. */
  #judged(
    raw: RawReply,
    source: { readonly transport: Transport; readonly scope: Scope; readonly note: JsonObject },
  ): Sourced {
    const { transport, scope, note } = source;
    const limit = byteLimit(this.#run, scope);
    if (raw.bytes > limit) return { transport, failure: overBudget(limit) };
    const judged = judge(raw, this.#run.now());
    if ("failure" in judged) return { transport, failure: judged.failure };
    return { answer: { raw, reply: judged.reply, transport, note } };
  }

  #remember(request: SendRequest, sourced: Sourced, storedMs: number): void {
    if (!("answer" in sourced)) return;
    const { raw, transport } = sourced.answer;
    if (transport !== "memory_cache") this.#memory.set(request.key, { raw, origin: transport, storedMs });
  }

  #toolError(
    request: SendRequest,
    { failure, transport }: { readonly failure: NetworkFailure; readonly transport: Transport },
    { ledger }: Scope,
  ): ToolError {
    const fields: { [name: string]: Json } = {
      endpoint: request.endpoint,
      transport,
      error_kind: failure.kind,
      retryable: failure.retryable,
      retry_policy: "bounded",
      retry_attempts: ledger.retries,
      retry_max_attempts: this.#run.plan.network.retryAttempts,
      requests: ledger.requests,
      response_bytes: ledger.responseBytes,
      duration_ms: Math.max(0, this.#run.now() - ledger.startedMs),
    };
    if (failure.status !== undefined) fields.status_code = failure.status;
    if (failure.retryAfterMs !== undefined) fields.retry_after_ms = failure.retryAfterMs;
    return new ToolError(failure.kind, `Cannot read ${request.endpoint}: ${failure.message}`, {
      retryable: failure.retryable,
      fields,
      ...(failure.cause === undefined ? {} : { cause: failure.cause }),
    });
  }
}

/** A call, what it used, and the limit of its tool. */
interface Scope {
  readonly call: CallContext;
  readonly ledger: Ledger;
  readonly replyBytes: number;
}

/** Bytes that the next answer of a call may have: the tool's limit for one, and what is left of the policy's for all. */
function byteLimit(run: RunContext, { ledger, replyBytes }: Scope): number {
  return Math.max(0, Math.min(replyBytes, run.plan.budgets.toolResultBytes - ledger.bytes));
}

/** A target that the gate denies: the plan does not know the endpoint. */
function notGranted(name: string): EndpointTarget {
  const text = `endpoint ${name}`;
  const requirement = { kind: "network" as const, target: text, description: text, refusal: "endpoint_not_granted" };
  return Object.freeze({
    requirement: Object.freeze(requirement),
    endpoint: name,
    method: "GET",
    url: "https://endpoint.invalid/",
  });
}
