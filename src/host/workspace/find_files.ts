import { BugError } from "../../errors.ts";
import type { FileSet, FilesFound } from "../../tool/powers.ts";
import type { CallContext } from "../context.ts";
import type { Place } from "./place.ts";
import type { WorkspaceContext } from "./workspace.ts";

export function findFiles(
  _c: WorkspaceContext,
  _call: CallContext,
  _p: readonly Place[],
  _f: FileSet,
  _l: number,
): Promise<FilesFound> {
  throw new BugError("bug", "not here yet");
}
