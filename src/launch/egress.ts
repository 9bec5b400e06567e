/**
 * Starts the egress process: a proxy with permissions of its own, which confined programs reach through a socket.
 *
 * @module
 */
import { ControlError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { denyNet } from "../plan/deny_net.ts";
import { findProgram } from "./channels.ts";

/** Bytes of the socket's path that a system accepts. */
const MAX_SOCKET_PATH = 100;
/** What the process may take to listen, in milliseconds. */
const READY_MS = 10_000;
/** What it may take to end, in milliseconds. */
const END_MS = 1_000;

/** What is started. */
export interface EgressOptions {
  /** `host:port`s in canonical form. */
  readonly hosts: readonly string[];
  /** Folder of this product. */
  readonly twokey: string;
  /** Takes the fields of one `process_egress` record. */
  onRecord(fields: JsonObject): void;
}

/** A started egress process. */
export interface Egress {
  /** Absolute path of its socket. */
  readonly socket: string;
  /** Ends it and removes the socket; again, it only waits for that. */
  close(): Promise<void>;
}

/** The permissions of the egress process: one socket, the named hosts, none of the private addresses behind them. */
export function egressFlags(socket: string, hosts: readonly string[]): string[] {
  return [
    "--no-prompt",
    "--no-config",
    "--no-lock",
    "--no-remote",
    "--no-npm",
    "--cached-only",
    "--ignore-env",
    `--allow-net=${[`unix:${socket}`, ...hosts].join(",")}`,
    `--deny-net=${denyNet(hosts).join(",")}`,
    `--allow-read=${socket}`,
    `--allow-write=${socket}`,
  ];
}

/** Starts it; returns once it listens. @throws {ControlError} `control_egress`. */
export async function startEgress({ hosts, twokey, onRecord }: EgressOptions): Promise<Egress> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-" }));
  const socket = `${dir}/s`;
  if (socket.length > MAX_SOCKET_PATH || socket.includes(",")) {
    await Deno.remove(dir, { recursive: true });
    throw new ControlError("control_egress", "Cannot open a way out for programs: the path of the socket is too long");
  }
  const setpriv = await findProgram("setpriv");
  const [program = "", ...args] = [
    ...(setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", "--"]),
    Deno.execPath(),
    "run",
    "--quiet",
    ...egressFlags(socket, hosts),
    `${twokey}/src/egress/main.ts`,
    socket,
    ...hosts,
  ];
  const child = new Deno.Command(program, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    clearEnv: true,
    env: { DENO_DIR: "/dev/null/none", DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    detached: true,
    cwd: "/",
  }).spawn();
  const end = async (): Promise<void> => {
    kill(child, "SIGTERM");
    // It has one line to print; a process that does not end is no reason to wait.
    const timer = setTimeout(() => kill(child, "SIGKILL"), END_MS);
    await child.status;
    clearTimeout(timer);
    await reading;
    await Deno.remove(dir, { recursive: true }).catch(() => {});
  };
  let ending: Promise<void> | undefined;
  const close = (): Promise<void> => ending ??= end();
  const ready = Promise.withResolvers<boolean>();
  const reading = follow(child.stdout, ready.resolve, onRecord).finally(() => ready.resolve(false));
  const timer = setTimeout(() => ready.resolve(false), READY_MS);
  const isReady = await ready.promise;
  clearTimeout(timer);
  if (isReady) return { socket, close };
  await close();
  throw new ControlError("control_egress", "Cannot open a way out for programs: the egress process did not start");
}

function kill(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // it is gone already
  }
}

async function follow(
  stream: ReadableStream<Uint8Array>,
  ready: (isReady: boolean) => void,
  onRecord: (fields: JsonObject) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  // The number of what was refused without a line is told more than once, and recorded once: the last is the whole.
  let omitted: JsonObject | undefined;
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const value = JSON.parse(line) as JsonObject;
      if (value.ready === true) ready(true);
      else if (value.decision === "omitted") omitted = value;
      else onRecord(value);
    }
  }
  if (omitted !== undefined) onRecord(omitted);
}
