/**
 * `twokey hash`: digests of files, as plans, locks and logs hold them.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { DataError, EXIT, type ExitCode, InputError } from "../errors.ts";
import { escapeText } from "../report/escape.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, outJson } from "./io.ts";

/** One digested file. */
interface HashedFile {
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of the file's bytes: how modules, fixtures and artifacts are named. */
  readonly sha256: string;
  /** SHA-256 over the canonical JSON of a policy: how policies are named. Comments do not count. */
  readonly policy_sha256?: string;
}

interface Flags {
  readonly json: boolean;
}

async function hashFiles({ json }: Flags, ...paths: string[]): Promise<ExitCode> {
  const files: HashedFile[] = [];
  for (const path of paths) files.push(await hashFile(path));
  if (json) {
    outJson({ type: "agent_hash", files });
    return EXIT.ok;
  }
  for (const { path, sha256, policy_sha256 } of files) {
    out(`${sha256}  ${escapeText(path)}\n`);
    if (policy_sha256 !== undefined) out(`${policy_sha256}  ${escapeText(path)} (policy)\n`);
  }
  return EXIT.ok;
}

async function hashFile(path: string): Promise<HashedFile> {
  const { createHash } = await import("node:crypto");
  const digest = createHash("sha256");
  let bytes = 0;
  try {
    // A look first: opening a pipe would wait for its other end.
    if (!(await Deno.stat(path)).isFile) throw notAFile(path);
    using file = await Deno.open(path);
    if (!(await file.stat()).isFile) throw notAFile(path);
    for await (const block of file.readable) {
      digest.update(block);
      bytes += block.length;
    }
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    const what = cause instanceof Deno.errors.NotFound ? "there is no such file" : "it cannot be read";
    throw new InputError("hash_unreadable", `Cannot hash "${escapeText(path)}": ${what}`, { cause });
  }
  const hashed = { path, bytes, sha256: digest.digest("hex") };
  if (!path.endsWith(".policy.jsonc")) return hashed;
  const { loadPolicy } = await import("../policy/load.ts");
  return { ...hashed, policy_sha256: (await loadPolicy(path)).sha256 };
}

function notAFile(path: string): DataError {
  return new DataError("hash_not_a_file", `Cannot hash "${escapeText(path)}": it is not a regular file`, {
    fix: "Name files",
  });
}

/** The command. */
export const hashCommand = buildCommand<Flags, string[], Context>({
  docs: {
    brief: "Digest files as policies and locks do",
    fullDescription: [
      "Prints the SHA-256 of files as plans, locks and logs hold it; of a *.policy.jsonc also the policy's own digest, which",
      "is over its canonical JSON, so that comments and white space do not count.",
      "",
      "EXAMPLE",
      "  twokey hash agent.ts agent.policy.jsonc",
    ].join("\n"),
  },
  parameters: {
    flags: JSON_FLAG,
    positional: {
      kind: "array",
      parameter: { parse: String, brief: "File to digest", placeholder: "path" },
      minimum: 1,
    },
  },
  func: command(hashFiles),
});
