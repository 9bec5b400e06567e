import assert from "node:assert/strict";
import { BUDGETS } from "../../src/plan/budgets.ts";
import { knownKeys, policyJsonSchema } from "../../src/policy/schema.ts";

interface Node {
  readonly description?: string;
  readonly type?: string;
  readonly default?: number;
  readonly additionalProperties?: unknown;
  readonly properties?: Record<string, Node>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

/** Every node of a schema with its path. */
function* nodes(node: Node, path = ""): Generator<[string, Node]> {
  yield [path, node];
  for (const [name, inner] of Object.entries(node.properties ?? {})) yield* nodes(inner, `${path}.${name}`);
  if (node.items !== undefined) yield* nodes(node.items, `${path}[]`);
  for (const inner of node.anyOf ?? []) yield* nodes(inner, `${path}|`);
}

Deno.test("policyJsonSchema() describes every key and closes every object", async () => {
  const schema = await policyJsonSchema() as Node;
  let count = 0;
  for (const [path, node] of nodes(schema)) {
    if (node.properties !== undefined) assert.equal(node.additionalProperties, false, path);
    for (const [name, inner] of Object.entries(node.properties ?? {})) {
      count++;
      assert.ok((inner.description ?? "").length > 10, `${path}.${name} says what it is`);
    }
  }
  assert.ok(count > 50);
  assert.equal((schema as { $schema?: string }).$schema, "https://json-schema.org/draft/2020-12/schema");
});

Deno.test("policyJsonSchema() gives each budget its default, and the description says why", async () => {
  const budgets = (await policyJsonSchema() as Node).properties?.["budgets"]?.properties ?? {};
  assert.deepEqual(Object.keys(budgets), Object.keys(BUDGETS));
  for (const [name, { value, min, max, unit }] of Object.entries(BUDGETS)) {
    assert.equal(budgets[name]?.default, value);
    assert.match(budgets[name]?.description ?? "", new RegExp(`${unit}, ${min} to ${max}, default ${value}, because `));
    assert.ok(min <= value && value <= max, name);
  }
});

Deno.test("knownKeys() walks objects, lists and alternatives", () => {
  assert.deepEqual(knownKeys(["fs", "read", 0]), ["root", "include", "exclude"]);
  assert.deepEqual(knownKeys(["network", "ca"]), ["fromEnv", "file"]);
  assert.equal(knownKeys(["isolation"]), undefined);
});
