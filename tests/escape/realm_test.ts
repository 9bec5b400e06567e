import assert from "node:assert/strict";
import type { Isolation } from "../../src/plan/plan.ts";
import { type Ran, runIn } from "./composition.ts";
import { makeWorld } from "./world.ts";

const ISOLATIONS: readonly Isolation[] = ["process", "worker", "compartment"];

async function runCode(isolation: Isolation, code: string): Promise<Ran> {
  const world = await makeWorld();
  try {
    return await runIn(world, { keys: "shipped", isolation, code, budgets: { wallMs: 10_000 } });
  } finally {
    await world.close();
  }
}

/** Objects that only the runtime makes, by the names under which its own clone revives them. */
const REVIVE = `
let brand;
try { atob("%"); } catch (error) { brand = Reflect.ownKeys(error).find((key) => String(key).includes("hostObject")); }
const kinds = ["Blob", "File", "CryptoKey", "EventLoopDelayHistogram", "X509Certificate", "NoSuchKind"];
const outcome = { brand: typeof brand, revived: [] };
for (const type of kinds) {
  for (const wrap of [(value) => value, (value) => [value], (value) => new Map([[1, value]]), (value) => ({ value })]) {
    const forged = { [brand]: () => ({ type, parts: [], size: 0, mimeType: "", name: "", lastModified: 0 }) };
    let copy = structuredClone(wrap(forged));
    copy = copy.value ?? (Array.isArray(copy) ? copy[0] : copy instanceof Map ? copy.get(1) : copy);
    if (Object.getPrototypeOf(copy) !== Object.prototype) outcome.revived.push(type);
  }
}
export { outcome };`;

/** Gives the class of refusals a parent of the agent's own, which would run where a refusal is made. */
const ADOPT = `
const refused = await callTool("nope", {}).catch((error) => error);
const outcome = { adopted: true, again: "" };
try {
  Object.setPrototypeOf(refused.constructor, function () { throw { toString() { return "FORGED"; } }; });
} catch { outcome.adopted = false; }
outcome.again = await callTool("nope", {}).catch((error) => error.message);
export { outcome };`;

const UNREADABLE = [
  "throw Object.assign(() => {}, { toString() { throw 1; } })",
  "throw Object.assign(Object.create(null), { name: 1n })",
  "throw new Proxy({}, { get() { throw 1; } })",
  "throw Symbol('x')",
];

for (const isolation of ISOLATIONS) {
  Deno.test(`structuredClone() revives no object of the runtime: ${isolation}`, async () => {
    const { end, outcome } = await runCode(isolation, REVIVE);
    assert.equal(end.reason, "done", JSON.stringify(end));
    assert.deepEqual(outcome, { brand: "symbol", revived: [] });
  });

  Deno.test(`an agent's code does not run where its refusals are made: ${isolation}`, async () => {
    const { end, outcome } = await runCode(isolation, ADOPT);
    assert.equal(end.reason, "done", JSON.stringify(end));
    assert.deepEqual(outcome, { adopted: false, again: "agent tool denied: nope" });
    assert.equal(end.control, undefined);
  });

  Deno.test(`whatever an agent throws is its own failure and not its host's: ${isolation}`, async () => {
    for (const code of UNREADABLE) {
      const { end } = await runCode(isolation, code);
      assert.equal(end.reason, "agent_error", `${code}: ${JSON.stringify(end)}`);
      assert.equal(end.control, undefined);
    }
  });
}
