/**
 * What a program is on this machine: its bytes, and the numbers by which a change is noticed without reading it again.
 *
 * @module
 */
import { sha256 } from "../json.ts";
import type { FileIdentity } from "../plan/program_setup.ts";

/** A program that was looked at. */
export interface ProgramFact {
  /** 64 hexadecimal digits. */
  readonly sha256: string;
  /** What the system would do with it; `other` cannot be started. */
  readonly kind: "binary" | "script" | "other";
  /** Whether it would run as somebody else than its caller. */
  readonly setsUser: boolean;
  /** Device, inode, size and time of the file when it was read. */
  readonly identity: FileIdentity;
}

/** Largest program, in bytes. */
const MAX_PROGRAM = 1024 * 1024 * 1024;

/** Reads a program; `null` where it cannot be read, is no regular file, or is over 1 GiB. */
export async function readProgram(path: string): Promise<ProgramFact | null> {
  try {
    using file = await Deno.open(path);
    const info = await file.stat();
    if (!info.isFile || info.size > MAX_PROGRAM) return null;
    const bytes = new Uint8Array(info.size);
    let at = 0;
    while (at < bytes.length) {
      const count = await file.read(bytes.subarray(at));
      if (count === null) break;
      at += count;
    }
    const mode = info.mode ?? 0;
    return {
      sha256: await sha256(bytes.subarray(0, at)),
      kind: (mode & 0o111) === 0 ? "other" : kindOf(bytes.subarray(0, 4)),
      setsUser: (mode & 0o6000) !== 0,
      identity: identityOf(info),
    };
  } catch {
    return null;
  }
}

/** The numbers of a file. */
function identityOf({ dev, ino, size, mtime }: Deno.FileInfo): FileIdentity {
  return { dev, ino: ino ?? 0, size, mtimeMs: mtime?.getTime() ?? 0 };
}

/** ELF, the forms of Mach-O, or a script that names its interpreter. Anything else the system hands to a shell. */
function kindOf(head: Uint8Array): ProgramFact["kind"] {
  const magic = [...head].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (magic.startsWith("2321")) return "script";
  return ["7f454c46", "cffaedfe", "cefaedfe", "feedfacf", "feedface", "cafebabe"].includes(magic) ? "binary" : "other";
}
