import assert from "node:assert/strict";
import { nearest } from "../../src/authority/nearest.ts";

Deno.test("nearest() finds the name that was meant", () => {
  assert.equal(nearest("raed", ["write", "read"]), "read");
  assert.equal(nearest("read_file", ["readFile", "listFiles"]), "readFile");
  assert.equal(nearest("osvquery", ["osv.query"]), "osv.query");
  assert.equal(nearest("wallms", ["wallMs", "cpuMs"]), "wallMs");
});

Deno.test("nearest() says nothing where nothing is near", () => {
  assert.equal(nearest("github", ["fs", "tools", "network"]), undefined);
  assert.equal(nearest("x", []), undefined);
});

Deno.test("nearest() stays cheap for a very long name", () => {
  assert.equal(nearest("x".repeat(1_000_000), ["readFile"]), undefined);
});

Deno.test("nearest() takes the candidate that is written alike where two are equally near", () => {
  assert.equal(nearest("raedFile", ["ReadFile", "readFile"]), "readFile");
  assert.equal(nearest("RaedFile", ["readFile", "ReadFile"]), "ReadFile");
});
