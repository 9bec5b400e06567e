import { BugError } from "../../errors.ts";
import type { SearchFound, SearchQuery } from "../../tool/powers.ts";
import type { CallContext } from "../context.ts";
import type { Place } from "./place.ts";
import type { WorkspaceContext } from "./workspace.ts";

export function searchFiles(
  _c: WorkspaceContext,
  _call: CallContext,
  _p: readonly Place[],
  _q: SearchQuery,
): Promise<SearchFound> {
  throw new BugError("bug", "not here yet");
}
