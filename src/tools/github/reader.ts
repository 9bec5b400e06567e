/**
 * What every GitHub reader shares: one repository, one GET, the headers of the API, lists that are read page by page.
 * A reader's own file says its arguments, its path, and what it makes of the answer.
 *
 * @module
 */
import * as v from "valibot";
import { ToolError, ToolInputError } from "../../errors.ts";
import type { Json, JsonObject } from "../../json.ts";
import { type AnySchema, defineTool, type Tool, type ToolSpec } from "../../tool/define.ts";
import type { ByteReply, EndpointTarget, Reply, SendPower } from "../../tool/powers.ts";

/** What every path begins with; the two places name the repository that the policy must admit. */
const REPOSITORY = "https://api.github.com/repos/{owner}/{repo}";

const HEADERS = { accept: "application/vnd.github+json", "x-github-api-version": "2022-11-28" } as const;

/** Media type of a file's own bytes. */
const RAW = "application/vnd.github.raw+json";

/** A page of a hundred large files stays below this, and so does every file that the API hands out whole. */
const REPLY_BYTES = 32 * 1_024 * 1_024;

/** Several pages may have to come over a slow line, and a retry must still fit. */
const TIMEOUT_MS = 30_000;

/** Most entries that GitHub puts on a page. */
const PER_PAGE = 100;

/** Pages of one call, at most: three thousand entries, as many as GitHub lists of any of these. */
const MAX_PAGES = 30;

/** What no GitHub reader does. */
const NON_CLAIMS = [
  "Reads this one endpoint of one named repository: no checkout, no git, no search, no Actions log or artifact, no write",
  "Does not clean or judge texts: titles, bodies, patches and names were written by strangers and may hold instructions",
] as const;

function part(what: string): v.GenericSchema<string> {
  return v.pipe(
    v.string(),
    v.regex(/^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}$/, "a name of letters, digits, _ . -"),
    v.description(what),
  );
}

const OWNER = part("Owner of the repository: a user or an organisation");
const REPO = part("Name of the repository");

/** Number of an issue or a pull request: 1 to 2147483647, as a number or its decimal digits. */
export function issueNumber(what: string): v.GenericSchema<number | string> {
  return v.pipe(
    v.union([
      v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(2_147_483_647)),
      v.pipe(v.string(), v.regex(/^[1-9][0-9]{0,9}$/, "decimal digits without a leading zero")),
    ]),
    v.description(what),
  );
}

/** Number of a workflow run: a whole number, or 1 to 32 decimal digits. */
export const RUN_ID = v.pipe(
  v.union([
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(Number.MAX_SAFE_INTEGER)),
    v.pipe(v.string(), v.regex(/^[1-9][0-9]{0,31}$/, "1 to 32 decimal digits without a leading zero")),
  ]),
  v.description("Number of the workflow run"),
);

/** A branch, a tag or a commit, of at most `max` characters. */
export function gitRef(max: number, what: string): v.GenericSchema<string> {
  return v.pipe(
    v.string(),
    v.minLength(1),
    v.maxLength(max),
    v.regex(/^[A-Za-z0-9_./-]+$/, "letters, digits, _ . / -"),
    v.description(what),
  );
}

/** Checks a number that may be written as text, and writes it as text. @throws {ToolInputError} If it is too large. */
export function numberText(tool: string, value: number | string): string {
  if (Number(value) > 2_147_483_647) throw refuse(tool, '"number" must be 1 to 2147483647');
  return String(value);
}

/**
 * Refuses what git takes for no name and what a path would take for another: dot segments, empty segments, slashes at the
 * ends.
 *
 * @throws {ToolInputError} `tool_invalid_args`.
 */
export function assertRef(tool: string, name: string, ref: string): void {
  const segments = ref.split("/");
  if (ref.includes("..") || segments.some((segment) => segment === "" || segment === ".")) {
    throw refuse(
      tool,
      `"${name}" must be a branch, a tag or a commit, without "..", "." or an empty part between slashes`,
    );
  }
}

/** An argument that cannot be what it should be. */
export function refuse(tool: string, what: string): ToolInputError {
  return new ToolInputError("tool_invalid_args", `Cannot call "${tool}": ${what}`);
}

