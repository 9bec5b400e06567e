import * as v from "valibot";
import { ToolError, ToolInputError } from "../../errors.ts";
import { isJsonObject } from "../../json.ts";
import { defineTool } from "../../tool/define.ts";

/** The registry's own limit for a name, in characters, scope included. */
const MAX_NAME = 214;

/**
 * What a name may hold by the grammar that was in force before names became lower case: packages of that time are still
 * there to be read. These are the characters that percent-encoding leaves alone.
 */
const PART = /^[A-Za-z0-9._~!'()*-]+$/;

/** Names under which the registry serves something else, or nothing. */
const NOT_PACKAGES = new Set(["node_modules", "favicon.ico"]);

/** The abbreviated form leaves out readmes and people; the whole form is what a mirror without it answers. */
const ACCEPT = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*; q=0.1";

/** A large real packument in abbreviated form is about 10 MB. */
const REPLY_BYTES = 16 * 1_024 * 1_024;

/** A slow line needs more than ten seconds for such an answer, and a retry must still fit. */
const TIMEOUT_MS = 30_000;

/**
 * Reads the abbreviated metadata of one package from the npm registry.
 *
 * Arguments: `{ package }`, `name` or `@scope/name`, 1 to 214 characters. Result: the packument as the registry sent it,
 * a JSON object. All of it was written by strangers. A package that does not exist is an error `http_nonretryable` with
 * status 404.
 */
export const npmMetadata = defineTool({
  name: "npm.metadata",
  family: "supply_chain",
  summary: "Reads the abbreviated metadata of one package from the npm registry",
  args: v.strictObject({
    package: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MAX_NAME),
      v.description("Name of the package: `name` or `@scope/name`, never percent-encoded"),
    ),
  }),
  result: v.looseObject({}),
  authority: { endpoints: { packument: { method: "GET", url: "https://<npm-registry>/{package}" } } },
  effect: "send",
  limits: { timeoutMs: TIMEOUT_MS, replyBytes: REPLY_BYTES },
  audit: { args: { package: "keep" }, result: "digest" },
  nonClaims: ["Does not verify the signatures or the integrity of any tarball"],
  prepare(args, resolve) {
    assertName(args.package);
    const target = resolve.endpoint("packument", { package: args.package });
    return { targets: [target], artifact: { target, name: args.package } };
  },
  async invoke({ target, name }, { send }) {
    const { json } = await send(target, { headers: { accept: ACCEPT } });
    if (!isJsonObject(json)) throw unexpected("the answer is not an object");
    if (Object.hasOwn(json, "name") && json.name !== name) throw unexpected("the answer is about another package");
    return json;
  },
});

function assertName(name: string): void {
  const parts = name.startsWith("@") ? name.slice(1).split("/") : [name];
  const shaped = parts.length === (name.startsWith("@") ? 2 : 1) &&
    parts.every((part) => PART.test(part) && part !== "." && part !== "..");
  // The registry keeps unscoped names with these first characters for itself
  const reserved = /^[._]/.test(name) || NOT_PACKAGES.has(name.toLowerCase());
  if (!shaped || reserved) {
    throw new ToolInputError(
      "tool_invalid_args",
      'Cannot call "npm.metadata": "package" must be `name` or `@scope/name`, of letters, digits and -._~!\'()*',
    );
  }
}

function unexpected(what: string): ToolError {
  return new ToolError("invalid_json", `Cannot use the registry's answer: ${what}`, {
    fields: { error_kind: "invalid_json", retryable: false },
  });
}
