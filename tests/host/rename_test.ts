import assert from "node:assert/strict";
import { type Moved, readMove, readName } from "../../src/host/rename.ts";

const OWN = "https://api.github.com/repos/old/name";
const BY_NUMBER = "https://api.github.com/repositories/515436299";

Deno.test("readMove() follows to the number with the very path and query of the request", () => {
  const right = [
    ["", ""],
    ["/issues/1", "/issues/1"],
    ["/contents/a%20b?ref=topic", "/contents/a%20b?ref=topic"],
    ["/commits/a%2fb", "/commits/a/b"],
    ["/pulls/1/files?page=2&per_page=100", "/pulls/1/files?per_page=100&page=2"],
  ] as const;
  for (const [own, theirs] of right) {
    const moved = readMove(OWN + own, BY_NUMBER + theirs);
    assert.equal(moved?.url, BY_NUMBER + own, theirs);
    assert.deepEqual([moved?.from, moved?.id, moved?.nameUrl], ["old/name", 515436299, BY_NUMBER]);
  }
});

Deno.test("readMove() follows nothing else", () => {
  const wrong = [
    undefined,
    "",
    "/repositories/515436299/contents/x?ref=topic",
    `${BY_NUMBER}/contents/x`,
    `${BY_NUMBER}/contents/x?ref=main`,
    `${BY_NUMBER}/contents/x?ref=topic#x`,
    `${BY_NUMBER}/contents/y?ref=topic`,
    `${BY_NUMBER}/contents/x/?ref=topic`,
    "https://api.github.com/repositories/0/contents/x?ref=topic",
    "https://api.github.com/repositories/1x/contents/x?ref=topic",
    "https://api.github.com/repositories/1/../2/contents/x?ref=topic",
    "https://api.github.com/repos/new/name/contents/x?ref=topic",
    "https://api.github.com/user",
    "http://api.github.com/repositories/1/contents/x?ref=topic",
    "https://api.github.com:8443/repositories/1/contents/x?ref=topic",
    "https://api.github.com@evil.test/repositories/1/contents/x?ref=topic",
    "https://api.github.com.evil.test/repositories/1/contents/x?ref=topic",
    "https://evil.test/repositories/1/contents/x?ref=topic",
    "//evil.test/repositories/1/contents/x?ref=topic",
  ];
  for (const location of wrong) assert.equal(readMove(`${OWN}/contents/x?ref=topic`, location), undefined, location);
  assert.equal(readMove("https://api.osv.dev/v1/query", BY_NUMBER), undefined);
  assert.equal(readMove(`${OWN}/a%zz`, `${BY_NUMBER}/b%zz`), undefined);
});

Deno.test("readName() takes the name of the number that was asked for, and no other", () => {
  const moved = readMove(OWN, BY_NUMBER) as Moved;
  assert.equal(readName({ id: 515436299, full_name: "new/name" }, moved), "new/name");
  const wrong = [
    null,
    [],
    {},
    { id: 1, full_name: "new/name" },
    { id: "515436299", full_name: "new/name" },
    { id: 515436299, full_name: 7 },
    { id: 515436299, full_name: "new" },
    { id: 515436299, full_name: "new/.." },
    { id: 515436299, full_name: "new/name/x" },
    { id: 515436299, full_name: "new/na%2fme" },
  ];
  for (const json of wrong) assert.equal(readName(json, moved), undefined, JSON.stringify(json));
});
