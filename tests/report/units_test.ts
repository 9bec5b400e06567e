import assert from "node:assert/strict";
import { duration, instant, span } from "../../src/report/units.ts";

Deno.test("duration() picks its unit, also at the borders", () => {
  const cases = [[0, "0 ms"], [999, "999 ms"], [1000, "1.0 s"], [59_949, "59.9 s"], [59_950, "1 min 0 s"]] as const;
  for (const [ms, text] of cases) assert.equal(duration(ms), text);
  assert.equal(duration(125_000), "2 min 5 s");
});

Deno.test("instant() prints UTC, and - for what is no time", () => {
  assert.equal(instant(0), "1970-01-01 00:00:00Z");
  for (const ms of [null, NaN, Infinity, 1e300]) assert.equal(instant(ms), "-");
});

Deno.test("span() takes the largest unit that fits whole", () => {
  const cases = [[86_400_000, "1 day"], [172_800_000, "2 days"], [5_400_000, "90 min"], [7_200_000, "2 h"]] as const;
  for (const [ms, text] of cases) assert.equal(span(ms), text);
  assert.equal(span(61_500), "1 min 2 s");
  assert.equal(span(250), "250 ms");
});
