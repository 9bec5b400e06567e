/**
 * The one HTTP client of a host: bound to IPv4, told its proxy and CA by the plan, never by the environment alone.
 *
 * @module
 */
import { concatBytes } from "../bytes.ts";
import { ControlError } from "../errors.ts";
import type { RunContext } from "./context.ts";
import { IPV6_CANARY_ADDRESS } from "../plan/key1.ts";
import { KEPT_HEADERS, type RawReply } from "../plan/raw_reply.ts";
import { invalidJson, type NetworkFailure, overBudget } from "./http_reply.ts";

/**
 * Binding the local end to an IPv4 address leaves the client no IPv6 address to connect to: literals and names with
 * AAAA records alike. Private IPv6 ranges cannot be written as permission flags, so this is what keeps them out.
 */
const IPV4_ONLY = { localAddress: "0.0.0.0" } as const;

/** What a client that is not bound may spend on the canary, in milliseconds. */
const CANARY_MS = 1_500;

/** What the canary found. */
export interface IPv4Canary {
  /** Whether no IPv6 address can be reached through the client. */
  readonly held: boolean;
  /**
   * `bound`: the client itself had no address to try. `refused`: Deno's permissions refused before the client was asked;
   * the binding is then unproven, but the address is out of reach. `reached`: a connection was tried or made.
   */
  readonly by: "bound" | "refused" | "reached";
}

/** Makes the client that the plan asks for. @throws {ControlError} `proxy_unusable` or `ca_unusable`. */
export function makeHttpClient(run: RunContext, options: { readonly caPem: string | undefined }): Deno.HttpClient {
  const { network } = run.plan;
  const proxy = network.proxy === null ? undefined : proxyFrom(network.proxy.fromEnv, run);
  const caPem = network.ca === null ? undefined : options.caPem ?? caFrom(network.ca, run);
  try {
    return Deno.createHttpClient({
      ...(network.ipv6 ? {} : IPV4_ONLY),
      ...(proxy === undefined ? {} : { proxy }),
      ...(caPem === undefined ? {} : { caCerts: [caPem] }),
    });
  } catch (cause) {
    if (cause instanceof Deno.errors.NotCapable) {
      throw new ControlError("proxy_unusable", "Cannot use the proxy: its address is not among the run's grants", {
        cause,
      });
    }
    throw new ControlError(
      "ca_unusable",
      "Cannot make the HTTP client: the proxy or the CA certificate is not usable",
      {
        cause,
      },
    );
  }
}

/** The variable is optional, as proxies are: where it is not set, the pinned hosts are reached directly. */
function proxyFrom(name: string, run: RunContext): { url: string; basicAuth?: Deno.BasicAuth } | undefined {
  const value = run.env(name)?.trim();
  if (value === undefined || value === "") return undefined;
  // The value may hold a password, so no message shows any of it
  const bad = new ControlError(
    "proxy_unusable",
    `Cannot use the proxy that variable "${name}" names: expected http://host:port or https://host:port`,
  );
  if (!URL.canParse(value)) throw bad;
  const url = new URL(value);
  const plain = url.pathname === "/" && url.search === "" && url.hash === "";
  if ((url.protocol !== "http:" && url.protocol !== "https:") || !plain) throw bad;
  if (url.username === "" && url.password === "") return { url: url.origin };
  try {
    return {
      url: url.origin,
      basicAuth: { username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) },
    };
  } catch {
    throw bad;
  }
}

function caFrom(ca: { readonly fromEnv: string } | { readonly file: string }, run: RunContext): string | undefined {
  if ("file" in ca) {
    throw new ControlError("ca_unusable", "Cannot use the CA certificate that the policy names: it was not read");
  }
  const value = run.env(ca.fromEnv)?.trim();
  if (value === undefined || value === "") return undefined;
  if (value.startsWith("-----BEGIN CERTIFICATE-----")) return value;
  throw new ControlError(
    "ca_unusable",
    `Cannot use the CA certificate that variable "${ca.fromEnv}" names: expected PEM text, or a file that was read`,
  );
}

/**
 * Tries to reach an IPv6 literal with a client bound as the run's is, without its proxy.
 *
 * Proves the binding only where the permissions admit {@linkcode IPV6_CANARY_ADDRESS}; the host is started with that
 * grant, which this call gives up.
 */
