/**
 * The shape of a policy's `process` block, and of what its author may accept about programs.
 *
 * @module
 */
import * as v from "valibot";
import { path, variable } from "./schema_values.ts";

/** Bytes of one `process_output_stream` record's text where the policy names none, and at most. */
export const CHUNK_BYTES = Object.freeze({ value: 1024, max: 8192 });

const commandName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/, "a name of letters, digits, . _ + - (64 at most)"),
);
const optionName = v.pipe(
  v.string(),
  v.regex(/^(?:-[A-Za-z0-9#]|--[A-Za-z0-9][A-Za-z0-9-]{0,62}=?)$/, "an option with its dashes, such as -n or --name"),
);

const valueKind = v.union([
  v.picklist(["path", "pattern", "text", "number", "revision"]),
  v.pipe(v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(256))), v.minLength(1), v.maxLength(256)),
]);

const ruleEntries = {
  options: v.optional(v.pipe(
    v.record(optionName, v.union([v.literal("flag"), valueKind])),
    v.description(
      "Options with their dashes: flag takes no value; path, pattern, text, number, revision or a list of words say " +
        "what its value may be. -# stands for -1, -2 …; --name= for a value that must be attached. Any other is refused",
    ),
  )),
  positionals: v.optional(v.pipe(
    v.array(valueKind),
    v.maxLength(64),
    v.description("What the arguments that are no options may be, in order; the last kind repeats. Absent: none"),
  )),
  maxPositionals: v.optional(v.pipe(
    v.number(),
    v.integer(),
    v.minValue(0),
    v.maxValue(1024),
    v.description("Arguments that are no options, at most; default: as many as kinds are listed"),
  )),
};

const argumentRules = v.strictObject(ruleEntries);

const command = v.strictObject({
  path: v.pipe(path, v.description("The program: its real path, absolute or relative to this policy. Never looked up")),
  sha256: v.optional(v.pipe(
    v.string(),
    v.regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits"),
    v.description("The program must have this SHA-256. Absent: what is there at the start; the lock names it"),
  )),
  args: v.optional(v.pipe(
    v.union([
      v.picklist(["git", "rg", "any"]),
      argumentRules,
      v.strictObject({
        subcommands: v.pipe(
          v.record(v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, "a subcommand")), argumentRules),
          v.description("The first argument must be one of these; the rest is checked by its rules"),
        ),
      }),
    ]),
    v.description(
      "The arguments it may be called with: git or rg for what is built in, rules, or any, which needs " +
        "unsafe.interpreter. Absent: none",
    ),
  )),
});

/** The `process` block. */
export const processBlock = v.strictObject({
  commands: v.pipe(
    v.record(commandName, command),
    v.minEntries(1),
    v.maxEntries(256),
    v.description("Programs by the name that agents use"),
  ),
  cwd: v.pipe(
    v.array(path),
    v.minLength(1),
    v.maxLength(256),
    v.description(
      "Folders in and below which programs may be started, relative to this policy; the first is the default",
    ),
  ),
  env: v.optional(v.pipe(
    v.strictObject({
      pass: v.optional(v.pipe(
        v.array(variable),
        v.maxLength(256),
        v.description(
          "Variables that programs get with the caller's value. One that goes by a secret's name is redacted",
        ),
      )),
      set: v.optional(v.pipe(
        v.record(variable, v.pipe(v.string(), v.maxLength(32_768))),
        v.description("Variables with their values. A name that goes by a secret is refused"),
      )),
    }),
    v.description(
      "The whole environment of programs; an agent may give other values to these names alone. Absent: empty",
    ),
  )),
  output: v.optional(v.pipe(
    v.strictObject({
      chunkBytes: v.optional(v.pipe(
        v.number(),
        v.integer(),
        v.minValue(4),
        v.maxValue(CHUNK_BYTES.max),
        v.description(`UTF-8 bytes of one record of output, 4 to ${CHUNK_BYTES.max}, default ${CHUNK_BYTES.value}`),
      )),
    }),
    v.description("How output is recorded"),
  )),
  sandbox: v.optional(v.pipe(
    v.picklist(["required", "auto", "off"]),
    v.description(
      "required: no run where programs cannot be confined; auto (default): confined where that works, as required under " +
        "--locked; off: never confined, needs unsafe.unconfined",
    ),
  )),
  egress: v.optional(v.pipe(
    v.array(v.pipe(v.string(), v.minLength(3), v.maxLength(300))),
    v.minLength(1),
    v.maxLength(64),
    v.description("host:port that confined programs may reach, through a proxy of the runner. Absent: no network"),
  )),
});

/** What every accepted risk says of itself. */
export const accepted = {
  reason: v.pipe(
    v.string(),
    v.minLength(10),
    v.maxLength(500),
    v.description("Why it is needed, for the reviewer: 10 to 500 characters"),
  ),
  expires: v.pipe(
    v.string(),
    v.regex(/^\d{4}-\d{2}-\d{2}$/, "a date, YYYY-MM-DD"),
    v.description("The last day it holds, YYYY-MM-DD; the compiler refuses it afterwards"),
  ),
};

/** Entries of the `unsafe` block about programs. */
export const processUnsafe = {
  interpreter: v.optional(v.pipe(
    v.array(v.strictObject({ command: v.pipe(commandName, v.description("Name of the command")), ...accepted })),
    v.maxLength(64),
    v.description("Commands that run other code, or take any argument, and that the author accepts"),
  )),
  unconfined: v.optional(v.pipe(
    v.strictObject(accepted),
    v.description("Programs without confinement: process.sandbox off"),
  )),
  environment: v.optional(v.pipe(
    v.array(v.strictObject({ name: v.pipe(variable, v.description("Name of the variable")), ...accepted })),
    v.maxLength(64),
    v.description("Variables that make programs load or start something, and that the author accepts"),
  )),
};
