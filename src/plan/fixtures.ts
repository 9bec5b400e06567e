/**
 * Recorded answers: the files that `network.fixtures` names, parsed strictly and indexed by request.
 *
 * Two formats are read. A list of OSV queries:
 * `{"queries":[{"package":{"ecosystem","name"},"version"?,"response":{…}}]}`; and a list of exchanges:
 * `{"version":1,"recorded":"YYYY-MM-DD","exchanges":[{"request":{"method","url","body"?,"accept"?},"response":{"status","headers"?,"body"?|"base64"?}}]}`.
 * `accept` stands where one URL answers differently to another media type; `base64` holds an answer that is no JSON.
 * The placeholder of the npm registry's host is filled in everywhere. Either may hold a `note` for its readers.
 *
 * @module
 */
import * as v from "valibot";
import { canonical, isJsonObject, utf8Length } from "../json.ts";
import { withRegistry } from "../tools/supply_chain/npm_registry.ts";
import { isDay } from "./day.ts";
import { KEPT_HEADERS, type RawReply } from "./raw_reply.ts";
import { nearest } from "../authority/nearest.ts";
import { fixtureFault, type FixtureFile, keyFix, parseFixtureJson, shapeFault, shownFixture } from "./fixture_fault.ts";

/** What the list of OSV queries stands for. */
const OSV_QUERY_URL = "https://api.osv.dev/v1/query";

/** One recorded request and its answer. */
export interface RecordedExchange {
  readonly method: "GET" | "POST";
  /** The final URL. */
  readonly url: string;
  /** Canonical JSON of the request's body; empty where there is none. */
  readonly body: string;
  /** Media type for which this answer stands; absent: the usual one. */
  readonly accept?: string;
  readonly reply: RawReply;
  /** The file it came from, as the caller named it. */
  readonly file: string;
  /** When it was recorded, `YYYY-MM-DD`; `null` where the file does not say. */
  readonly recorded: string | null;
}

/** Recorded exchanges by request. */
export interface FixtureSet {
  /**
   * Finds the answer to exactly this request; `body` is canonical JSON or empty. With `accept`, only an answer that was
   * recorded for that media type.
   */
  find(method: string, url: string, body: string, accept?: string): RecordedExchange | undefined;
  readonly size: number;
}

const filled = v.pipe(v.string(), v.minLength(1));
const jsonObject = v.custom<Record<string, unknown>>(isJsonObject, "an object");

const queriesSchema = v.strictObject({
  note: v.optional(filled),
  queries: v.array(v.strictObject({
    package: v.strictObject({ ecosystem: filled, name: filled }),
    version: v.nullish(filled),
    response: jsonObject,
  })),
});

const exchangesSchema = v.strictObject({
  version: v.literal(1),
  note: v.optional(filled),
  recorded: v.pipe(v.string(), v.check(isDay, "a day in the form YYYY-MM-DD")),
  exchanges: v.array(v.strictObject({
    request: v.strictObject({
      method: v.picklist(["GET", "POST"]),
      url: v.pipe(v.string(), v.check(isFinalUrl, "an https URL in normal form, without user and fragment")),
      body: v.optional(jsonObject),
      accept: v.optional(filled),
    }),
    response: v.strictObject({
      status: v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599)),
      headers: v.optional(v.record(v.pipe(v.string(), v.regex(/^[a-z0-9-]+$/)), v.string())),
      body: v.optional(v.unknown()),
      base64: v.optional(v.pipe(v.string(), v.check(isBase64, "bytes in base64"))),
    }),
  })),
});

/** The two lists that a file may be made of. */
const KINDS = ["exchanges", "queries"];

/** Every key that has a place in a file. */
const KNOWN_KEYS = [
  ...["version", "note", "recorded", ...KINDS, "request", "response", "method", "url", "body", "accept", "status"],
  ...["headers", "base64", "package", "ecosystem", "name"],
];

/**
 * Parses one file of recorded answers.
 *
 * @param text The file's text; its author is trusted, its shape is not.
 * @param file What messages call the file.
 * @throws {DataError} `fixture_invalid`, with the position of the first fault.
 */
