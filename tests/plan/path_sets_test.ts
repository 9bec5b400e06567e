import assert from "node:assert/strict";
import fc from "fast-check";
import { makeGate } from "../../src/gate/decide.ts";
import { comparePlans, covers } from "../../src/plan/compare.ts";
import { absolute, type Places, type Plan } from "../../src/plan/plan.ts";
import { PolicyError } from "../../src/policy/policy_error.ts";
import { request } from "../gate/plan_maker.ts";
import { type Comparer, type Text, withComparer } from "./comparison.ts";

const FOLDERS = ["a", "a/b", "docs", "Docs", "out"] as const;
const glob = fc.oneof(
  fc.constantFrom("*.md", "**", "a/", "/a", "b/**", "a/**/x", "[ab]?", "*.ENV", ".env", "/.env", "a/.env", ".ENV.x"),
  fc.constantFrom("id_a", "config", ".git/config", "a/.git/config", "x.pem", "*.p?m", "docs", "/docs/", "x", "b/x"),
);
const globs = fc.uniqueArray(glob, { minLength: 1, maxLength: 3 });
const readEntry = fc.record({
  root: fc.constantFrom(".", ...FOLDERS),
  include: fc.option(globs, { nil: undefined, freq: 2 }),
  exclude: fc.option(globs, { nil: undefined, freq: 1 }),
}, { requiredKeys: ["root"] });
const rule = fc.record({
  kind: fc.constantFrom("filesystem.read", "filesystem.write"),
  match: glob,
  tools: fc.option(fc.constantFrom(["readFile"], ["writeArtifact"]), { nil: undefined, freq: 1 }),
}, { requiredKeys: ["kind", "match"] });
const policy = fc.record({
  tools: fc.constant(["readFile", "writeArtifact"]),
  fs: fc.record({
    read: fc.uniqueArray(readEntry, { minLength: 1, maxLength: 3, selector: ({ root }) => root }),
    write: fc.constantFrom([{ root: "out" }], [{ root: "." }], [{ root: "a" }], [{ root: "a/b" }]),
  }),
  gate: fc.record({ deny: fc.array(rule, { maxLength: 2 }), ask: fc.array(rule, { maxLength: 1 }) }),
});

const path = fc.array(
  fc.constantFrom(
    "a",
    "b",
    "ab",
    "x",
    "docs",
    "Docs",
    "out",
    "x.md",
    ".env",
    ".ENV",
    ".env.x",
    ".ENV.x",
    "id_a",
    ".git",
  )
    .chain((name) => fc.constantFrom(name, name, "config", "x.pem", "X.PEM", "deno.json", "agent.ts")),
  { minLength: 1, maxLength: 4 },
).map((parts) => parts.join("/"));

interface Compiled {
  readonly plan: Plan;
  readonly places: Places;
}

/** `undefined` for a policy that the compiler refuses. */
async function compiled({ plan }: Comparer, text: unknown): Promise<Compiled | undefined> {
  try {
    return await plan(JSON.parse(JSON.stringify(text)) as Text);
  } catch (error) {
    if (error instanceof PolicyError) return undefined;
    throw error;
  }
}

function decisions({ plan, places }: Compiled): (kind: "read" | "write", path: string) => "allow" | "ask" | "deny" {
  const gate = makeGate(plan, places);
  return (kind, target) =>
    gate(request(kind === "read" ? "readFile" : "writeArtifact", `filesystem.${kind}`, target)).kind;
}

const RANK = { deny: 0, ask: 1, allow: 2 } as const;
const files = Object.fromEntries(FOLDERS.map((folder) => [`${folder}/`, ""]));

Deno.test("comparePlans() is right about the gate: a gain's example is decided more freely by the head, a loss's less", () =>
  withComparer(async (comparer) => {
    const seen = { gained: 0, less: 0, unsure: 0 };
    await fc.assert(
      fc.asyncProperty(policy, policy, async (one, other) => {
        const [base, head] = [await compiled(comparer, one), await compiled(comparer, other)];
        if (base === undefined || head === undefined) return;
        const [was, is] = [decisions(base), decisions(head)];
        for (const { kind, subject, example } of comparePlans(base.plan, head.plan)) {
          if (subject !== "read" && subject !== "write") continue;
          if (example === undefined) {
            seen.unsure++;
            continue;
          }
          // rules for one tool are no part of the sets, so they may decide as well
          const ruled = [...base.plan.gate, ...head.plan.gate].some(({ tools }) => tools.length > 0);
          const target = absolute(example, base.places);
          const [before, after] = [RANK[was(subject, target)], RANK[is(subject, target)]];
          const words = `${kind} ${subject} ${example}: ${before} to ${after}`;
          if (kind === "gained") {
            seen.gained++;
            assert.ok(after > before || ruled, words);
          } else {
            seen.less++;
            assert.ok(after < before || ruled, words);
          }
        }
      }),
      { numRuns: 150 },
    );
    assert.ok(seen.gained > 20 && seen.less > 20 && seen.unsure === 0, JSON.stringify(seen));
  }, { files }));

