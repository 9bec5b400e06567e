/**
 * The final form of a request: its headers, its canonical body, and the key that it is remembered by.
 *
 * @module
 */
import { BugError } from "../errors.ts";
import { canonical } from "../json.ts";
import type { PlannedTool } from "../plan/plan.ts";
import type { EndpointTarget, SendOptions } from "../tool/powers.ts";
import type { CacheRequest } from "./cache.ts";
import type { Credential } from "./credentials.ts";

/** Headers that the host alone sets, or that could carry a credential past the policy. */
const HOST_HEADERS = new Set([
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "cookie",
  "host",
  "if-none-match",
  "proxy-authorization",
  "user-agent",
  "x-api-key",
]);

/** One request in its final form, and how it is remembered. */
export interface SendRequest extends CacheRequest {
  readonly method: "GET" | "POST";
  /** Every header that is sent, by lower-case name, but for the credential's. */
  readonly sent: Readonly<Record<string, string>>;
  /** What is sent along to the tool's own origin; `undefined`: nothing. */
  readonly sender: Credential | undefined;
  /** How the body of the answer is read. */
  readonly as: "json" | "bytes";
  /** Whose rules the answer is judged by. */
  readonly service: "github" | "model" | undefined;
  /** Equal for requests that any answer fits alike. */
  readonly key: string;
}

/** Who asks, and how the answer is read. */
export interface SendAs {
  /** The tool as the plan grants it. */
  readonly planned: PlannedTool | undefined;
  readonly sender: Credential | undefined;
  /** Identity of the sender under the key of the cache; `none` without one. */
  readonly credential: string;
  readonly as: "json" | "bytes";
}

/** A request without a credential, of a tool that no plan narrows further. */
const NOBODY: SendAs = { planned: undefined, sender: undefined, credential: "none", as: "json" };

/**
 * Makes the request that a tool asks for.
 *
 * @param target A target that the host's resolver made.
 * @throws {BugError} If the tool sets a header that is not its to set, a body where none belongs, or a query parameter
 *   that its endpoint does not declare.
 */
export function makeRequest(
  tool: string,
  target: EndpointTarget,
  options: SendOptions & { readonly by?: SendAs },
): SendRequest {
  const { method } = target;
  const { sender, credential, as, planned } = options.by ?? NOBODY;
  const url = `${target.url}${queryText(options.query ?? {}, planned?.endpoints[target.endpoint]?.query ?? [])}`;
  const headers: Record<string, string> = { accept: "application/json" };
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    const lower = name.toLowerCase();
    if (HOST_HEADERS.has(lower)) throw new BugError("bug_header", `Cannot send "${lower}": the host alone sets it`);
    headers[lower] = value;
  }
  if (method === "GET" && options.body !== undefined) {
    throw new BugError("bug_body", "Cannot send a body with GET: expected POST");
  }
  const body = options.body === undefined ? "" : canonical(options.body);
  const headerText = canonical(headers);
  const sent: Record<string, string> = { ...headers, "user-agent": `twokey-${tool.replaceAll(".", "-")}` };
  if (body !== "") sent["content-type"] = "application/json";
  const endpoint = `${method} ${url.split("?", 1)[0]}`;
  const key = JSON.stringify([tool, method, url, headerText, body, as, credential]);
  const service = planned?.service;
  return { tool, method, url, endpoint, body, headers: headerText, sent, key, as, sender, credential, service };
}

/** In the order of the declaration, so that equal requests have equal text. */
function queryText(query: Readonly<Record<string, string>>, declared: readonly string[]): string {
  const strange = Object.keys(query).find((name) => !declared.includes(name));
  if (strange !== undefined) {
    throw new BugError("bug_query", `Cannot send "${strange}": the endpoint does not declare it`);
  }
  const parts = declared.flatMap((name) => {
    const value = Object.hasOwn(query, name) ? query[name] : undefined;
    return value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`];
  });
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}
