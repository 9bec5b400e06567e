/**
 * The final form of a request: its headers, its canonical body, and the key that it is remembered by.
 *
 * @module
 */
import { BugError } from "../errors.ts";
import { canonical } from "../json.ts";
import type { EndpointTarget, SendOptions } from "../tool/powers.ts";
import type { CacheRequest } from "./cache.ts";

/** Headers that the host alone sets, or that could carry a credential past the policy. */
const HOST_HEADERS = new Set([
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "cookie",
  "host",
  "proxy-authorization",
  "user-agent",
]);

/** One request in its final form, and how it is remembered. */
export interface SendRequest extends CacheRequest {
  readonly method: "GET" | "POST";
  /** Every header that is sent, by lower-case name. */
  readonly sent: Readonly<Record<string, string>>;
  /** Equal for requests that any answer fits alike. */
  readonly key: string;
}

/**
 * Makes the request that a tool asks for.
 *
 * @param target A target that the host's resolver made.
 * @throws {BugError} If the tool sets a header that is not its to set, or a body where none belongs.
 */
export function makeRequest(tool: string, target: EndpointTarget, options: SendOptions): SendRequest {
  const { method, url } = target;
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
  const key = JSON.stringify([tool, method, url, headerText, body]);
  return { tool, method, url, endpoint, body, headers: headerText, sent, key };
}