export function parseFixture(text: string, file: string): readonly RecordedExchange[] {
  const source = { text, file };
  const value = parseFixtureJson(source);
  if (isJsonObject(value) && Object.hasOwn(value, "queries")) {
    const { queries } = check(queriesSchema, value, source);
    return queries.map(({ package: { ecosystem, name }, version, response }) => ({
      method: "POST",
      url: OSV_QUERY_URL,
      body: canonical({ package: { ecosystem, name }, ...(typeof version === "string" ? { version } : {}) }),
      reply: rawReply({ status: 200, body: response }),
      file,
      recorded: null,
    }));
  }
  if (isJsonObject(value) && Object.hasOwn(value, "exchanges")) {
    const { recorded, exchanges } = check(exchangesSchema, value, source);
    return exchanges.map(({ request, response }) => ({
      method: request.method,
      url: withRegistry(request.url),
      body: request.body === undefined ? "" : canonical(request.body),
      ...(request.accept === undefined ? {} : { accept: request.accept }),
      reply: rawReply(response),
      file,
      recorded,
    }));
  }
  const keys = isJsonObject(value) ? Object.keys(value) : [];
  const typo = keys.find((key) => nearest(key, KINDS) !== undefined);
  throw fixtureFault(source, typo === undefined ? [] : [typo], {
    what: 'expected an object with "exchanges" or "queries"',
    fix: typo === undefined
      ? 'Write { "queries": [] }, or "exchanges" with "version" and "recorded"'
      : keyFix(typo, KINDS),
  });
}

/**
 * Joins the recorded answers of several files.
 *
 * @throws {DataError} `fixture_invalid` if a file is wrong, `fixture_ambiguous` if one request has two answers.
 */
export function loadFixtures(files: readonly { readonly file: string; readonly text: string }[]): FixtureSet {
  const byRequest = new Map<string, RecordedExchange>();
  for (const { file, text } of files) {
    for (const [index, exchange] of parseFixture(text, file).entries()) {
      const key = requestKey(exchange);
      const earlier = byRequest.get(key);
      if (earlier === undefined) byRequest.set(key, exchange);
      else if (canonical(earlier.reply) !== canonical(exchange.reply)) {
        const what = exchange.body === "" ? "" : ` with body ${exchange.body.slice(0, 200)}`;
        const other = earlier.file === file ? "" : `, the other in "${shownFixture(earlier.file)}"`;
        throw fixtureFault({ text, file }, [exchange.recorded === null ? "queries" : "exchanges", index], {
          code: "fixture_ambiguous",
          what: `${exchange.method} ${exchange.url}${what} has two different answers${other}`,
          fix: "Keep one answer for each request",
        });
      }
    }
  }
  return {
    find: (method, url, body, accept) =>
      byRequest.get(requestKey({ method, url, body, ...(accept === undefined ? {} : { accept }) })),
    size: byRequest.size,
  };
}

function requestKey(
  { method, url, body, accept }: {
    readonly method: string;
    readonly url: string;
    readonly body: string;
    readonly accept?: string;
  },
): string {
  return `${method}\n${url}\n${accept ?? ""}\n${body}`;
}

/** What a recording says of an answer. */
interface RecordedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly base64?: string | undefined;
}

function rawReply({ status, headers = {}, body, base64 }: RecordedAnswer): RawReply {
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => KEPT_HEADERS.some((h) => h === name)));
  const { location } = headers;
  const moved = location === undefined ? {} : { location };
  if (base64 !== undefined) {
    const bytes = Uint8Array.fromBase64(base64).byteLength;
    return { status, headers: kept, text: base64, bytes, encoding: "base64", ...moved };
  }
  const text = body === undefined ? "" : withRegistry(JSON.stringify(body));
  return { status, headers: kept, text, bytes: utf8Length(text), ...moved };
}

function isBase64(text: string): boolean {
  try {
    return Uint8Array.fromBase64(text).toBase64() === text;
  } catch {
    return false;
  }
}

function check<const S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  source: FixtureFile,
): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw shapeFault(source, result.issues, KNOWN_KEYS);
}

/** A URL in any other form would never be asked for, so its answer could only be missed. */
function isFinalUrl(text: string): boolean {
  const url = withRegistry(text);
  if (!URL.canParse(url)) return false;
  const { protocol, username, password, hash, href } = new URL(url);
  return protocol === "https:" && username === "" && password === "" && hash === "" && href === url;
}
