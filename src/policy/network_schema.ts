/**
 * The blocks `network` and `github` of a policy: how answers are got, and what may be asked as whom.
 *
 * @module
 */
import * as v from "valibot";
import { path, variable } from "./schema_values.ts";

const cache = v.strictObject({
  dir: v.optional(v.pipe(path, v.description("Folder of the cache; without it, one in the user's state folder"))),
  mode: v.optional(v.pipe(
    v.picklist(["read-through", "offline"]),
    v.description("read-through (default) asks the network on a miss; offline never does and reports the miss"),
  )),
  maxAgeMs: v.optional(v.pipe(
    v.number(),
    v.integer(),
    v.minValue(0),
    v.maxValue(31_536_000_000),
    v.description("Age in milliseconds after which an entry is a miss, 0 to a year; without it entries do not age"),
  )),
  maxEntries: v.optional(v.pipe(
    v.number(),
    v.integer(),
    v.minValue(1),
    v.maxValue(1_000_000),
    v.description("Entries kept, 1 to 1000000; the oldest go first. Without it nothing is removed"),
  )),
});

/** The block `network`. */
export const networkBlock = v.strictObject({
  fixtures: v.optional(v.pipe(
    v.array(v.pipe(path, v.description("A JSON file of recorded answers, relative to this policy"))),
    v.minLength(1),
    v.maxLength(64),
    v.description("Recorded answers. When any are named nothing else is asked, and the host gets no network at all"),
  )),
  cache: v.optional(v.pipe(cache, v.description("Keeps answers between runs. Absent: no cache on disk"))),
  retry: v.optional(v.pipe(
    v.strictObject({
      attempts: v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(3),
        v.description("Further attempts after the first one failed in a way that may pass, 0 to 3"),
      ),
    }),
    v.description("Repeats failed look-ups within the deadline of the call. Absent: none"),
  )),
  proxy: v.optional(v.pipe(
    v.strictObject({ fromEnv: v.pipe(variable, v.description("Variable that holds the proxy's URL")) }),
    v.description("Sends requests through a proxy. The proxy resolves names, so key 1 no longer sees addresses"),
  )),
  ca: v.optional(v.pipe(
    v.union([
      v.strictObject({ fromEnv: v.pipe(variable, v.description("Variable that holds the path of a PEM file")) }),
      v.strictObject({ file: v.pipe(path, v.description("PEM file, relative to this policy")) }),
    ]),
    v.description("Further certificate authorities to trust. Absent: those of Deno alone"),
  )),
  ipv6: v.optional(v.pipe(
    v.boolean(),
    v.description("true lets connections use IPv6, whose private ranges key 1 cannot deny. Default: false"),
  )),
});

/** The block `github`. */
export const githubBlock = v.strictObject({
  repos: v.pipe(
    v.array(v.pipe(
      v.string(),
      v.regex(
        /^(?!\.{1,2}\/)[A-Za-z0-9_.-]{1,100}\/(?:\*|(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100})$/,
        "a repository, owner/name, or owner/* for all of an owner",
      ),
      v.description("owner/name, or owner/* for every repository of an owner; case does not matter"),
    )),
    v.minLength(1),
    v.maxLength(1024),
    v.description("Repositories that the github tools may read, whatever else their token reaches"),
  ),
  tokenEnv: v.optional(v.pipe(
    variable,
    v.description("Variable that holds the token of every github tool. Absent: they ask without one"),
  )),
});
