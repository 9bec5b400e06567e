import assert from "node:assert/strict";
import { makeEager } from "../../src/launch/make_eager.ts";

async function evaluate(code: string): Promise<Record<string, unknown>> {
  return await import(`data:text/javascript,${encodeURIComponent(code)}`);
}

Deno.test("makeEager() changes nothing but when a function is compiled", async () => {
  const code = [
    'import { a as first } from "data:text/javascript,export const a = 1";',
    "export const early = late(1);",
    "function late(x) { return inner(x) + 1; function inner(y) { return ((z) => z + y)(first); } }",
    "async function* many() { yield late(2); }",
    "const arrows = [a => b => a + b, async () => 4, ({ c }) => c, () => ({ d: 5 })];",
    "const o = { m(x) { return [x].map(y => y * 2); }, get g() { return () => 6; }, async *s() {}, f: function () { return 7; } };",
    "class C { static #p = () => 8; static q = function () { return 9; }; static r() { return C.#p(); } constructor() { this.t = () => new.target; } }",
    "export const text = `${[1].map(x => `${x}=>`)}`;",
    "export const values = [arrows[0](1)(2), await arrows[1](), arrows[2]({ c: 3 }), arrows[3]().d, o.m(1)[0], o.g(), o.f(), C.q(), C.r()];",
    "export const names = [late.name, many.name, arrows.map(f => f.name).join(), o.m.name, o.f.name, C.q.name];",
    "export const isClass = new C().t() === C;",
    "for await (const x of many()) values.push(x);",
    "export { late as renamed };",
  ].join("\n");
  const eager = await makeEager(code);
  assert.match(eager, /^var late=\(function late/);
  assert.match(eager, /\(a => \(b => a \+ b\)\)/);
  const [{ renamed: was, ...plain }, { renamed: is, ...changed }] = [await evaluate(code), await evaluate(eager)];
  assert.deepEqual(changed, plain);
  assert.equal((is as (x: number) => number)(5), (was as (x: number) => number)(5));
  assert.deepEqual((plain as { values: number[] }).values, [
    3,
    4,
    3,
    5,
    2,
    (plain as { values: unknown[] }).values[5],
    7,
    9,
    8,
    4,
  ]);
});
