/**
 * An agent in a worker of the host, without permissions and inside a hardened compartment.
 *
 * A busy worker cannot be stopped from inside its process: the launcher ends the host when it does not stop.
 *
 * @module
 */
import manifest from "../../deno.json" with { type: "json" };
import { sesWrap } from "./ses_wrap.ts";
import guestText from "./guest.js" with { type: "text" };
import hardenedText from "./hardened.js" with { type: "text" };
import type { GuestStart, Isolate, IsolateEvents } from "./isolate.ts";
import cloneText from "./structured_clone.js" with { type: "text" };
import bootText from "./worker_boot.js" with { type: "text" };

/** Joins the host to a worker. */
export class WorkerIsolate implements Isolate {
  readonly #events: IsolateEvents;
  readonly #maxLineBytes: number;
  readonly #gone = Promise.withResolvers<void>();
  readonly #hello = Promise.withResolvers<void>();
  readonly #worker: Worker;
  #over = false;
  #batch: string[] = [];

  /** @param maxLineBytes Longest line of the agent; a longer one ends it. */
  constructor(events: IsolateEvents, maxLineBytes: number) {
    this.#events = events;
    this.#maxLineBytes = maxLineBytes;
    const blob = new Blob([workerText()], { type: "text/javascript" });
    const url = URL.createObjectURL(blob);
    this.#worker = new Worker(url, { type: "module", name: "agent", deno: { permissions: "none" } });
    this.#worker.onmessage = ({ data }) => this.#take(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#end("agent_gone");
    };
  }

  ready(): Promise<void> {
    return Promise.race([this.#hello.promise, this.#gone.promise]);
  }

  start(start: GuestStart, code: string): void {
    if (!this.#over) this.#worker.postMessage({ start, wrapped: sesWrap(code) });
  }

  send(line: string): void {
    this.#batch.push(line);
    if (this.#batch.length === 1) queueMicrotask(() => this.#flush());
  }

  serve(): Promise<void> {
    return this.#gone.promise;
  }

  #flush(): void {
    const lines = this.#batch;
    this.#batch = [];
    if (!this.#over) this.#worker.postMessage(lines.join("\n"));
  }

  #take(data: unknown): void {
    if (this.#over) return;
    if (typeof data !== "string") return this.#end("frame_not_text");
    if (data === '{"op":"hello"}') return this.#hello.resolve();
    for (const line of data.split("\n")) {
      if (line.length > this.#maxLineBytes) return this.#end("frame_too_long");
      this.#events.line(line);
      if (this.#over) return;
    }
  }

  #end(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#gone.resolve();
    this.#events.gone(reason);
  }
}

/** One module text out of several: a worker that starts from text needs no permission to read a file. */
function workerText(): string {
  const body = [guestText, cloneText, hardenedText, bootText]
    .map((text) => text.replaceAll(/^import [^\n]*\n/gm, "").replaceAll(/^export /gm, ""))
    .join("\n");
  return `import ${JSON.stringify(manifest.imports.ses)};\n${body}`;
}
