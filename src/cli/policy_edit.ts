/**
 * `twokey policy add-tool` and its siblings: changes a policy file as a careful person would. What would not compile is
 * refused before anything is written; comments and spelling stay; another file takes the place of the old one at once.
 *
 * @module
 */
import { LOCK_FILE } from "../authority/names.ts";
import { nameOf } from "../authority/path.ts";
import { CreateError, DataError, EXIT, type ExitCode } from "../errors.ts";
import { compilePolicy } from "../launch/compile_policy.ts";
import type { Change } from "../plan/change.ts";
import { comparePlans } from "../plan/compare.ts";
import { editPolicy, type PolicyEdit } from "../policy/edit.ts";
import { type LoadedPolicy, loadPolicy, parsePolicy } from "../policy/load.ts";
import { findLock } from "../policy/lock.ts";
import { PolicyError, type PolicyIssue, refuse } from "../policy/policy_error.ts";
import type { Policy } from "../policy/schema.ts";
import { escapeText } from "../report/escape.ts";
import { out, outJson, styleFor } from "./io.ts";
import { writeFiles } from "./write_files.ts";

/** What is to be done. */
export interface EditRequest {
  /** The policy file, as its caller named it. */
  readonly path: string;
  readonly json: boolean;
  /** The edits, made from the policy as it is; none where it says so already. */
  edits(policy: Policy): readonly PolicyEdit[];
  /** A better fix for an issue than the compiler's, which knows of no command. */
  fixFor?(issue: PolicyIssue): string | undefined;
}

/** One line that is new in the file. */
interface NewLine {
  /** 1-based. */
  readonly line: number;
  readonly text: string;
}

/** Edits a policy file and says what changed. */
export async function editPolicyFile({ path, json, edits, fixFor }: EditRequest): Promise<ExitCode> {
  await assertNoLink(path);
  const before = await loadPolicy(path);
  if (before.file === null) throw new DataError("edit_no_file", "Cannot edit the policy: it has no file");
  const text = await readExactly(before.file);
  const after = editPolicy(text, edits((await parsePolicy(text, path)).policy));
  if (after === text) {
    if (json) outJson({ file: before.file, changed: false, lines: [], changes: [], lock: null });
    else out("nothing to change: the policy says so already\n");
    return EXIT.ok;
  }
  const changes = await assertCompiles({ before, path, after, fixFor });
  if (await readExactly(before.file) !== text) {
    throw new CreateError("edit_meanwhile", `Cannot edit "${escapeText(path)}": it was changed meanwhile`);
  }
  await writeFiles([{ path: before.file, text: after, before: text }]);
  const lock = await findLock(before) === undefined ? null : LOCK_FILE;
  print({ json, file: before.file, path, lines: newLines(text, after), changes, lock });
  return EXIT.ok;
}

/** The text with its byte order mark, so that what is written again is what was read. */
async function readExactly(file: string): Promise<string> {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await Deno.readFile(file));
}

/** A link in the place of the file would be replaced by a file, or lead to one that nobody named. */
async function assertNoLink(path: string): Promise<void> {
  const info = await Deno.lstat(path).catch(() => undefined);
  if (info?.isSymlink !== true) return;
  throw new DataError("edit_link", `Cannot edit "${escapeText(path)}": it is a link`, { fix: "Name the file itself" });
}

async function assertCompiles(
  { before, path, after, fixFor }: {
    readonly before: LoadedPolicy;
    readonly path: string;
    readonly after: string;
    readonly fixFor: EditRequest["fixFor"];
  },
): Promise<readonly Change[]> {
  const was = await compilePolicy(before).catch((error) => {
    if (error instanceof PolicyError) return undefined;
    throw error;
  });
  try {
    const { plan } = await compilePolicy({ ...before, ...await parsePolicy(after, path) });
    return was === undefined ? [] : comparePlans(was.plan, plan);
  } catch (error) {
    if (error instanceof PolicyError) {
      refuse(error.issues.map((issue) => ({
        ...issue,
        message: `${issue.message}; nothing was written`,
        fix: fixFor?.(issue) ?? issue.fix,
      })));
    }
    throw error;
  }
}

/** Lines of the new text that the old one does not have at that place: between what both begin and end with. */
function newLines(before: string, after: string): NewLine[] {
  const [old, now] = [before.split(/\r?\n/), after.split(/\r?\n/)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (
    tail < old.length - head && tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  ) tail++;
  return now.slice(head, now.length - tail).map((text, i) => ({ line: head + i + 1, text }));
}

function print(
  { json, file, path, lines, changes, lock }: {
    readonly json: boolean;
    readonly file: string;
    readonly path: string;
    readonly lines: readonly NewLine[];
    readonly changes: readonly Change[];
    readonly lock: string | null;
  },
): void {
  if (json) {
    outJson({
      file,
      changed: true,
      lines,
      changes: changes.map(({ kind, subject, text }) => ({ kind, subject, text })),
      lock,
    });
    return;
  }
  const style = styleFor(Deno.stdout);
  const shown = escapeText(path.startsWith("/") ? nameOf(path) : path);
  for (const { line, text } of lines) out(`${shown}:${line}  ${escapeText(text.trim(), { max: 300 })}\n`);
  for (const { kind, text } of changes) {
    const word = kind === "gained" ? style.warn(kind) : style.good(kind);
    out(`${word}  ${escapeText(text)}\n`);
  }
  if (lock !== null) out(`${lock} no longer fits: review the change, then run \`twokey policy lock\`\n`);
}
