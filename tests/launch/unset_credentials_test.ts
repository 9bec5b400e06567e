import assert from "node:assert/strict";
import { unsetCredentials, withoutCredentialText } from "../../src/launch/unset_credentials.ts";
import type { Plan } from "../../src/plan/plan.ts";
import type { LoadedPolicy } from "../../src/policy/load.ts";

function planOf(fixtures: readonly string[] = []): Plan {
  const tool = (optional: boolean, service?: string) => ({ credential: { header: "bearer", optional }, service });
  return {
    network: { fixtures },
    tools: {
      "github.a": tool(true, "github"),
      "github.b": tool(true, "github"),
      "model.call": tool(false, "model"),
    },
    credentials: {
      "github.a": { env: "HUB", rule: "/github/tokenEnv" },
      "github.b": { env: "HUB", rule: "/github/tokenEnv" },
      "model.call": { env: "KEY", rule: "/model/apiKeyEnv" },
    },
  } as unknown as Plan;
}

const LOADED = {
  positionOf: () => ({ file: "p.jsonc", line: 3, column: 5 }),
  nameOf: (pointer: string) => pointer.slice(1).replaceAll("/", "."),
} as unknown as LoadedPolicy;

Deno.test("unsetCredentials() finds each variable that is not set, and none whose answers are recorded", () => {
  const hub = { env: "HUB", rule: "/github/tokenEnv", tools: ["github.a", "github.b"], optional: true };
  const key = { env: "KEY", rule: "/model/apiKeyEnv", tools: ["model.call"], optional: false };
  assert.deepEqual(unsetCredentials(planOf(), () => undefined), [hub, key]);
  assert.deepEqual(unsetCredentials(planOf(), () => ""), [hub, key]);
  assert.deepEqual(unsetCredentials(planOf(), (name) => name === "HUB" ? "token" : undefined), [key]);
  assert.deepEqual(unsetCredentials(planOf(["f.json"]), () => undefined), [key]);
  assert.deepEqual(unsetCredentials(planOf(), () => "value"), []);
});

Deno.test("withoutCredentialText() names the variable, who asks without it, the line of the policy and the fix", () => {
  const [hub] = unsetCredentials(planOf(), () => undefined);
  assert.ok(hub !== undefined);
  assert.equal(
    withoutCredentialText(hub, LOADED),
    'warning: the variable "HUB" is not set, so github.a and 1 more will ask without a credential\n' +
      "  at p.jsonc:3:5\n" +
      '  fix: Run `export HUB=…` first, or remove "github.tokenEnv" to ask without',
  );
});
