import assert from "node:assert/strict";
import { UsageError } from "../../src/errors.ts";
import { approvalLogAt, openApprovals } from "../../src/launch/open_approvals.ts";
import { assertOutOfReach } from "../../src/launch/out_of_reach.ts";
import { prepareRun } from "../../src/launch/prepare.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { gitTest } from "../policy/git_repository.ts";

const POLICY = JSON.stringify({
  version: 1,
  agent: "agent.ts",
  tools: ["readFile", "writeArtifact"],
  fs: { read: [{ root: "docs" }], write: [{ root: "out" }] },
  approvals: { require: ["writeArtifact"] },
});

const noop = () => {};
const options = (approvalLog: string) => ({
  groundwork: undefined as never,
  approvals: { approvalLog },
  onRecord: noop,
  onStderr: noop,
});

gitTest(
  "openApprovals() keeps no log where git tracks files, or where agents have access",
  async ({ dir, write, commit }) => {
    const before = Deno.env.get("XDG_STATE_HOME");
    const home = await Deno.realPath(await Deno.makeTempDir());
    Deno.env.set("XDG_STATE_HOME", home);
    try {
      await write("deno.json", "{}");
      await write("agent.policy.jsonc", POLICY);
      await write("agent.ts", "export {};\n");
      await write("docs/a.md", "");
      await write("kept/approvals.jsonl", "");
      await commit("all");
      const prepared = await prepareRun(await loadPolicy(`${dir}/agent.policy.jsonc`));
      const refuses = async (path: string, why: RegExp) => {
        await assert.rejects(
          () => openApprovals(prepared, options(path)),
          (error) => error instanceof UsageError && error.code === "usage_approval_log" && why.test(error.message),
          path,
        );
      };
      await refuses(`${dir}/kept/approvals.jsonl`, /git tracks files there/);
      await refuses(`${dir}/out/log.jsonl`, /write root "out"/);
      await refuses(`${dir}/docs/log.jsonl`, /read root "docs"/);
      await assert.rejects(() => Deno.stat(`${dir}/out`), Deno.errors.NotFound, "nothing is made on the way");
      const opened = await openApprovals(prepared, options(`${home}/deep/log.jsonl`));
      assert.equal(opened?.parts.log.path, `${home}/deep/log.jsonl`);
      assert.equal((opened?.start.approval_gates as { mode: string }).mode, "headless");
      assert.equal(await openApprovals(prepared, { ...options(`${home}/x`), dryRun: true }), undefined);
      assert.doesNotThrow(() => assertOutOfReach(`${dir}/other`, prepared));
    } finally {
      if (before === undefined) Deno.env.delete("XDG_STATE_HOME");
      else Deno.env.set("XDG_STATE_HOME", before);
      await Deno.remove(home, { recursive: true });
    }
  },
);

Deno.test("approvalLogAt() takes the path of a file and follows what leads to it", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.mkdir(`${dir}/real`);
    await Deno.symlink(`${dir}/real`, `${dir}/link`);
    assert.equal(approvalLogAt(`${dir}/link/log.jsonl`), `${dir}/real/log.jsonl`);
    assert.equal(approvalLogAt("x.jsonl"), `${await Deno.realPath(Deno.cwd())}/x.jsonl`);
    for (const wrong of ["", "a/", "a\0b", "a\u202eb"]) assert.throws(() => approvalLogAt(wrong), UsageError, wrong);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
