import assert from "node:assert/strict";
import { redactorOf, unusedSecrets } from "../../src/launch/run_secrets.ts";
import type { Plan } from "../../src/plan/plan.ts";

const VALUES = { TEST_USED: "used-0123456789", TEST_UNUSED: "unused-0123456789", TEST_SHORT: "abc" };

Deno.test("unusedSecrets() finds what the policy names and the plan does not use, redactorOf() scrubs both", () => {
  for (const [name, value] of Object.entries(VALUES)) Deno.env.set(name, value);
  try {
    const plan = { redact: [], credentials: { "a.tool": { env: "TEST_USED", rule: "/secrets/a.tool" } } };
    const policy = {
      model: { apiKeyEnv: "TEST_UNUSED" },
      github: { repos: ["o/r"], tokenEnv: "TEST_SHORT" },
      secrets: { "a.tool": "TEST_USED", "b.tool": "TEST_MISSING" },
    };
    const run = { plan, loaded: { policy } } as unknown as Parameters<typeof unusedSecrets>[0];
    const hidden = unusedSecrets(run);
    assert.deepEqual({ ...hidden }, { TEST_UNUSED: VALUES.TEST_UNUSED });
    const passed = { A_TOKEN: "passed-0123456789", HARMLESS: "harmless-0123456789" };
    const { scrub } = redactorOf(plan as unknown as Plan, { passed, hidden });
    assert.equal(
      scrub(`${VALUES.TEST_USED} ${VALUES.TEST_UNUSED} ${VALUES.TEST_SHORT} ${passed.A_TOKEN} ${passed.HARMLESS}`),
      `[redacted] [redacted] abc [redacted] ${passed.HARMLESS}`,
    );
  } finally {
    for (const name of Object.keys(VALUES)) Deno.env.delete(name);
  }
});
