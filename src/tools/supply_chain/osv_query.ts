import * as v from "valibot";
import { ToolError, ToolInputError } from "../../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import { defineTool } from "../../tool/define.ts";
import { assertOsvPackage, isPrintable } from "./osv_package.ts";

/** OSV answers up to 1,000 vulnerabilities a page; no package has near 20,000. */
const MAX_PAGES = 20;

/** A page of the largest packages (kernels, distributions) stays below this. */
const REPLY_BYTES = 16 * 1_024 * 1_024;

/** Several pages may have to come over a slow line, and a retry must still fit. */
const TIMEOUT_MS = 30_000;

const vulnerability = v.looseObject({ id: v.pipe(v.string(), v.minLength(1)) });

/**
 * Asks OSV which vulnerabilities are known for one package.
 *
 * Arguments: `{ package: { ecosystem, name }, version? }`; without a version, of all versions. Result: `{ vulns }`, whole
 * OSV records of all pages in the order of the service; an empty list means that OSV knows none, and is never the
 * answer to anything unclear. All texts in it were written by strangers. Pages that do not end are an error
 * `pagination_stuck`, never a part of the list.
 */
export const osvQuery = defineTool({
  name: "osv.query",
  family: "supply_chain",
  summary: "Asks OSV which vulnerabilities are known for one package",
  args: v.strictObject({
    package: v.strictObject({
      ecosystem: v.pipe(
        v.string(),
        v.minLength(1),
        v.maxLength(100),
        v.description("OSV ecosystem, for example `npm`"),
      ),
      name: v.pipe(v.string(), v.minLength(1), v.maxLength(500), v.description("Name as the ecosystem writes it")),
    }),
    version: v.optional(
      v.pipe(v.string(), v.minLength(1), v.maxLength(200), v.description("Exact version; without it, all versions")),
    ),
  }),
  result: v.strictObject({ vulns: v.array(vulnerability) }),
  authority: { endpoints: { query: { method: "POST", url: "https://api.osv.dev/v1/query" } } },
  effect: "send",
  limits: { timeoutMs: TIMEOUT_MS, replyBytes: REPLY_BYTES },
  audit: { args: { package: "keep", version: "keep" }, result: "digest" },
  nonClaims: ["An empty list means that OSV knows of no vulnerability, not that there is none"],
  prepare({ package: { ecosystem, name }, version }, resolve) {
    assertOsvPackage(ecosystem, name);
    if (version !== undefined && !isPrintable(version)) {
      throw new ToolInputError("tool_invalid_args", 'Cannot call "osv.query": "version" must hold printable text only');
    }
    const target = resolve.endpoint("query");
    const query: JsonObject = { package: { ecosystem, name }, ...(version === undefined ? {} : { version }) };
    return { targets: [target], artifact: { target, query } };
  },
  async invoke({ target, query }, { send, note }) {
    const vulns: v.InferOutput<typeof vulnerability>[] = [];
    const seen = new Set<string>();
    let token: string | undefined;
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { json } = await send(target, { body: token === undefined ? query : { ...query, page_token: token } });
      const answer = readPage(json);
      for (const vuln of answer.vulns) vulns.push(vuln);
      note({ pages: page, vulns: vulns.length });
      token = answer.token;
      if (token === undefined) return { vulns };
      if (seen.has(token)) throw stuck(page, "a page token came twice");
      seen.add(token);
    }
    throw stuck(MAX_PAGES, `more than ${MAX_PAGES} pages`);
  },
});

/** Reads one page. Only a shape that is known to mean "none" counts as none. */
function readPage(json: Json): { vulns: v.InferOutput<typeof vulnerability>[]; token: string | undefined } {
  if (!isJsonObject(json)) throw unexpected("it is not an object");
  const { vulns = [], next_page_token: token = "" } = json;
  if (typeof token !== "string") throw unexpected('"next_page_token" is not text');
  if (!Object.hasOwn(json, "vulns")) {
    const strange = Object.keys(json).find((key) => key !== "next_page_token");
    if (strange !== undefined) throw unexpected('it has no "vulns", but something else');
  }
  const parsed = v.safeParse(v.array(vulnerability), vulns);
  if (!parsed.success) throw unexpected('"vulns" is not a list of records with an id');
  // The records themselves, not the parser's copies, so that nothing in them is lost
  return { vulns: vulns as v.InferOutput<typeof vulnerability>[], token: token === "" ? undefined : token };
}

function unexpected(what: string): ToolError {
  return new ToolError("invalid_json", `Cannot use the answer of OSV: ${what}`, {
    fields: { error_kind: "invalid_json", retryable: false },
  });
}

function stuck(pages: number, what: string): ToolError {
  return new ToolError("pagination_stuck", `Cannot read all pages of OSV: ${what}`, {
    fields: { error_kind: "pagination_stuck", retryable: false, pages },
  });
}
