/**
 * What is wrong with a file of recorded answers: its place, what is there, what would be right.
 *
 * @module
 */
import type * as v from "valibot";
import { nearest } from "../authority/nearest.ts";
import { DataError } from "../errors.ts";
import { pointerPart } from "../json.ts";
import { positionOf, syntaxErrorAt } from "./json_position.ts";

/** A file that is checked. */
export interface FixtureFile {
  readonly text: string;
  /** Its path, as the plan has it; messages show one in the project relative to it. */
  readonly file: string;
}

/** What is wrong, and what would be right. */
export interface FixtureFault {
  readonly what: string;
  readonly fix: string;
  /** Code of the error; the default is `fixture_invalid`. */
  readonly code?: string;
  readonly cause?: unknown;
}

/** How a path of a plan is shown to people: one in the project relative to it. */
export function shownFixture(file: string): string {
  return file.replace(/^\$\{project\}\//, "");
}

/** The error of a fault at a place in the file. */
export function fixtureFault(
  { text, file }: FixtureFile,
  at: readonly (string | number)[],
  fault: FixtureFault,
): DataError {
  return faultAt(file, positionOf(text, at), fault);
}

/** Parses a file of recorded answers as JSON. @throws {DataError} `fixture_invalid`. */
export function parseFixtureJson({ text, file }: FixtureFile): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw faultAt(file, syntaxErrorAt(text), { what: "it is not JSON", fix: "Write JSON at that place", cause });
  }
}

/**
 * The error of the first issue that a schema found. Where a key is missing that stands there under a wrong name, that
 * name is the issue.
 *
 * @param known Keys of the objects that the file may have, for the fix of an unknown one.
 */
export function shapeFault(
  source: FixtureFile,
  issues: readonly [v.BaseIssue<unknown>, ...v.BaseIssue<unknown>[]],
  known: readonly string[],
): DataError {
  const [first] = issues;
  const folder = pathOf(first).slice(0, -1).join("/");
  const isTypo = (issue: v.BaseIssue<unknown>): boolean =>
    isUnknownKey(issue) && pathOf(issue).slice(0, -1).join("/") === folder;
  const issue = isMissingKey(first) ? issues.find(isTypo) ?? first : first;
  const path = pathOf(issue);
  const pointer = path.map(pointerPart).join("");
  const where = pointer === "" ? "its root" : pointer;
  const expected = issue.type === "custom" || issue.type === "check" ? issue.message : issue.expected ?? "";
  if (isUnknownKey(issue)) {
    const fix = keyFix(String(path.at(-1)), known);
    return fixtureFault(source, path, { what: `${where} is not a known key`, fix });
  }
  if (isMissingKey(issue)) {
    return fixtureFault(source, path, { what: `${where} is missing`, fix: `Add "${path.at(-1)}"` });
  }
  const what = `${where} expected ${expected}, got ${issue.received}`;
  return fixtureFault(source, path, { what, fix: `Write ${wordsOf(expected)} there` });
}

function pathOf({ path }: v.BaseIssue<unknown>): (string | number)[] {
  return (path ?? []).map((part) => part.key as string | number);
}

function isUnknownKey({ type, expected }: v.BaseIssue<unknown>): boolean {
  return type === "strict_object" && expected === "never";
}

function isMissingKey({ type, received }: v.BaseIssue<unknown>): boolean {
  return type === "strict_object" && received === "undefined";
}

/** The fix of a key that is not known. */
export function keyFix(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant === undefined ? `Remove it; known are ${known.join(", ")}` : `Write "${meant}"`;
}

/** What a schema expects, in the words of JSON. */
function wordsOf(expected: string): string {
  if (expected === "Array") return "a list";
  if (expected === "Object") return "an object";
  return expected === ">=1"
    ? "a text that is not empty"
    : expected.replace(/^\((.*)\)$/, "$1").replaceAll(" | ", " or ");
}

function faultAt(
  file: string,
  at: { readonly line: number; readonly column: number },
  { what, fix, code = "fixture_invalid", cause }: FixtureFault,
): DataError {
  const shown = shownFixture(file);
  return new DataError(code, `Cannot load fixture "${shown}": ${what}`, {
    position: { file: shown, ...at },
    fix,
    ...(cause === undefined ? {} : { cause }),
  });
}