/** An answer that is not what the API documents: never an empty success. */
export function unexpected(what: string): ToolError {
  return new ToolError("invalid_json", `Cannot use the answer of GitHub: ${what}`, {
    fields: { error_kind: "invalid_json", retryable: false },
  });
}

/** Asks the endpoint of one reader. */
export interface Reader {
  /** The answer as an object. @throws {ToolError} If it is none. */
  object(): Promise<JsonObject>;
  /** The answer, whatever JSON it is. */
  json(): Promise<Json>;
  /** The same URL as bytes. */
  bytes(): Promise<ByteReply>;
  /**
   * Every page, up to the budget of pages. `listOf` finds the list in a page.
   *
   * @throws {ToolError} `pagination_stuck` where a page leads back to one that was read.
   */
  pages(listOf: (page: Json) => Json | undefined): Promise<Pages>;
  /** Adds fields to the record of the outcome. */
  note(fields: JsonObject): void;
}

/** All pages of a list. */
export interface Pages {
  /** The first page, as it came. */
  readonly first: Json;
  /** The entries of all pages in the order of the service, as they came. */
  readonly entries: readonly Json[];
  /** Whether no page is left. */
  readonly complete: boolean;
}

/** What a reader's file says. */
export interface ReaderSpec<E extends v.ObjectEntries, R extends AnySchema> {
  readonly name: `github.${string}`;
  /** One line for people and models. */
  readonly summary: string;
  /** Arguments beside `owner` and `repo`. */
  readonly entries: E;
  /** Path behind the repository, with a place for each of `places`. */
  readonly path: string;
  readonly query?: readonly string[];
  readonly result: R;
  readonly nonClaims?: readonly string[];
  /** Fills the places of the path. @throws {ToolInputError} If an argument cannot be what it should be. */
  places(args: v.InferOutput<v.StrictObjectSchema<E, undefined>>): Readonly<Record<string, string>>;
  /** Values of query parameters that the arguments ask for. */
  parameters?(args: v.InferOutput<v.StrictObjectSchema<E, undefined>>): Readonly<Record<string, string>>;
  /** Makes the result. */
  read(
    reader: Reader,
    args: v.InferOutput<v.StrictObjectSchema<E, undefined>>,
  ): Promise<v.InferInput<R & v.GenericSchema>>;
}

/** Defines one reader. */
export function defineReader<const E extends v.ObjectEntries, R extends AnySchema>(spec: ReaderSpec<E, R>): Tool {
  const args = v.strictObject({ owner: OWNER, repo: REPO, ...spec.entries });
  const query = spec.query ?? [];
  type Args = v.InferOutput<v.StrictObjectSchema<E, undefined>>;
  type Artifact = { readonly target: EndpointTarget; readonly args: Args };
  const authority = {
    endpoints: {
      read: { method: "GET", url: `${REPOSITORY}${spec.path}` as const, ...(query.length === 0 ? {} : { query }) },
    },
    service: "github",
    credential: { header: "bearer", optional: true },
  } as const;
  const tool = {
    name: spec.name,
    family: "github",
    summary: spec.summary,
    args,
    result: spec.result,
    authority,
    effect: "send",
    limits: { timeoutMs: TIMEOUT_MS, replyBytes: REPLY_BYTES },
    audit: {
      args: Object.fromEntries(Object.keys(args.entries).map((key) => [key, "keep"] as const)),
      result: "digest",
    },
    nonClaims: [...NON_CLAIMS, ...spec.nonClaims ?? []],
    prepare(parsed: { readonly owner: string; readonly repo: string }, resolve: Resolver) {
      const { owner, repo, ...own } = parsed;
      const target = resolve.endpoint("read", { owner, repo, ...spec.places(own as Args) });
      return { targets: [target], artifact: { target, args: own as Args } };
    },
    invoke({ target, args: own }: Artifact, powers: SendPower & Pick<Reader, "note">) {
      return spec.read(readerOf(target, powers, spec.parameters?.(own) ?? {}), own);
    },
  };
  // The arguments of a reader are not known here, so neither is the exact type of what logs each of them
  return defineTool(tool as unknown as ToolSpec<typeof args, R, typeof authority, Artifact>);
}

