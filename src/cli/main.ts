/**
 * The entry of the command line. Starts the program from one prebuilt file where there is one, else from its modules: the
 * same code either way, and reading a hundred modules costs more than most commands.
 *
 * @module
 */
import { findPrebuilt, partFor } from "../launch/prebuilt.ts";

if (import.meta.main) {
  const prebuilt = findPrebuilt(partFor(Deno.args));
  const path = prebuilt ?? new URL("./app.ts", import.meta.url).href;
  const { main } = await import(path) as typeof import("./app.ts");
  const exit = await main(Deno.args);
  if (prebuilt === undefined && Deno.env.get("CI") !== "true") {
    const { prebuild } = await import("../launch/prebuild.ts");
    await prebuild();
  }
  Deno.exit(exit);
}
