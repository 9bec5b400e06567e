/**
 * Builds the URL of a declared endpoint from validated segments and proves, on the parsed URL, that nothing but those
 * segments changed.
 *
 * @module
 */
import { BugError, ToolInputError } from "../errors.ts";
import type { Endpoint } from "../tool/define.ts";
import { withRegistry } from "../tools/supply_chain/npm_registry.ts";

/** Longest segment, in UTF-16 units; registries and APIs stay far below it. */
const MAX_SEGMENT = 1_024;

/** How often a segment is percent-decoded in search of a dot segment; deeper nesting is refused. */
const MAX_DECODES = 4;

const PLACE = /\{(\+?)([a-z_]+)\}/g;
// deno-lint-ignore no-control-regex -- control characters are what is refused here
const CONTROL = /[\u0000-\u001f\u007f]/;
const ORIGIN = /^https:\/\/[a-z0-9.-]+(?::[0-9]+)?\//;

/**
 * Fills the variable parts of an endpoint; each is one path segment, or one or more where the declaration says `{+name}`,
 * and every segment is encoded exactly once.
 *
 * `segments` come from an agent's arguments and may be hostile: dot segments (also percent-encoded, also between encoded
 * slashes), control characters, lone surrogates and backslashes are refused. Every character outside the unreserved set
 * is percent-encoded, but for `@`, which a path may hold; a slash becomes `%2f`.
 *
 * @returns The URL as text, equal to the `href` of its own parse.
 * @throws {ToolInputError} `tool_invalid_args` if a segment cannot be one path segment.
 * @throws {BugError} If the declaration or the names of the segments are wrong.
 */
export function buildEndpointUrl(endpoint: Endpoint, segments: Readonly<Record<string, string>>): string {
  const template = withRegistry(endpoint.url);
  const origin = ORIGIN.exec(template)?.[0].slice(0, -1);
  if (origin === undefined || /[?#\\\s%]/.test(template)) {
    throw new BugError("bug_endpoint", "Cannot build a URL: the endpoint's declaration is not a plain https URL");
  }
  const unused = new Set(Object.keys(segments));
  const built = template.replaceAll(PLACE, (_whole, plus: string, name: string) => {
    const value = Object.hasOwn(segments, name) ? segments[name] : undefined;
    if (value === undefined) throw new BugError("bug_endpoint", `Cannot build a URL: no value for segment "${name}"`);
    unused.delete(name);
    if (plus === "") return encodeSegment(name, value);
    if (value.length > MAX_SEGMENT) throw refuse(name, `must have 1 to ${MAX_SEGMENT} characters, got ${value.length}`);
    return value.split("/").map((part) => encodeSegment(name, part)).join("/");
  });
  if (unused.size > 0) {
    throw new BugError("bug_endpoint", "Cannot build a URL: a segment was passed that the endpoint does not declare");
  }
  assertPinned(built, template, origin);
  return built;
}

/** Compares the parsed URL with the declaration: origin, number of path segments, every fixed segment, nothing else. */
function assertPinned(built: string, template: string, origin: string): void {
  const url = new URL(built);
  const expected = template.slice(origin.length).split("/");
  const actual = url.pathname.split("/");
  const held = url.href === built && url.origin === origin && url.username === "" && url.password === "" &&
    url.search === "" && url.hash === "" && hasLength(actual, expected) &&
    expected.every((part, i) => part.includes("{") || part === actual[i]);
  if (!held) throw new ToolInputError("tool_invalid_args", "Cannot build a URL: an argument would leave its endpoint");
}

function hasLength(actual: readonly string[], expected: readonly string[]): boolean {
  const isOpen = expected.at(-1)?.startsWith("{+") ?? false;
  return isOpen ? actual.length >= expected.length : actual.length === expected.length;
}

function encodeSegment(name: string, value: string): string {
  if (value.length === 0 || value.length > MAX_SEGMENT) {
    throw refuse(name, `must have 1 to ${MAX_SEGMENT} characters, got ${value.length}`);
  }
  if (!value.isWellFormed()) throw refuse(name, "must be well-formed Unicode, got a lone surrogate");
  if (CONTROL.test(value) || value.includes("\\")) {
    throw refuse(name, "must hold no control character and no backslash");
  }
  if (hidesDotSegment(value)) throw refuse(name, 'must hold no "." or ".." segment, in any encoding');
  return encodeURIComponent(value).replaceAll("%40", "@").replaceAll("%2F", "%2f");
}

/** A server or a proxy may decode more often than it should, so every level of encoding is looked through. */
function hidesDotSegment(value: string): boolean {
  let text = value;
  for (let depth = 0; depth <= MAX_DECODES; depth++) {
    if (text.split(/[/\\]/).some((part) => part === "." || part === "..")) return true;
    const decoded = text.replace(/%(2e|2f|5c|25)/gi, (code) => String.fromCharCode(parseInt(code.slice(1), 16)));
    if (decoded === text) return false;
    text = decoded;
  }
  return true;
}

function refuse(name: string, what: string): ToolInputError {
  return new ToolInputError("tool_invalid_args", `Cannot build a URL: "${name}" ${what}`);
}