Deno.test("covers() is right about the gate: no request is decided more freely by a head that the base covers", () =>
  withComparer(async (comparer) => {
    let covered = 0;
    let admitted = 0;
    // the head is often the base with something less, so that covering is no rare luck
    const pair = policy.chain((base) =>
      fc.tuple(
        fc.constant(base),
        fc.oneof(
          policy,
          fc.tuple(fc.nat(), globs, rule).map(([at, exclude, deny]) => ({
            ...base,
            fs: {
              ...base.fs,
              read: base.fs.read.map((entry, i) => i === at % base.fs.read.length ? { ...entry, exclude } : entry),
            },
            gate: { ...base.gate, deny: [...base.gate.deny, deny] },
          })),
        ),
      )
    );
    await fc.assert(
      fc.asyncProperty(pair, fc.array(path, { minLength: 40, maxLength: 60 }), async ([one, other], paths) => {
        const [base, head] = [await compiled(comparer, one), await compiled(comparer, other)];
        if (base === undefined || head === undefined || !covers(base.plan, head.plan)) return;
        covered++;
        const [was, is] = [decisions(base), decisions(head)];
        // a folder itself is no file: what the gate says of a root is about listing it
        const roots = new Set(
          [...base.plan.fs.read, ...head.plan.fs.read].map(({ root }) => absolute(root, base.places)),
        );
        for (const each of paths) {
          const target = `${comparer.dir}/${each}`;
          for (const kind of ["read", "write"] as const) {
            if (kind === "read" && roots.has(target)) continue;
            if (is(kind, target) !== "deny") admitted++;
            assert.ok(RANK[is(kind, target)] <= RANK[was(kind, target)], `${kind} ${each}`);
          }
        }
      }),
      { numRuns: 200 },
    );
    assert.ok(covered > 20 && admitted > 200, `${covered} covered, ${admitted} admitted`);
  }, { files }));

Deno.test("covers() is a partial order: reflexive, transitive, and both ways only where nothing is gained either way", () =>
  withComparer(async (comparer) => {
    let chains = 0;
    const narrower = fc.tuple(policy, globs, globs).map(([top, exclude, more]) => {
      const [first, ...rest] = top.fs.read;
      const cut = (patterns: readonly string[]) => ({
        ...top,
        fs: { ...top.fs, read: first === undefined ? rest : [{ ...first, exclude: patterns }, ...rest] },
      });
      return [top, cut(exclude), cut([...new Set([...exclude, ...more])])] as const;
    });
    // a pattern that names a root's own folder would make it a file in one plan and a folder in another
    const isPlain = (
      { fs }: { readonly fs: { readonly read: readonly { include?: readonly string[] | undefined }[] } },
    ) => !fs.read.some(({ include }) => include?.some((one) => one === "/a" || one === "docs"));
    const three = fc.oneof(fc.tuple(policy, policy, policy), narrower).filter((texts) => texts.every(isPlain));
    await fc.assert(
      fc.asyncProperty(three, async (texts) => {
        const plans = await Promise.all(texts.map((text) => compiled(comparer, text)));
        const [a, b, c] = plans.map((one) => one?.plan);
        for (const plan of [a, b, c]) {
          if (plan === undefined) continue;
          assert.deepEqual(comparePlans(plan, plan), [], "reflexive");
          assert.deepEqual(comparePlans(plan, structuredClone(plan)), [], "and not by identity alone");
        }
        if (a === undefined || b === undefined || c === undefined) return;
        if (covers(a, b) && covers(b, c)) {
          chains++;
          assert.equal(covers(a, c), true, "transitive");
        }
        if (covers(a, b) && covers(b, a)) {
          const subjects = comparePlans(a, b).filter(({ kind }) => kind !== "changed").map(({ subject }) => subject);
          assert.deepEqual(
            subjects.filter((subject) => subject === "read" || subject === "write"),
            [],
            "antisymmetric",
          );
        }
      }),
      { numRuns: 100 },
    );
    assert.ok(chains > 8, `only ${chains} chains`);
  }, { files }));
