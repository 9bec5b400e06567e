/** Holds `conformance.md` to the tests: what it names exists, and no number is missing or there twice. */
import assert from "node:assert/strict";

const HERE = new URL(".", import.meta.url);

/** One line: its number, what stands in parentheses behind it, and the tests that it names. */
interface Line {
  readonly id: string;
  readonly kind: string;
  readonly text: string;
  readonly proofs: readonly (readonly [file: string, name: string])[];
}

/** Numbers of the cases of each group, as they were collected. */
const CASES: Readonly<Record<string, string>> = {
  A: "01 03 05 06 07 08 09 10 12 13 14 16 17 18 19 20 22 26 27 29 30 31 32",
  G: "01 02 04 06 07 10 11 12 13 14 15 17",
  E: "01 02 06 07 08 09 10 11",
  X: "01 02 04 05 06 08 11 12 13 14 15 16 18",
  L: "01 02 04 05 06 09 10 11 12 13 14 15 18 21 22 23 24 25 26 27",
  N: "01 03 04 05 06 08 09 13 16 17 18 19 20 21 22 23 24 25 26 29 30 31",
};

function numbers(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
}

/** The lines below a heading. */
function linesOf(text: string, heading: string): readonly Line[] {
  const [, section = ""] = text.split(`\n## ${heading}\n`);
  const items = (section.split("\n## ")[0] ?? "").split(/^- /m).slice(1);
  return items.map((item) => {
    const line = item.replaceAll(/\s+/g, " ").trim();
    const [, id = "", kind = "kept", rest = ""] = /^([A-Z]?-?\d+)(?: \(([a-z ]+)\))?: (.*)$/.exec(line) ?? [];
    const proofs: [string, string][] = [];
    let file: string | undefined;
    for (const [, span = ""] of rest.matchAll(/`([^`]+)`/g)) {
      if (/^tests\/[a-z0-9_/]+_test\.ts$/.test(span)) file = span;
      else if (file !== undefined) proofs.push([file, span]);
    }
    return { id, kind, text: rest, proofs };
  });
}

/** Names of the tests of a file, with the marks of a template as they stand. */
async function namesIn(file: string): Promise<ReadonlySet<string>> {
  const text = await Deno.readTextFile(new URL(`../${file}`, HERE));
  const names = text.matchAll(/Deno\.test\(\s*(?:\{\s*name:\s*)?(["`])((?:\\.|(?!\1).)*)\1/g);
  return new Set([...names].map(([, , name = ""]) => name.replaceAll(/\\(.)/g, "$1")));
}

const TEXT = await Deno.readTextFile(new URL("conformance.md", HERE));
const POINTS = linesOf(TEXT, "Points");
const FAULTS = linesOf(TEXT, "Faults");
const CASE_LINES = linesOf(TEXT, "Cases");

Deno.test("conformance.md has each point and each fault once, with a test or with a reason", () => {
  assert.deepEqual(POINTS.map(({ id }) => id), numbers("", 70));
  assert.deepEqual(FAULTS.map(({ id }) => id), [...numbers("S", 22), ...numbers("C", 21)]);
  for (const { id, kind, text, proofs } of [...POINTS, ...FAULTS, ...CASE_LINES]) {
    assert.ok(["kept", "changed", "left out"].includes(kind), `${id} is ${kind}`);
    if (kind === "left out") assert.deepEqual([proofs, text.length > 20], [[], true], id);
    else assert.ok(proofs.length > 0, `${id} names no test`);
  }
});

Deno.test("conformance.md names tests that exist in the files that it names", async () => {
  const files = new Map<string, ReadonlySet<string>>();
  for (const { id, proofs } of [...POINTS, ...FAULTS, ...CASE_LINES]) {
    assert.equal(new Set(proofs.map((proof) => proof.join())).size, proofs.length, `${id} names a test twice`);
    for (const [file, name] of proofs) {
      const names = files.get(file) ?? await namesIn(file);
      files.set(file, names);
      assert.ok(names.has(name), `${id}: ${file} has no test "${name}"`);
    }
  }
  assert.ok(files.size > 50, String(files.size));
});

Deno.test("each case of the groups is a test or has its reason in cases_left_out.md, and none has both", async () => {
  const leftOut = [...(await Deno.readTextFile(new URL("cases_left_out.md", HERE))).matchAll(/^- ([A-Z]-\d\d): /gm)]
    .map(([, id = ""]) => id);
  assert.deepEqual(leftOut, [...new Set(leftOut)].toSorted());
  const held = CASE_LINES.map(({ id }) => id);
  const all = Object.entries(CASES).flatMap(([group, list]) => list.split(" ").map((number) => `${group}-${number}`));
  const expected = [...held, ...leftOut.filter((id) => Object.hasOwn(CASES, id.slice(0, 1)))];
  assert.deepEqual(expected.toSorted(), all.toSorted());
});
