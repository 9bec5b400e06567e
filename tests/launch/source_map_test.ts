import assert from "node:assert/strict";
import fc from "fast-check";
import {
  decodeMappings,
  encodeMappings,
  originalPosition,
  type Segment,
  splitInlineMap,
  withInlineMap,
} from "../../src/launch/source_map.ts";

const MAP = { version: 3, sourceRoot: "agent:///", sources: ["é.ts"], names: [], mappings: "AAAA" } as const;

Deno.test("withInlineMap() and splitInlineMap() are inverse", () => {
  for (const body of ["", "a;\n", "//# sourceMappingURL=data:application/json;base64,AAAA\n"]) {
    assert.deepEqual(splitInlineMap(withInlineMap(body, MAP)), { body, map: MAP });
  }
});

Deno.test("splitInlineMap() takes only a map that stands alone in the last line", () => {
  const comment = withInlineMap("", MAP).trimEnd();
  for (
    const code of ["a;", `"${comment}"`, `${comment}\na;`, "//# sourceMappingURL=data:application/json;base64,W10="]
  ) {
    assert.deepEqual(splitInlineMap(code), { body: code, map: undefined });
  }
});

Deno.test("encodeMappings() and decodeMappings() are inverse", () => {
  const count = fc.nat(1_000_000);
  const rest = fc.oneof(fc.constant([]), fc.tuple(count, count, count), fc.tuple(count, count, count, count));
  const segment = fc.tuple(count, rest).map(([column, fields]) => [column, ...fields] as Segment);
  const line = fc.array(segment).map((segments) => segments.sort((a, b) => a[0] - b[0]));
  fc.assert(fc.property(fc.array(line, { minLength: 1 }), (lines) => {
    assert.deepEqual(decodeMappings(encodeMappings(lines)), lines);
  }));
});

Deno.test("originalPosition() counts on from the mapping before, also over lines of one literal", () => {
  // The second line repeats the mapping of the first, as esbuild prints it within a template literal.
  const mappings = encodeMappings([[[4, 0, 10, 2]], [[0, 0, 10, 2], [9, 0, 12, 3]], []]);
  const at = (line: number, column: number): unknown => originalPosition({ ...MAP, mappings }, { line, column });
  assert.equal(at(0, 3), undefined);
  assert.deepEqual(at(0, 6), { source: "é.ts", line: 10, column: 4 });
  assert.deepEqual(at(1, 5), { source: "é.ts", line: 11, column: 5 });
  assert.deepEqual(at(1, 10), { source: "é.ts", line: 12, column: 4 });
  assert.deepEqual(at(2, 1), { source: "é.ts", line: 13, column: 1 });
});