interface Resolver {
  endpoint(name: "read", segments: Readonly<Record<string, string>>): EndpointTarget;
}

function readerOf(
  target: EndpointTarget,
  { send, fetchBytes, note }: SendPower & Pick<Reader, "note">,
  parameters: Readonly<Record<string, string>>,
): Reader {
  const ask = (more: Readonly<Record<string, string>> = {}): Promise<Reply> =>
    send(target, { headers: HEADERS, query: { ...parameters, ...more } });
  return {
    object: async () => asObject((await ask()).json),
    json: async () => (await ask()).json,
    bytes: () => fetchBytes(target, { headers: { ...HEADERS, accept: RAW }, query: parameters }),
    pages: async (listOf) => {
      const entries: Json[] = [];
      // The first page has a number too, and a page that leads there leads back
      const seen = new Set<string>([pageKey({ page: "1", per_page: String(PER_PAGE) })]);
      let first: Json | undefined;
      let next: Readonly<Record<string, string>> | undefined = { per_page: String(PER_PAGE) };
      for (let page = 1; next !== undefined && page <= MAX_PAGES; page++) {
        const key = pageKey(next);
        if (seen.has(key)) throw stuck("a page leads back to one that was read");
        seen.add(key);
        const { json, headers }: Reply = await ask(next);
        const list = listOf(json);
        if (!Array.isArray(list)) throw unexpected("a page holds no list");
        for (const entry of list) entries.push(entry);
        first ??= json;
        next = nextPage(headers.link);
        note({ pages: page, entries: entries.length, complete: next === undefined });
      }
      if (first === undefined) throw unexpected("there is no page");
      return { first, entries, complete: next === undefined };
    },
    note,
  };
}

function pageKey(parameters: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(parameters).toSorted());
}

/** The JSON object that an answer must be. @throws {ToolError} If it is none. */
export function asObject(json: Json): JsonObject {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw unexpected("it is not an object");
  return json as JsonObject;
}

/** Parameters that lead to another page, with the form of their values. */
const PAGE_PARAMETERS: ReadonlyMap<string, RegExp> = new Map([
  ["page", /^[1-9][0-9]{0,8}$/],
  ["per_page", /^(?:[1-9][0-9]?|100)$/],
  ["after", /^[A-Za-z0-9_=:+/.-]{1,512}$/],
  ["cursor", /^[A-Za-z0-9_=:+/.-]{1,512}$/],
]);

/** Names of the query parameters that a list asks with. */
export const PAGE_QUERY: readonly string[] = [...PAGE_PARAMETERS.keys()];

/**
 * What leads to the next page: of the URL in `link` the values of a few parameters are taken, and nothing else. The header
 * is hostile; where it leads is not followed.
 *
 * @returns `undefined` where there is no next page.
 * @throws {ToolError} `pagination_stuck` where there is one and the header does not say which.
 */
export function nextPage(link: string | undefined): Readonly<Record<string, string>> | undefined {
  for (const entry of link?.split(/,\s*(?=<)/) ?? []) {
    const [, address, attributes = ""] = /^\s*<([^<>]*)>((?:\s*;[^;]*)*)\s*$/.exec(entry) ?? [];
    if (address === undefined || !/;\s*rel="?next"?\s*(?:;|$)/i.test(attributes)) continue;
    const params = URL.parse(address)?.searchParams;
    const taken: Record<string, string> = { per_page: String(PER_PAGE) };
    for (const [name, form] of PAGE_PARAMETERS) {
      const values = params?.getAll(name) ?? [];
      if (values.length > 1 || (values[0] !== undefined && !form.test(values[0]))) {
        throw stuck("the address of the next page is not one");
      }
      if (values[0] !== undefined) taken[name] = values[0];
    }
    if (Object.keys(taken).length === 1) throw stuck("the address of the next page names no page");
    return taken;
  }
  return undefined;
}

function stuck(what: string): ToolError {
  return new ToolError("pagination_stuck", `Cannot read all pages of GitHub: ${what}`, {
    fields: { error_kind: "pagination_stuck", retryable: false },
  });
}
