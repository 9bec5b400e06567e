/** Two nets of one plan: whatever the gate allows, the flags allow. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { makeGate } from "../../src/gate/decide.ts";
import { hostFlags } from "../../src/plan/flags.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { isInside } from "../../src/authority/path.ts";
import { compileIn, withProject } from "../policy/project.ts";
import { request } from "../gate/plan_maker.ts";

/** Deno's rule for paths: the most specific entry wins, a tie is a deny. */
function denoAllows(flags: readonly string[], kind: "read" | "write", path: string): boolean {
  const longest = (name: string): number => {
    const list = flags.find((flag) => flag.startsWith(`--${name}-${kind}=`))?.split("=")[1]?.split(",") ?? [];
    return Math.max(-1, ...list.filter((entry) => isInside(entry, path)).map((entry) => entry.length));
  };
  return longest("allow") > longest("deny");
}

function netAllows(flags: readonly string[], target: string): boolean {
  const { hostname } = new URL(target.slice(target.indexOf(" ") + 1));
  const list = flags.find((flag) => flag.startsWith("--allow-net="))?.split("=")[1]?.split(",") ?? [];
  return list.includes(`${hostname}:443`);
}

const FOLDERS = ["a", "a/b", "docs", "docs/x", "out"] as const;
const NAMES = [
  "f.md",
  "f.ts",
  ".env",
  ".env.local",
  "deno.json",
  "agent.ts",
  "x.pem",
  "config",
  ".git",
  ".github",
] as const;

const root = fc.constantFrom(".", ...FOLDERS);
const readEntry = fc.record({
  root,
  include: fc.option(fc.constantFrom(["*.md"], [".env", "*.ts"], ["docs/**"]), { nil: undefined }),
  exclude: fc.option(fc.constantFrom(["*.ts"], ["b/"]), { nil: undefined }),
}, { requiredKeys: ["root"] });
const path = fc.tuple(
  fc.constantFrom("", "/..", "/out", "/a", "/a/b", "/docs", "/docs/x", "/.git", "/.twokey", "/.github/workflows"),
  fc.constantFrom(...NAMES),
).map(([folder, name]) => `${folder}/${name}`.replace("/..", "-evil"));

Deno.test("gate and flags: whatever decide() allows, hostFlags() allows", async () => {
  const files = Object.fromEntries(FOLDERS.map((folder) => [`${folder}/`, ""]));
  await withProject({ files }, async (dir) => {
    let allowed = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(readEntry, { minLength: 1, maxLength: 3, selector: (entry) => entry.root }),
        root,
        fc.array(path, { minLength: 10, maxLength: 30 }),
        async (read, write, paths) => {
          const policy = {
            version: 1,
            agent: "agent.ts",
            tools: ["readFile", "writeArtifact", "osv.query"],
            fs: {
              read: read.map((entry) => JSON.parse(JSON.stringify(entry))),
              write: [{ root: write }],
            },
          };
          let compiled: { plan: Plan; facts: { places: Parameters<typeof hostFlags>[1] } };
          try {
            compiled = await compileIn(dir, policy);
          } catch {
            return; // a policy that the compiler refuses grants nothing
          }
          const { plan, facts: { places } } = compiled;
          const gate = makeGate(plan, places);
          const flags = hostFlags(plan, places);
          for (const each of paths) {
            if (gate(request("readFile", "filesystem.read", dir + each)).kind === "allow") {
              allowed++;
              assert.ok(denoAllows(flags, "read", dir + each), `read ${each} of ${JSON.stringify(policy.fs)}`);
            }
            if (gate(request("writeArtifact", "filesystem.write", dir + each)).kind === "allow") {
              allowed++;
              assert.ok(denoAllows(flags, "write", dir + each), `write ${each} of ${JSON.stringify(policy.fs)}`);
              assert.ok(denoAllows(flags, "read", dir + each), `verify ${each} of ${JSON.stringify(policy.fs)}`);
            }
          }
          const target = "POST https://api.osv.dev/v1/query";
          assert.equal(gate(request("osv.query", "network", target)).kind, "allow");
          assert.ok(netAllows(flags, target));
        },
      ),
      { numRuns: 300 },
    );
    assert.ok(allowed > 300, `only ${allowed} allowed: the property says little`);
  });
});
