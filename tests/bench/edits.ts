/**
 * Comparisons of the tools that change files.
 *
 * @module
 */
import type { Comparison } from "./comparison.ts";
import { numberOf, ROOT, runScript, type World } from "./world.ts";

const EDITS = 41;

/** What is measured of changing files. */
export function editComparisons(world: World): Promise<Comparison[]> {
  const side = (which: "tool" | "bare") => async (): Promise<number> => {
    const dir = await Deno.makeTempDir({ dir: world.dir });
    const script = `${ROOT}/tests/bench/product/edit_file.ts`;
    const { value } = await runScript("deno", ["run", "-A", "--quiet", script, which, dir, String(EDITS)], {
      env: world.env,
    });
    await Deno.remove(dir, { recursive: true });
    return numberOf(value.ms);
  };
  return Promise.resolve([
    {
      name: "edit.file_1mib",
      unit: "ms",
      product: { label: "EditFile, the folder synced as well", sample: side("tool") },
      peer: { label: "read, replace, write, fsync, rename", sample: side("bare") },
      bound: 2,
    },
  ]);
}
