/**
 * One build by the native esbuild program over its service protocol: packets on its standard input and output.
 *
 * The protocol is what makes a bundle a pure function of its inputs: the program asks for every name and every text, so
 * it opens no file itself, and its messages arrive with exact positions. It is private to one version of the program,
 * which says its version first; the version is pinned, and any other is refused.
 *
 * Trust: the program is trusted, the texts it reads are not. It runs with an empty environment, under a deadline and a
 * bound on what it may say.
 *
 * @module
 */
import { ControlError, TwokeyError } from "../errors.ts";
import { endProcess } from "./death.ts";
import { decodePacket, encodePacket, PacketError, packets, type PacketValue } from "./esbuild_packet.ts";

/** Where a message points: 1-based line, 0-based column in UTF-8 bytes. */
export interface ServiceLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly lineText: string;
}

/** One error of a build. */
export interface ServiceMessage {
  /** esbuild's name for this kind of message; empty for a syntax error. */
  readonly id: string;
  readonly text: string;
  readonly location: ServiceLocation | undefined;
  /** The number that an answer of ours gave, if the message is ours. */
  readonly detail: number | undefined;
}

/** What the program asks about an import. */
export interface ResolveRequest {
  readonly path: string;
  /** Path of the importing module as an earlier answer named it; empty for the entry. */
  readonly importer: string;
  /** `entry-point`, `import-statement`, `dynamic-import`, `require-call`, … */
  readonly kind: string;
  /** Import attributes. */
  readonly attributes: ReadonlyMap<string, string>;
}

/** A refusal: esbuild puts the place of the import, or the start of the module, to it. */
export interface ServiceRefusal {
  readonly refused: string;
  readonly detail: number;
}

/** What to build and how. */
export interface ServiceBuild {
  /** Absolute path of the program. */
  readonly binary: string;
  readonly version: string;
  readonly flags: readonly string[];
  readonly entry: string;
  /** Names the module that an import means. */
  readonly resolve: (
    request: ResolveRequest,
  ) => { readonly path: string } | ServiceRefusal | Promise<{ readonly path: string } | ServiceRefusal>;
  /** Gives a module's text. */
  readonly load: (
    path: string,
  ) => Promise<{ readonly contents: Uint8Array; readonly loader: "ts" | "js" | "json" } | ServiceRefusal>;
  /** Milliseconds until the program is killed. */
  readonly timeoutMs: number;
  /** Longest packet that is taken, in bytes. */
  readonly packetBytes: number;
}

/** What came out of a build: errors, or files by their names. */
export interface ServiceResult {
  readonly errors: readonly ServiceMessage[];
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** JSON text. */
  readonly metafile: string;
}

/** Namespace of every module: keeps esbuild from looking for the file, or for a `package.json` near it, by itself. */
export const NAMESPACE = "agent";

/** Where a dynamic import by pattern looks for files: nothing can exist there, so it is found empty at once. */
const NOWHERE = "/dev/null" + "/agent".repeat(64);

const BUILD_KEY = 0;
const BUILD_ID = 0;

/**
 * Runs one build. Requires permission to run `build.binary`.
 *
 * @throws {ControlError} `bundler_failed`, if the program cannot be run, is of another version, breaks the protocol or
 * does not end within its deadline.
 */
export async function runEsbuild(build: ServiceBuild): Promise<ServiceResult> {
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(build.binary, {
      args: [`--service=${build.version}`],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
      clearEnv: true,
      cwd: "/",
    }).spawn();
  } catch (cause) {
    throw failed("it cannot be started", cause);
  }
  const writer = child.stdin.getWriter();
  const reader = child.stdout.getReader();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(failed(`it did not end within ${build.timeoutMs} ms`)),
    build.timeoutMs,
  );
  try {
    return await Promise.race([converse(build, writer, reader), late.promise]);
  } catch (cause) {
    if (cause instanceof TwokeyError) throw cause;
    throw failed(cause instanceof PacketError ? cause.message : "it ended early", cause);
  } finally {
    clearTimeout(timer);
    endProcess(child);
    await Promise.allSettled([writer.abort(), reader.cancel(), child.status]);
  }
}

function failed(what: string, cause?: unknown): ControlError {
  return new ControlError("bundler_failed", `Cannot bundle the agent with esbuild: ${what}`, { cause });
}

