/**
 * The one request that the egress process understands: CONNECT to a host and port. Its bytes are a program's, and
 * hostile.
 *
 * @module
 */

/** Bytes of a request's head, at most. */
export const MAX_HEAD = 8_192;

/** What a head asks for. */
export type ConnectRequest =
  | { readonly kind: "more" }
  | { readonly kind: "refused"; readonly status: 400 | 403; readonly host: string | null; readonly port: number | null }
  | {
    readonly kind: "connect";
    readonly host: string;
    readonly port: number;
    /** Bytes behind the head that belong to the connection. */
    readonly rest: Uint8Array;
  };

const LINE = /^CONNECT ([A-Za-z0-9.-]{1,253}):(\d{1,5}) HTTP\/1\.[01]$/;

/**
 * Reads the head of a request.
 *
 * @param hosts `host:port`s that may be reached, in canonical form.
 */
export function readConnect(bytes: Uint8Array, hosts: ReadonlySet<string>): ConnectRequest {
  const end = endOfHead(bytes);
  if (end < 0) return bytes.length >= MAX_HEAD ? refused(400) : { kind: "more" };
  // bytes over 127 are in no host, so that one byte is one character
  const head = String.fromCharCode(...bytes.subarray(0, end));
  const [, name, digits] = LINE.exec(head.split("\r\n")[0] ?? "") ?? [];
  if (name === undefined || digits === undefined) return refused(403);
  const host = name.toLowerCase().replace(/\.$/, "");
  const port = Number(digits);
  if (!hosts.has(`${host}:${port}`)) return { kind: "refused", status: 403, host, port };
  return { kind: "connect", host, port, rest: bytes.subarray(end + 4) };
}

function refused(status: 400 | 403): ConnectRequest {
  return { kind: "refused", status, host: null, port: null };
}

function endOfHead(bytes: Uint8Array): number {
  const last = Math.min(bytes.length, MAX_HEAD) - 4;
  for (let at = 0; at <= last; at++) {
    if (bytes[at] === 13 && bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) return at;
  }
  return -1;
}
