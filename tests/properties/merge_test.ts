import assert from "node:assert/strict";
import fc from "fast-check";
import { compilePolicy } from "../../src/launch/compile_policy.ts";
import { comparePlans } from "../../src/plan/compare.ts";
import { type PolicyFlags, withFlags } from "../../src/policy/from_flags.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { PolicyError } from "../../src/policy/policy_error.ts";

/** Blocks that take away; each may be absent in a file. */
const BLOCKS = {
  gate: { deny: [{ kind: "filesystem.read", match: "*.snap" }] },
  redact: ["diagnosis"],
  budgets: { toolCalls: 5, toolArgBytes: 1000, toolTimeoutMs: 1000 },
  isolation: "worker",
  network: { cache: { maxAgeMs: 1000, maxEntries: 10 }, retry: { attempts: 1 } },
} as const;

const flagsArb: fc.Arbitrary<PolicyFlags> = fc.record({
  tool: fc.subarray(["echo", "readFile", "osv.query", "writeArtifact"]),
  fsRead: fc.subarray(["docs", "src"]),
  fsReadExclude: fc.subarray(["*.md", "/x"]),
  fsWrite: fc.subarray(["out"]),
  namedNetworkCacheMaxAgeMs: fc.constantFrom(1, 1000, 5000),
  namedNetworkCacheMaxEntries: fc.constantFrom(1, 10, 50),
  namedNetworkRetryAttempts: fc.nat(3),
  maxToolArgBytes: fc.constantFrom(10, 1000, 2000),
  toolTimeoutMs: fc.constantFrom(10, 1000, 2000),
  isolation: fc.constantFrom("process", "worker", "compartment"),
}, { requiredKeys: [] });

Deno.test("flags on a policy file keep every block that takes away, and none gains without being named", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-merge-" }));
  try {
    for (const name of ["docs", "src"]) await Deno.mkdir(`${dir}/${name}`);
    await Deno.writeTextFile(`${dir}/deno.json`, "{}");
    const keys = Object.keys(BLOCKS) as (keyof typeof BLOCKS)[];
    let merged = 0;
    await fc.assert(
      fc.asyncProperty(fc.subarray(keys), flagsArb, async (blocks, flags) => {
        const policy = {
          version: 1,
          tools: ["readFile", "osv.query"],
          fs: { read: [{ root: "docs", exclude: ["secret/"] }] },
          ...Object.fromEntries(blocks.map((name) => [name, BLOCKS[name]])),
        };
        await Deno.writeTextFile(`${dir}/agent.policy.jsonc`, JSON.stringify(policy));
        const loaded = await loadPolicy(`${dir}/agent.policy.jsonc`);
        const file = await compilePolicy(loaded);
        const { loaded: flagged, added } = await withFlags(loaded, flags, { cwd: dir });
        const plan = await compilePolicy(flagged).then((compiled) => compiled.plan, (error) => {
          // A tool without its authority, a root that overlaps: refused, so it weakens nothing.
          if (error instanceof PolicyError) return undefined;
          throw error;
        });
        if (plan === undefined) return;
        merged++;
        assert.deepEqual(plan.gate, file.plan.gate);
        assert.deepEqual(plan.redact, file.plan.redact);
        assert.equal(plan.budgets.toolCalls, file.plan.budgets.toolCalls);
        for (const { root, exclude } of file.plan.fs.read) {
          const same = plan.fs.read.find((entry) => entry.root === root);
          for (const pattern of exclude) assert.ok(same?.exclude.includes(pattern), pattern);
        }
        const gained = comparePlans(file.plan, plan).filter(({ kind }) => kind === "gained");
        if (added.length === 0) assert.deepEqual(gained, [], JSON.stringify(flags));
      }),
      { numRuns: 300 },
    );
    assert.ok(merged > 50, String(merged));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
