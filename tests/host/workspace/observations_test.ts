import assert from "node:assert/strict";
import { Observations } from "../../../src/host/workspace/observations.ts";

Deno.test("Observations keep the last digest, and a whole view as long as the file stays the same", () => {
  const seen = new Observations();
  assert.equal(seen.get("/a"), undefined);
  seen.set("/a", { sha256: "1", complete: false });
  assert.deepEqual(seen.get("/a"), { sha256: "1", complete: false });
  seen.set("/a", { sha256: "1", complete: true });
  seen.set("/a", { sha256: "1", complete: false });
  assert.deepEqual(seen.get("/a"), { sha256: "1", complete: true });
  seen.set("/a", { sha256: "2", complete: false });
  assert.deepEqual(seen.get("/a"), { sha256: "2", complete: false });
  seen.set("/b", { sha256: null, complete: true });
  assert.deepEqual(seen.get("/b"), { sha256: null, complete: true });
  seen.delete("/a");
  assert.equal(seen.get("/a"), undefined);
});

Deno.test("Observations forget the oldest file first", () => {
  const seen = new Observations();
  for (let i = 0; i <= 100_000; i++) seen.set(`/${i}`, { sha256: "x", complete: true });
  assert.equal(seen.get("/0"), undefined);
  assert.notEqual(seen.get("/1"), undefined);
});
