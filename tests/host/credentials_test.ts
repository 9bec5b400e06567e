import assert from "node:assert/strict";
import { ControlError } from "../../src/errors.ts";
import { readCredentials } from "../../src/host/credentials.ts";
import type { Plan } from "../../src/plan/plan.ts";

const CANARY = "ghp_canary0123456789";

function planOf(options: { optional?: boolean; header?: string; fixtures?: boolean } = {}): Plan {
  const { optional = true, header = "bearer", fixtures = false } = options;
  return {
    tools: {
      "a.tool": { credential: { header, optional } },
      other: {},
      third: { credential: { header, optional: true } },
    },
    credentials: { "a.tool": { env: "A_TOKEN", rule: "/secrets/a.tool" } },
    network: { fixtures: fixtures ? [{ path: "x", sha256: "" }] : [] },
  } as unknown as Plan;
}

Deno.test("readCredentials() gives a credential to the tool that it is for, and to no other", () => {
  const { credentials, secrets } = readCredentials(planOf(), (name) => name === "A_TOKEN" ? CANARY : "not-this-one");
  assert.deepEqual(credentials.of("a.tool")?.header(), ["authorization", `Bearer ${CANARY}`]);
  for (const tool of ["other", "third", "a", "constructor"]) assert.equal(credentials.of(tool), undefined, tool);
  assert.deepEqual([...secrets], [["A_TOKEN", CANARY]]);
  assert.deepEqual(credentials.note("a.tool"), { credential_mode: "host_env_bearer", credential_env: "A_TOKEN" });
  assert.deepEqual(credentials.note("third"), { credential_mode: "none", credential_env: null });
  assert.deepEqual(credentials.note("other"), {});
  const asKey = readCredentials(planOf({ header: "x-api-key" }), () => CANARY).credentials;
  assert.deepEqual(asKey.of("a.tool")?.header(), ["x-api-key", CANARY]);
  assert.equal(asKey.note("a.tool").credential_mode, "host_env_api_key");
});

Deno.test("a credential prints as nothing but its variable", () => {
  const credential = readCredentials(planOf(), () => CANARY).credentials.of("a.tool");
  for (
    const text of [
      Deno.inspect(credential, { showHidden: true, depth: 9 }),
      JSON.stringify(credential),
      `${credential}`,
    ]
  ) {
    assert.ok(!text.includes(CANARY), text);
  }
});

Deno.test("readCredentials() refuses what cannot be a header, with a message that does not tell it", () => {
  for (
    const bad of [
      "short7!",
      `${CANARY}\n`,
      ` ${CANARY}`,
      `a b${CANARY}`,
      `${CANARY}\u0000`,
      `${CANARY}é`,
      "x".repeat(9_000),
    ]
  ) {
    assert.throws(() => readCredentials(planOf(), () => bad), (error) => {
      assert.ok(error instanceof ControlError && error.code === "credential_invalid", JSON.stringify(bad));
      assert.ok(error.message.includes('"A_TOKEN"') && !error.message.includes(bad.trim()), error.message);
      return true;
    });
  }
});

Deno.test("readCredentials() lets a variable be unset only where the tool works without, or every answer is recorded", () => {
  for (const unset of [undefined, ""]) {
    assert.equal(readCredentials(planOf(), () => unset).credentials.of("a.tool"), undefined);
    const required = () => readCredentials(planOf({ optional: false }), () => unset);
    assert.throws(required, (error) => error instanceof ControlError && error.code === "credential_unset");
  }
  const recorded = readCredentials(planOf({ optional: false, fixtures: true }), () => undefined);
  assert.equal(recorded.credentials.of("a.tool"), undefined);
  // It is known all the same, so that nothing shows it, and used for nothing
  const known = readCredentials(planOf({ fixtures: true }), () => CANARY);
  assert.equal(known.credentials.of("a.tool"), undefined);
  assert.equal(known.secrets.get("A_TOKEN"), CANARY);
});

Deno.test("identity() is the variable, and a code that only the same value under the same key has", async () => {
  const identify = (value: string, key: number) =>
    readCredentials(planOf(), () => value).credentials.of("a.tool")?.identity(new Uint8Array(32).fill(key));
  const one = await identify(CANARY, 1);
  assert.match(one ?? "", /^A_TOKEN:[0-9a-f]{64}$/);
  assert.equal(await identify(CANARY, 1), one);
  assert.notEqual(await identify(`${CANARY}x`, 1), one);
  assert.notEqual(await identify(CANARY, 2), one);
});