async function converse(
  build: ServiceBuild,
  writer: WritableStreamDefaultWriter<Uint8Array>,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<ServiceResult> {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {}); // the race below may be over when it rejects
  const send = (id: number, isResponse: boolean, value: PacketValue): void => {
    writer.write(encodePacket(id, isResponse, value)).catch(broken.reject);
  };
  const answer = async (id: number, request: ReadonlyMap<string, PacketValue>): Promise<void> => {
    send(id, true, await respond(build, request));
  };
  const read = async (): Promise<ServiceResult> => {
    let greeted = false;
    for await (const packet of packets(reader, build.packetBytes)) {
      if (!greeted) {
        greeted = true;
        const version = new TextDecoder().decode(packet);
        if (version !== build.version) throw failed(`it is of version ${version}, not ${build.version}`);
        send(BUILD_ID, false, buildRequest(build));
        continue;
      }
      const { id, isResponse, value } = decodePacket(packet);
      if (isResponse) return result(value);
      answer(id, value).catch(broken.reject);
    }
    throw failed("it ended early");
  };
  return await Promise.race([read(), broken.promise]);
}

function buildRequest(build: ServiceBuild): PacketValue {
  const everything = [{ id: 0, filter: ".*", namespace: "" }];
  return {
    command: "build",
    key: BUILD_KEY,
    entries: [["", build.entry]],
    flags: build.flags,
    write: false,
    stdinContents: null,
    stdinResolveDir: null,
    absWorkingDir: "/",
    nodePaths: [],
    context: false,
    plugins: [{ name: NAMESPACE, onStart: false, onEnd: false, onResolve: everything, onLoad: everything }],
  };
}

async function respond(build: ServiceBuild, request: ReadonlyMap<string, PacketValue>): Promise<PacketValue> {
  switch (request.get("command")) {
    case "ping":
      return {};
    case "on-start":
      return { errors: [], warnings: [] };
    case "on-resolve": {
      const answer = await build.resolve({
        path: text(request.get("path")),
        importer: text(request.get("importer")),
        kind: text(request.get("kind")),
        attributes: attributes(request.get("with")),
      });
      if ("refused" in answer) return { id: 0, errors: [refusal(answer)] };
      return { id: 0, path: answer.path, namespace: NAMESPACE, sideEffects: true };
    }
    case "on-load": {
      if (request.get("namespace") !== NAMESPACE) throw failed("it asked for a file outside of the bundle");
      const answer = await build.load(text(request.get("path")));
      if ("refused" in answer) return { id: 0, errors: [refusal(answer)] };
      return { id: 0, contents: answer.contents, loader: answer.loader, resolveDir: NOWHERE };
    }
    default:
      throw failed("it asked something that this version does not ask");
  }
}

function refusal({ refused, detail }: ServiceRefusal): PacketValue {
  return { id: "", pluginName: "", text: refused, location: null, notes: [], detail };
}

function result(value: ReadonlyMap<string, PacketValue>): ServiceResult {
  const fault = value.get("error");
  if (fault !== undefined) throw failed(text(fault));
  const files = new Map<string, Uint8Array>();
  for (const file of list(value.get("outputFiles"))) {
    const contents = object(file).get("contents");
    if (contents instanceof Uint8Array) files.set(text(object(file).get("path")), contents);
  }
  const metafile = value.get("metafile");
  return {
    errors: list(value.get("errors")).map((item) => message(object(item))),
    files,
    metafile: metafile instanceof Uint8Array ? new TextDecoder().decode(metafile) : text(metafile),
  };
}

function message(item: ReadonlyMap<string, PacketValue>): ServiceMessage {
  const detail = item.get("detail");
  const where = item.get("location");
  const location = where instanceof Map
    ? {
      file: text(where.get("file")),
      line: count(where.get("line")),
      column: count(where.get("column")),
      lineText: text(where.get("lineText")),
    }
    : undefined;
  return {
    id: text(item.get("id")),
    text: text(item.get("text")),
    location,
    detail: typeof detail === "number" ? detail : undefined,
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function list(value: PacketValue | undefined): readonly PacketValue[] {
  return Array.isArray(value) ? value : [];
}

function object(value: PacketValue | undefined): ReadonlyMap<string, PacketValue> {
  return value instanceof Map ? value : new Map();
}

function attributes(value: PacketValue | undefined): ReadonlyMap<string, string> {
  return new Map([...object(value)].map(([name, item]) => [name, text(item)]));
}
