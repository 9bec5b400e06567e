import assert from "node:assert/strict";
import { PROTECTED_NAMES } from "../../src/authority/names.ts";
import { specOf } from "../../src/launch/confinement.ts";
import { findProtected, insideRoots } from "../../src/launch/inside_roots.ts";
import type { Places, Plan } from "../../src/plan/plan.ts";
import type { ProcessPlan } from "../../src/plan/process_plan.ts";

async function withPlan(
  { write, kept = [], files }: { write: string[]; kept?: string[]; files: string[] },
  body: (placed: { plan: Plan; places: Places }) => void,
): Promise<void> {
  const project = await Deno.realPath(await Deno.makeTempDir());
  try {
    for (const path of files) {
      await Deno.mkdir(`${project}/${path.slice(0, path.lastIndexOf("/") + 1)}`, { recursive: true });
      if (!path.endsWith("/")) await Deno.writeTextFile(`${project}/${path}`, "");
    }
    const plan = {
      tools: {},
      fs: {
        read: [],
        write: write.map((root) => ({ root: `\${project}/${root}`, label: root, rule: "/fs" })),
        protected: [...kept.map((path) => `\${project}/${path}`), ...PROTECTED_NAMES],
        secret: [],
      },
    } as unknown as Plan;
    body({ plan, places: { project, twokey: "/nonexistent/t", state: "/nonexistent/s" } });
  } finally {
    await Deno.remove(project, { recursive: true });
  }
}

Deno.test("insideRoots() closes a root that holds a protected place, there or not, or a protected name at any depth", async () => {
  await withPlan({
    write: ["agent", "ci", "deep", "free", "env"],
    kept: ["agent/main.ts", "ci/.gitlab-ci.yml", "env/.env"],
    files: ["agent/", "ci/", "deep/x/y/b.policy.jsonc", "free/x/policy.jsonc", "env/"],
  }, ({ plan, places }) => {
    const { write, readOnly } = insideRoots({ plan, places });
    const names = (paths: readonly string[]) => paths.map((path) => path.slice(places.project.length + 1)).toSorted();
    assert.deepEqual(names(readOnly), ["agent", "ci", "deep"]);
    // a secret that is not there is no reason, one that appears is found
    assert.deepEqual(names(write), ["env", "free"]);
    assert.equal(findProtected(write, { plan, places }), undefined);
    Deno.writeTextFileSync(`${places.project}/env/.ENV`, "");
    assert.equal(findProtected(write, { plan, places }), `${places.project}/env/.ENV`);
    Deno.removeSync(`${places.project}/free`, { recursive: true });
    assert.equal(findProtected([`${places.project}/free`], { plan, places }), `${places.project}/free`);
  });
});

Deno.test("findProtected() follows no link, and finds one that has a protected name", async () => {
  await withPlan({ write: ["out"], files: ["out/", "other/deno.json"] }, ({ plan, places }) => {
    const root = `${places.project}/out`;
    Deno.symlinkSync(`${places.project}/other`, `${root}/link`);
    assert.equal(findProtected([root], { plan, places }), undefined);
    Deno.symlinkSync("/nonexistent", `${root}/.git`);
    assert.equal(findProtected([root], { plan, places }), `${root}/.git`);
  });
});

Deno.test("specOf() mounts nothing of its own below a folder that programs may write into", async () => {
  await withPlan({ write: ["out", "out/site/pub"], files: ["out/site/pub/", "out/a/ssh/"] }, ({ plan, places }) => {
    const at = (path: string) => `${places.project}/${path}`;
    const cwd = ["${project}", "${project}/out/a/ssh"].map((root) => ({ root, label: root, rule: "/cwd" }));
    const sorted = { plan, places, inside: insideRoots({ plan, places }) };
    const spec = specOf(sorted, { cwd } as unknown as ProcessPlan, {
      program: "/usr/bin/true",
      env: {},
      withWords: false,
    });
    assert.deepEqual([spec.read, spec.write], [[places.project], [at("out")]]);
    // where the outer one is closed nothing above the inner one can be moved
    const inside = { write: [at("out/site/pub")], readOnly: [at("out")] };
    const closed = specOf({ ...sorted, inside }, { cwd } as unknown as ProcessPlan, {
      program: "/usr/bin/true",
      env: {},
      withWords: false,
    });
    assert.deepEqual(closed.write, [at("out/site/pub")]);
    assert.deepEqual(closed.read, [places.project, at("out/a/ssh"), at("out")]);
  });
});
