/** What other users of a machine see of a run: its command lines. */

/** Command lines of every process, while a run goes on. */
export async function watchCommandLines(child: Deno.ChildProcess): Promise<string[]> {
  const seen = new Set<string>();
  let isOver = false;
  child.status.then(() => isOver = true);
  while (!isOver) {
    for await (const { name } of Deno.readDir("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      try {
        seen.add(await Deno.readTextFile(`/proc/${name}/cmdline`));
      } catch {
        // it ended while we looked
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return [...seen];
}
