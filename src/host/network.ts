/**
 * How tools reach their endpoints: URLs built and pinned at preparation, and one order of sources at invocation: memory,
 * recorded answers, persistent cache, pinned HTTPS with bounded retry.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { BugError } from "../errors.ts";
import { type Gate, makeGate } from "../gate/decide.ts";
import { type FixtureSet, loadFixtures } from "../plan/fixtures.ts";
import type { RawReply } from "../plan/raw_reply.ts";
import type { ByteReply, EndpointTarget, Reply, ResolveSend, SendOptions, SendPower, Target } from "../tool/powers.ts";
import { AnswerMemory } from "./answer_memory.ts";
import { type NetworkCache, openCache } from "./cache.ts";
import { assertGranted, type CallContext, deny, type RunContext } from "./context.ts";
import { buildEndpointUrl } from "./endpoint_url.ts";
import { type IPv4Canary, ipv4Canary, makeHttpClient } from "./http_client.ts";
import { askLive } from "./live.ts";
import { askedEndpoints } from "../plan/plan.ts";
import { type Moved, readMove, readName } from "./rename.ts";
import { settled } from "./retry.ts";
import { makeRequest, type SendRequest } from "./send_request.ts";
import {
  byteLimit,
  countAnswer,
  FRESHNESS,
  judged,
  noteOutcome,
  openScope,
  type Scope,
  type Sourced,
  toolErrorOf,
} from "./send_scope.ts";

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
  /** The one client of the run, for parts that send in their own way. @throws {ControlError} As `open`. */
  client(): Deno.HttpClient;
  /** Proves that the client reaches no IPv6 address; `undefined` where it is not bound, or nothing is ever sent. */
  ipv4Canary(): Promise<IPv4Canary | undefined>;
  /** Drops the client and its connections. */
  close(): void;
}

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
  /** Made for the first repository that was renamed. */
  #gate: Gate | undefined;

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
    const scope = openScope(this.#run, call, limits);
    const ask = async (target: EndpointTarget, options: SendOptions, as: "json" | "bytes"): Promise<Replied> => {
      assertGranted(call, target);
      if (this.#issued.get(target) !== call.tool) throw deny(call, "not_in_request");
      const { plan, credentials, cacheKey } = this.#run;
      const sender = credentials.of(call.tool);
      const credential = await sender?.identity(cacheKey) ?? "none";
      const planned = Object.hasOwn(plan.tools, call.tool) ? plan.tools[call.tool] : undefined;
      return await this.#send(
        makeRequest(call.tool, target, { ...options, by: { planned, sender, credential, as } }),
        scope,
      );
    };
    return Object.freeze({
      send: async (target: EndpointTarget, options: SendOptions = {}): Promise<Reply> =>
        (await ask(target, options, "json")).reply,
      fetchBytes: async (target: EndpointTarget, options: SendOptions = {}): Promise<ByteReply> => {
        const { raw: { status, headers, text } } = await ask(target, options, "bytes");
        return { status, headers, bytes: Uint8Array.fromBase64(text) };
      },
    });
  }

  open(): void {
    if (askedEndpoints(this.#run.plan).length > 0) this.client();
  }

  async ipv4Canary(): Promise<IPv4Canary | undefined> {
    const { plan } = this.#run;
    return askedEndpoints(plan).length > 0 && !plan.network.ipv6 ? await ipv4Canary() : undefined;
  }

  close(): void {
    this.#client?.close();
    this.#client = undefined;
  }

  async #send(request: SendRequest, scope: Scope): Promise<Replied> {
    const { call, ledger } = scope;
    ledger.requests++;
    let sourced: Sourced;
    try {
      sourced = await this.#source(request, scope);
    } catch (error) {
      // The host makes the outcome of an abort; the record then still says what was being waited for
      if (call.signal.aborted) noteOutcome(request, scope, { error_kind: "timeout" });
      throw error;
    }
    if ("failure" in sourced) throw toolErrorOf(request, sourced, scope);
    const { raw, reply } = sourced.answer;
    // An answer that was kept under another plan: the name it came from must be admitted by this one
    if (raw.repository !== undefined) this.#admit(request, raw.repository, scope);
    countAnswer(request, sourced.answer, scope);
    call.signal.throwIfAborted();
    return { raw, reply };
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
    return judged(request, kept.raw, { transport: "memory_cache", scope, note: { cache_hit: true, ...fields } });
  }

  /** Fixture, then persistent cache, then the pinned endpoint. Where fixtures are named nothing else is ever asked. */
  async #ask(request: SendRequest, scope: Scope): Promise<Sourced> {
    const { call } = scope;
    const fixtures = this.#fixtures;
    if (fixtures !== undefined) {
      const ask = (one: SendRequest): Sourced => recorded(fixtures, one, scope);
      const sourced = await this.#followed(request, scope, ask);
      this.#remember(request, sourced, this.#run.now());
      return sourced;
    }
    let kept: RawReply | undefined;
    if (this.#cache !== undefined) {
      const found = await this.#cache.read(request, { limit: byteLimit(scope), record: (body) => call.record(body) });
      if (found.kind === "hit") {
        const { storedMs, ageMs, path } = found;
        const age = { stored_ms: storedMs, age_ms: ageMs, max_age_ms: this.#cache.maxAgeMs };
        const note = { cache_hit: true, cache_scope: "persistent", cache_path: path, ...age };
        const sourced = judged(request, found.raw, { transport: "persistent_cache", scope, note });
        this.#remember(request, sourced, storedMs);
        return sourced;
      }
      if (this.#cache.mode === "offline") {
        const message = found.kind === "stale"
          ? `the cached answer is ${found.ageMs} ms old and the cache is offline`
          : "no cached answer and the cache is offline";
        return { transport: "persistent_cache", failure: { kind: "cache_miss", message, retryable: false } };
      }
      kept = found.kind === "stale" ? found.kept : undefined;
    }
    const live = { client: this.client(), scope, random: this.#options.random ?? Math.random };
    const sourced = await this.#followed(
      request,
      scope,
      (one) => askLive(one, { ...live, kept: one === request ? kept : undefined }),
    );
    this.#remember(request, sourced, this.#run.now());
    if ("answer" in sourced && this.#cache !== undefined) {
      const write = { limit: byteLimit(scope), record: (body: RecordBody) => call.record(body) };
      await this.#cache.write(request, sourced.answer.raw, write);
    }
    return sourced;
  }

  /** Asks, and where a repository of GitHub was renamed, asks once more by its number. */
  async #followed(
    request: SendRequest,
    scope: Scope,
    ask: (request: SendRequest) => Sourced | Promise<Sourced>,
  ): Promise<Sourced> {
    const first = await ask(request);
    const isMoved = "failure" in first && request.service === "github" && first.failure.status === 301;
    const moved = isMoved ? readMove(request.url, first.location) : undefined;
    if (moved === undefined) return first;
    // Nobody's credential goes after a redirect, also not one within the origin
    const byNumber = (url: string): SendRequest => ({ ...request, url, sender: undefined });
    scope.ledger.requests++;
    const named = await ask({ ...byNumber(moved.nameUrl), as: "json" });
    if ("failure" in named) return named;
    const name = readName(named.answer.reply.json, moved);
    if (name === undefined) {
      const message = "the repository was renamed, and its new name is not clear";
      const failure = { kind: "redirect_refused" as const, message, retryable: false, status: 301 };
      return { failure, transport: named.answer.transport };
    }
    scope.call.note({ renamed_from: moved.from, renamed_to: name, repository_id: moved.id });
    this.#admit(request, name, scope, moved);
    let last: Sourced = named;
    if (moved.suffix !== "" || moved.url !== moved.nameUrl) {
      scope.ledger.requests++;
      last = await ask(byNumber(moved.url));
    }
    if ("failure" in last) return last;
    const { answer } = last;
    return { answer: { ...answer, raw: { ...answer.raw, repository: name } } };
  }

  /** Decides anew on a request under the name that its repository has now: the one decider, with every rule. */
  #admit(request: SendRequest, name: string, { call }: Scope, moved?: Moved): void {
    const path = new URL(request.url).pathname.split("/").slice(4).map((part) => `/${part}`).join("");
    const target = `${request.method} https://api.github.com/repos/${name}${path}`;
    const requirement = { kind: "network" as const, target, description: target };
    this.#gate ??= makeGate(this.#run.plan, this.#run.places);
    const decision = this.#gate({ tool: call.tool, requirements: [requirement] });
    if (decision.kind === "allow") return;
    // The tool alone asks: this very call was approved, and no rule asks about the place that it is led to.
    if (decision.kind === "ask" && decision.requirements.length === 0) return;
    if (moved === undefined) call.note({ renamed_to: name });
    const code = decision.kind === "ask" ? "approval_required" : decision.code;
    throw deny(call, code);
  }

  client(): Deno.HttpClient {
    this.#client ??= makeHttpClient(this.#run, { caPem: this.#options.caPem });
    return this.#client;
  }

  #remember(request: SendRequest, sourced: Sourced, storedMs: number): void {
    if (!("answer" in sourced)) return;
    const { raw, transport } = sourced.answer;
    if (transport !== "memory_cache") this.#memory.set(request.key, { raw, origin: transport, storedMs });
  }
}

/** The answer of a request, before and after it was read. */
interface Replied {
  readonly raw: RawReply;
  readonly reply: Reply;
}

/** Finds a recorded answer. */
function recorded(fixtures: FixtureSet, request: SendRequest, scope: Scope): Sourced {
  const { method, url, body, as, sent } = request;
  const found = fixtures.find(method, url, body, as === "bytes" ? sent.accept : undefined);
  if (found === undefined) {
    const message = "no recorded answer matches this request";
    return { transport: "fixture", failure: { kind: "fixture_miss", message, retryable: false } };
  }
  const note = { fixture: found.file, recorded: found.recorded };
  return judged(request, found.reply, { transport: "fixture", scope, note });
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
