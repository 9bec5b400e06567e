/**
 * Values that several blocks of a policy are made of.
 *
 * @module
 */
import * as v from "valibot";

/** A path as a policy names it; whether it is one, the compiler says. */
export const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));

/** Name of an environment variable. */
export const variable = v.pipe(v.string(), v.regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "a variable name"));
