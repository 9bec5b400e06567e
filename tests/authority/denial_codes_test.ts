import assert from "node:assert/strict";
import { DENIAL_CODES, isDenialCode } from "../../src/authority/denial_codes.ts";

Deno.test("isDenialCode() knows the listed slugs and no inherited name", () => {
  for (const code of Object.keys(DENIAL_CODES)) assert.ok(isDenialCode(code) && /^[a-z_]+$/.test(code));
  for (const code of ["toString", "constructor", "__proto__", ""]) assert.ok(!isDenialCode(code));
});
