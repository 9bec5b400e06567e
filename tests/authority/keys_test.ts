import assert from "node:assert/strict";
import { describeKeys, KEY_TABLE, maybeKeyRow } from "../../src/authority/keys.ts";

Deno.test("KEY_TABLE has each act once, with a reason, and no act that neither key stops", () => {
  assert.equal(new Set(KEY_TABLE.map(({ act }) => act)).size, KEY_TABLE.length);
  for (const { act, title, why, key1, key2 } of KEY_TABLE) {
    assert.match(act, /^[a-z][a-z0-9_]+$/);
    assert.ok(title.length > 10 && why.length > 10, act);
    assert.ok(key1 || key2, act);
  }
});

Deno.test("KEY_TABLE claims nothing for key 1 that Deno does not do", () => {
  for (const act of ["read_excluded", "read_link_out", "write_link_out", "overwrite", "connect_other_path"]) {
    assert.equal(maybeKeyRow(act)?.key1, false, act);
  }
  assert.equal(maybeKeyRow("no_such_act"), undefined);
});

Deno.test("describeKeys() names the keys", () => {
  assert.equal(describeKeys({ key1: true, key2: true }), "either key");
  assert.equal(describeKeys({ key1: true, key2: false }), "key 1 only");
  assert.equal(describeKeys({ key1: false, key2: true }), "key 2 only");
});
