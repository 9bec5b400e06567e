/**
 * The services that the network tools talk to, on this machine: one HTTPS server with a certificate for their real
 * names, and one CONNECT proxy that leads every name to it. A test asks the real pinned URLs over real TLS.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { withRegistry } from "../../src/tools/supply_chain/npm_registry.ts";
import { makeCertificates } from "./certificates.ts";

/** A request as the server saw it, decrypted. */
export interface WorldRequest {
  readonly method: string;
  /** Scheme, host, path and query, as the client named them. */
  readonly url: string;
  /** Path and query, byte for byte. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the server does with a request. */
export interface WorldAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown;
  /** Instead of `body`: pieces that are sent one by one, as fast as they are taken, `everyMs` apart where that is said. */
  readonly pieces?: Iterable<string | Uint8Array>;
  readonly everyMs?: number;
  /**
   * `hang`: never answer. `drop`: close the connection. `cut`: send the body, or the pieces, then close before its end.
   */
  readonly fault?: "hang" | "drop" | "cut";
}

/** Answers requests. */
export type WorldHandler = (request: WorldRequest) => WorldAnswer | Promise<WorldAnswer>;

/** A running world. */
export interface TlsWorld {
  /** `http://127.0.0.1:<port>`. */
  readonly proxyUrl: string;
  /** `127.0.0.1:<port>`, as a permission names it. */
  readonly proxyAddress: string;
  readonly caPem: string;
  /** The same in a file of its own folder. */
  readonly caFile: string;
  /** Every `host:port` that the proxy was asked for, in order. */
  readonly connects: readonly string[];
  readonly requests: readonly WorldRequest[];
  close(): Promise<void>;
}

/**
 * Starts the world.
 *
 * @param handlers One function, or answers by `METHOD https://host/path`; anything else is answered with 404.
 * @param options `hosts`: further names that the certificate is for.
 */
export async function startTlsWorld(
  handlers: WorldHandler | Readonly<Record<string, WorldHandler | WorldAnswer>>,
  options: { readonly hosts?: readonly string[] } = {},
): Promise<TlsWorld> {
  const hosts = [
    "api.osv.dev",
    withRegistry("<npm-registry>"),
    "api.github.com",
    "api.openai.com",
    "api.anthropic.com",
    ...options.hosts ?? [],
  ];
  const { caPem, certPem, keyPem } = await makeCertificates(hosts);
  const connects: string[] = [];
  const requests: WorldRequest[] = [];
  const sockets = new Set<Socket>();

  const server = createHttpsServer({ cert: certPem, key: keyPem }, async (message, response) => {
    const request = await readRequest(message);
    requests.push(request);
    const { status = 200, headers = {}, body, pieces, everyMs, fault } = await answerTo(handlers, request);
    if (fault === "hang") return;
    if (fault === "drop") return void message.socket.destroy();
    if (pieces !== undefined) {
      response.writeHead(status, { "content-type": "text/event-stream; charset=utf-8", ...headers });
      for (const piece of pieces) {
        if (response.destroyed) return;
        if (everyMs !== undefined) await new Promise((resolve) => setTimeout(resolve, everyMs));
        if (!response.write(piece)) await drained(response);
      }
      if (fault !== "cut") return void response.end();
      // What was written would go down with its socket
      await new Promise((resolve) => response.write("", resolve));
      await new Promise((resolve) => setTimeout(resolve, 50));
      return void message.socket.destroy();
    }
    const bytes = toBytes(body);
    const length = fault === "cut" ? bytes.byteLength + 10 : bytes.byteLength;
    response.writeHead(status, { "content-type": "application/json", "content-length": String(length), ...headers });
    if (fault === "cut") response.write(bytes, () => message.socket.destroy());
    else response.end(bytes);
  });
  const proxy = createHttpServer((_message, response) => {
    response.writeHead(405);
    response.end();
  });
  const serverPort = await listen(server, sockets);
  proxy.on("connect", (message: IncomingMessage, client: Socket) => {
    connects.push(message.url ?? "");
    const upstream = connect(serverPort, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.pipe(client);
      client.pipe(upstream);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // A test that aborts resets its connections, and that is no fault of the world
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
  });
  const proxyPort = await listen(proxy, sockets);
  const folder = await Deno.makeTempDir({ prefix: "tls_world_" });
  const caFile = `${folder}/ca.pem`;
  await Deno.writeTextFile(caFile, caPem);
  return {
    proxyUrl: `http://127.0.0.1:${proxyPort}`,
    proxyAddress: `127.0.0.1:${proxyPort}`,
    caPem,
    caFile,
    connects,
    requests,
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all([server, proxy].map((one) => new Promise<void>((resolve) => one.close(() => resolve()))));
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Resolves when more can be written, or nobody takes it any more. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

function answerTo(
  handlers: WorldHandler | Readonly<Record<string, WorldHandler | WorldAnswer>>,
  request: WorldRequest,
): WorldAnswer | Promise<WorldAnswer> {
  if (typeof handlers === "function") return handlers(request);
  const key = `${request.method} ${request.url}`;
  const handler = Object.hasOwn(handlers, key) ? handlers[key] : undefined;
  if (typeof handler === "function") return handler(request);
  return handler ?? { status: 404, body: { error: "not found" } };
}

async function readRequest(message: IncomingMessage): Promise<WorldRequest> {
  let body = "";
  for await (const chunk of message) body += new TextDecoder().decode(chunk as Uint8Array);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) headers[name] = String(value);
  const path = message.url ?? "";
  return { method: message.method ?? "", url: `https://${headers.host ?? ""}${path}`, path, headers, body };
}

function toBytes(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body), "utf8");
}

function listen(server: Server, sockets: Set<Socket>): Promise<number> {
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
