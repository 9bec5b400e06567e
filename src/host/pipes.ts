/**
 * The host's ends of its pipes, which it opens by path and can then never open again.
 *
 * @module
 */
import { BugError } from "../errors.ts";

/** Opens a pipe and gives up the right to open it again. */
export function openOnce(name: "read" | "write", path: string): Deno.FsFile {
  const file = Deno.openSync(path, name === "read" ? { read: true } : { write: true });
  Deno.permissions.revokeSync({ name, path });
  return file;
}

/** Reads the one line that the launcher sends first: the run as a whole. */
export function readFirstLine(file: Deno.FsFile): string {
  const buffer = new Uint8Array(65_536);
  const decoder = new TextDecoder();
  let text = "";
  while (true) {
    const count = file.readSync(buffer);
    if (count === null) throw new BugError("bug_no_init", "Cannot start: the launcher sent no plan");
    // The launcher sends nothing behind this line until it was answered.
    text += decoder.decode(buffer.subarray(0, count), { stream: true });
    if (text.endsWith("\n")) return text;
  }
}
