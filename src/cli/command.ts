/**
 * What every command shares: its context, and the way from what it throws to an exit code.
 *
 * @module
 */
import type { CommandContext } from "@stricli/core";
import type { ExitCode } from "../errors.ts";
import { reportError } from "./io.ts";

/** The context that the argument parser hands to a command. */
export interface Context extends CommandContext {
  /** Set by the command; read once, at the end. */
  exit: ExitCode;
}

/** Runs the body of a command; what it returns, or what its error means, becomes the exit code. */
export function command<F extends { readonly json: boolean }, A extends readonly unknown[]>(
  body: (flags: F, ...args: A) => Promise<ExitCode> | ExitCode,
): (this: Context, flags: F, ...args: A) => Promise<void> {
  return async function (this: Context, flags: F, ...args: A): Promise<void> {
    try {
      this.exit = await body(flags, ...args);
    } catch (error) {
      this.exit = reportError(error, { json: flags.json });
    }
  };
}

/** The flag that every command has. */
export const JSON_FLAG = {
  json: { kind: "boolean", brief: "Print JSON", default: false, withNegated: false },
} as const;
