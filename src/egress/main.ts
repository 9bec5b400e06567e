/**
 * The egress process: the only way out for confined programs. It listens on one Unix socket, connects to the hosts it was
 * named and to no other, and tells its parent of each connection. Its own permissions are exactly that socket and those
 * hosts, so what it can reach does not depend on this code; only a name that leads to a private IPv6 address is turned
 * away here, since flags have no words for such blocks.
 *
 * Arguments: the socket's path, then each `host:port`. Standard output: JSON lines, bounded; a connection that no line is
 * left for is refused. SIGTERM ends it, with the number of what was refused without a line.
 *
 * @module
 */
import { isPublicIpv6 } from "../authority/host.ts";
import { MAX_HEAD, readConnect } from "./connect_request.ts";
import { EgressReport } from "./egress_report.ts";

/** Connections at the same time; further ones are closed at once. */
const MAX_CONNECTIONS = 64;
/** What a program may take to say what it wants, in milliseconds. */
const HEAD_MS = 10_000;

const ENCODER = new TextEncoder();

if (import.meta.main) {
  const [path = "", ...hosts] = Deno.args;
  await serve(path, new Set(hosts));
}

/** Prints a line for the parent; where nobody reads any more there is nothing left to do. */
function print(line: string): void {
  try {
    const bytes = ENCODER.encode(`${line}\n`);
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  } catch {
    Deno.exit(0);
  }
}

async function serve(path: string, hosts: ReadonlySet<string>): Promise<void> {
  const listener = Deno.listen({ transport: "unix", path });
  const report = new EgressReport(print);
  // The parent ends it so that the last count is told; whoever kills it loses the count and nothing else.
  Deno.addSignalListener("SIGTERM", () => {
    report.end();
    Deno.exit(0);
  });
  print('{"ready":true}');
  let open = 0;
  for await (const connection of listener) {
    if (open >= MAX_CONNECTIONS) {
      report.omit();
      connection.close();
      continue;
    }
    open++;
    handle(connection, hosts, report).catch(() => {}).finally(() => {
      open--;
      close(connection);
    });
  }
}

async function handle(inner: Deno.UnixConn, hosts: ReadonlySet<string>, report: EgressReport): Promise<void> {
  const timer = setTimeout(() => close(inner), HEAD_MS);
  const request = await readHead(inner, hosts);
  clearTimeout(timer);
  if (request.kind !== "connect") {
    if (request.kind === "refused") {
      report.deny(request.host, request.port);
      await answer(inner, `${request.status} Forbidden`);
    }
    return;
  }
  const { host, port, rest } = request;
  const told = report.begin(host, port);
  // What nobody would hear of does not happen.
  if (told === undefined) return await answer(inner, "503 Too Many Connections In This Run");
  let outer: Deno.TcpConn;
  try {
    outer = await Deno.connect({ hostname: host, port });
  } catch {
    told.failed();
    return await answer(inner, "502 Bad Gateway");
  }
  if (isPrivatePeer(outer)) {
    close(outer);
    told.denied();
    return await answer(inner, "403 Forbidden");
  }
  told.allowed();
  let sent = { bytes_out: 0, bytes_in: 0 };
  try {
    await answer(inner, "200 Connection established");
    const [bytes_out, bytes_in] = await Promise.all([copy(inner, outer, rest), copy(outer, inner, new Uint8Array())]);
    sent = { bytes_out, bytes_in };
  } finally {
    told.closed(sent);
    close(outer);
  }
}

/**
 * Whether a name led to an IPv6 address that is not public. Flags name blocks of IPv4 addresses alone, so that these are
 * closed here, before a byte is sent; no policy can grant such an address.
 */
function isPrivatePeer({ remoteAddr }: Deno.TcpConn): boolean {
  return remoteAddr.hostname.includes(":") && !isPublicIpv6(remoteAddr.hostname);
}

async function readHead(inner: Deno.UnixConn, hosts: ReadonlySet<string>) {
  const buffer = new Uint8Array(MAX_HEAD * 2);
  let length = 0;
  while (true) {
    const count = await inner.read(buffer.subarray(length));
    if (count === null) return { kind: "more" } as const;
    length += count;
    const request = readConnect(buffer.slice(0, length), hosts);
    if (request.kind !== "more") return request;
  }
}

async function answer(inner: Deno.UnixConn, status: string): Promise<void> {
  await writeAll(inner, ENCODER.encode(`HTTP/1.1 ${status}\r\n\r\n`));
}

/** Copies until the end, and passes the end on; returns the bytes. */
async function copy(from: Deno.Conn, to: Deno.Conn, first: Uint8Array): Promise<number> {
  const buffer = new Uint8Array(65_536);
  let bytes = first.length;
  try {
    await writeAll(to, first);
    for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
      bytes += count;
      await writeAll(to, buffer.subarray(0, count));
    }
  } catch {
    // one side is gone: so is the connection
    close(from);
  }
  try {
    await to.closeWrite();
  } catch {
    // it is gone already
  }
  return bytes;
}

async function writeAll(to: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // it is closed already
  }
}
