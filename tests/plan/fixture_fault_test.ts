import assert from "node:assert/strict";
import { DataError } from "../../src/errors.ts";
import { parseFixture } from "../../src/plan/fixtures.ts";
import { keyFix, shownFixture } from "../../src/plan/fixture_fault.ts";
import { parseModelFixture } from "../../src/plan/model_fixture.ts";

/** Where a file is wrong, and the fix. */
function faultOf(parse: (text: string, file: string) => unknown, text: string): string {
  try {
    parse(text, "${project}/a/f.json");
  } catch (error) {
    assert.ok(error instanceof DataError);
    assert.match(error.message, /^Cannot load fixture "a\/f\.json": /);
    const { file, line, column } = error.position ?? {};
    return `${file}:${line}:${column} ${error.fix}`;
  }
  return "taken";
}

Deno.test("a fault of recorded answers has its place relative to the project, and a fix with the nearest key", () => {
  const model = (text: string) => faultOf(parseModelFixture, text);
  assert.equal(model('{\n  "responces": []}'), 'a/f.json:2:16 Write "responses"');
  assert.match(model('{"responses":[\n{"id":"a","responce":{}}]}'), /^a\/f\.json:2:\d+ Write "response"$/);
  assert.match(model('{"responses":[{"id":"a","response":{},"modle":"x"}]}'), /Write "model"$/);
  assert.match(model("{}"), /Add "responses"$/);
  assert.match(model("{"), /Write JSON at that place$/);
  assert.match(model("[]"), /Write \{ "responses": \[\] \} there$/);
  assert.match(model('{"responses":{}}'), /Write a list there$/);
  const other = (text: string) => faultOf(parseFixture, text);
  assert.equal(other('{"querys": []}'), 'a/f.json:1:12 Write "queries"');
  assert.match(
    other('{"queries":[{"package":{"ecosystem":"npm","nmae":"x","name":"x"},"response":{}}]}'),
    /Write "name"$/,
  );
  assert.match(other("{}"), /^a\/f\.json:1:1 Write \{ "queries": \[\] \}/);
});

Deno.test("keyFix() lists what is known where nothing is near, shownFixture() leaves other paths alone", () => {
  assert.equal(keyFix("zzzzzz", ["id", "model"]), "Remove it; known are id, model");
  assert.equal(shownFixture("/tmp/f.json"), "/tmp/f.json");
});
