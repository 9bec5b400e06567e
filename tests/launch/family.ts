/** The processes of one run: they name their launcher's process id as an argument. */
import { PREBUILT_FILES } from "../../src/launch/prebuilt.ts";

/** The host's main module: its source, or the prebuilt file in its place. */
const HOSTS = ["/src/host/main.ts", `/${PREBUILT_FILES.host}`];

/** Process ids of the host and the agent that `launcher` started. */
export interface Family {
  readonly host: number | undefined;
  readonly agent: number | undefined;
}

/** Finds the living host and agent of a launcher. */
export async function familyOf(launcher: number): Promise<Family> {
  let host: number | undefined;
  let agent: number | undefined;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const words = (await Deno.readTextFile(`/proc/${name}/cmdline`)).split("\0");
      if (!words.includes(String(launcher))) continue;
      if (words.some((word) => HOSTS.some((host) => word.endsWith(host)))) host = Number(name);
      else if (words.some((word) => word.endsWith("/src/isolate/process_boot.js"))) agent = Number(name);
    } catch {
      // it ended while we looked
    }
  }
  return { host, agent };
}

/** Whether nobody of the run is left. */
export async function isGone(launcher: number): Promise<boolean> {
  const { host, agent } = await familyOf(launcher);
  return host === undefined && agent === undefined;
}
