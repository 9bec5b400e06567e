import { BugError } from "../../errors.ts";
import type { LineRange, LinesRead } from "../../tool/powers.ts";
import type { CallContext } from "../context.ts";
import type { Place } from "./place.ts";
import type { WorkspaceContext } from "./workspace.ts";

export function readLines(_c: WorkspaceContext, _call: CallContext, _p: Place, _r: LineRange): Promise<LinesRead> {
  throw new BugError("bug", "not here yet");
}
