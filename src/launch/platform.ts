/**
 * Where twokey runs.
 *
 * @module
 */
import { ControlError } from "../errors.ts";

/** Refuses a system that twokey does not run on. @throws {ControlError} `control_platform`. */
export function assertPlatform(): void {
  if (Deno.build.os !== "linux" && Deno.build.os !== "darwin") {
    throw new ControlError(
      "control_platform",
      `Cannot run on ${Deno.build.os}: twokey runs on Linux and macOS, where it can confine what it starts`,
    );
  }
}
