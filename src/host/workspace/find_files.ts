/**
 * Finds files of the workspace by name.
 *
 * @module
 */
import { ToolError } from "../../errors.ts";
import type { FileSet, FilesFound } from "../../tool/powers.ts";
import type { CallContext } from "../context.ts";
import { Pace } from "./pace.ts";
import type { Place } from "./place.ts";
import { isStillFile, Skips, startWalk, type WalkedFile } from "./walk.ts";
import type { WorkspaceContext } from "./workspace.ts";

/** What a look over the files of several places is given. */
export interface Visit {
  readonly context: WorkspaceContext;
  readonly call: CallContext;
  readonly places: readonly Place[];
  readonly files: FileSet;
}

/** A look that is going on. */
export interface Visited {
  readonly skips: Skips;
  readonly pace: Pace;
  /** Whether the whole of every place was walked. */
  readonly complete: boolean;
}

/**
 * Finds files; `limit` of them come back, all are counted.
 *
 * @throws {ToolError} `not_found`, if a place is gone.
 */
export async function findFiles(visit: Visit, limit: number): Promise<FilesFound> {
  const found: string[] = [];
  let total = 0;
  const { complete, skips } = await visitFiles(visit, ({ shown, canonical }, { skips }) => {
    // Names that are shown are looked at once more: they may have been listed through a link that is gone again.
    if (found.length < limit) {
      if (!isStillFile(canonical)) {
        skips.add("changed");
        return true;
      }
      found.push(shown);
    }
    total++;
    return true;
  });
  return { files: found, total, skipped: skips.toJSON(), complete };
}

/**
 * Walks every place and gives each file of the set to `take`, one after the other, until it says `false`; stops by
 * itself when the call's time runs short.
 *
 * @throws {ToolError} `not_found`, if a place is gone.
 */
export async function visitFiles(
  { context, call, places, files }: Visit,
  take: (file: WalkedFile, look: { readonly skips: Skips; readonly pace: Pace }) => boolean | Promise<boolean>,
): Promise<Visited> {
  const skips = new Skips();
  const pace = new Pace(context.run, call);
  for (const place of places) {
    if (place.info === undefined) throw notFound(place);
    const walk = await startWalk({ context, call, files, skips }, place);
    for (;;) {
      const step = nextOf(walk, place);
      if (step === undefined) break;
      if (step !== null) {
        const taken = take(step, { skips, pace });
        if (!(typeof taken === "boolean" ? taken : await taken)) return { skips, pace, complete: false };
      }
      if (!pace.isDue) continue;
      await pace.turn();
      if (pace.isOver) return { skips, pace, complete: false };
    }
  }
  return { skips, pace, complete: true };
}

function nextOf(walk: Generator<WalkedFile | null>, place: Place): WalkedFile | null | undefined {
  try {
    const { done, value } = walk.next();
    return done === true ? undefined : value;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) throw notFound(place);
    throw error;
  }
}

function notFound({ shown }: Place): ToolError {
  return new ToolError("not_found", `Cannot look below "${shown}": nothing stands there`);
}