export async function ipv4Canary(): Promise<IPv4Canary> {
  using client = Deno.createHttpClient(IPV4_ONLY);
  using _grant = {
    [Symbol.dispose]: () => void Deno.permissions.revokeSync({ name: "net", host: IPV6_CANARY_ADDRESS }),
  };
  try {
    const response = await fetch(`https://${IPV6_CANARY_ADDRESS}/`, {
      client,
      redirect: "manual",
      signal: AbortSignal.timeout(CANARY_MS),
    });
    await response.body?.cancel();
    return { held: false, by: "reached" };
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return { held: true, by: "refused" };
    // The client's own refusal has no number of the operating system, since no system call was made
    const detail = error instanceof TypeError && error.cause instanceof Error ? error.cause.message : "";
    const bound = detail.includes("Network unreachable") && !detail.includes("os error");
    return bound ? { held: true, by: "bound" } : { held: false, by: "reached" };
  }
}

/** One request in its final form. */
export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** `bytes`: the body of the answer is taken as it is, not as UTF-8 text. */
  readonly as?: "json" | "bytes";
  /** Statuses of errors whose body says more than their number; of every other error no byte is read. */
  readonly telling?: ReadonlySet<number>;
}

/** What is read of the body of an error, in bytes. */
const ERROR_BYTES = 65_536;

/**
 * Sends one request and reads its answer, of at most `limit` decoded bytes; a redirect is an answer like any other.
 *
 * @returns The answer, or why there is none.
 * @throws The reason of `signal`, if it is aborted first.
 */
export async function exchange(
  client: Deno.HttpClient,
  request: HttpRequest,
  options: { readonly limit: number; readonly signal: AbortSignal },
): Promise<{ readonly raw: RawReply } | { readonly failure: NetworkFailure }> {
  const { limit, signal } = options;
  try {
    const response = await fetch(request.url, {
      client,
      method: request.method,
      headers: request.headers,
      ...(request.body === undefined ? {} : { body: request.body }),
      redirect: "manual",
      signal,
    });
    const strange = strangeCoding(response);
    if (strange !== undefined) {
      await response.body?.cancel();
      return { failure: strange };
    }
    const headers: Record<string, string> = {};
    for (const name of KEPT_HEADERS) {
      const value = response.headers.get(name);
      if (value !== null) headers[name] = value;
    }
    const { status } = response;
    const usable = status >= 200 && status < 300;
    if (!usable) {
      const location = response.headers.get("location");
      const text = request.telling?.has(status) === true ? await readError(response) : "";
      await response.body?.cancel();
      return { raw: { status, headers, text, bytes: 0, ...(location === null ? {} : { location }) } };
    }
    const body = await readBody(response, limit);
    if (body === undefined) return { failure: overBudget(limit) };
    if (request.as === "bytes") {
      return { raw: { status, headers, text: body.toBase64(), bytes: body.byteLength, encoding: "base64" } };
    }
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
      return { raw: { status, headers, text, bytes: body.byteLength } };
    } catch {
      return { failure: invalidJson(status, "the answer is not UTF-8") };
    }
  } catch (cause) {
    signal.throwIfAborted();
    return { failure: transportFailure(cause) };
  }
}

/** Why an answer cannot be decoded: the runtime takes off one known coding, and leaves any other as it is. */
export function strangeCoding({ headers }: Response): NetworkFailure | undefined {
  const coding = headers.get("content-encoding");
  return coding === null || /^\s*(?:identity|gzip|br)\s*$/i.test(coding)
    ? undefined
    : unreachable("the answer is compressed more than once or in an unknown way", false);
}

/** Reads the body of an error as far as it may tell something; a part of it tells nothing. */
export async function readError(response: Response): Promise<string> {
  const body = await readBody(response, ERROR_BYTES);
  return body === undefined ? "" : new TextDecoder().decode(body);
}

/** Reads decoded bytes while counting; a declared length is not believed. `undefined` when there are more than `limit`. */
export async function readBody(response: Response, limit: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  // Leaving the loop cancels the stream, and with it the connection
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > limit) return undefined;
    chunks.push(chunk);
  }
  return concatBytes(chunks);
}

/** Why a request or the reading of its answer failed below HTTP. The cause is for us alone: it may name addresses. */
export function transportFailure(cause: unknown): NetworkFailure {
  if (cause instanceof Deno.errors.NotCapable) {
    return unreachable("Deno's permissions do not admit its host", false, cause);
  }
  const detail = cause instanceof TypeError && cause.cause instanceof Error ? cause.cause.message : "";
  if (detail.includes("invalid peer certificate")) {
    return unreachable("the server's certificate is not trusted", false, cause);
  }
  return unreachable("the connection failed", true, cause);
}

function unreachable(message: string, retryable: boolean, cause?: unknown): NetworkFailure {
  return { kind: "transport_error", message, retryable, cause };
}
