import assert from "node:assert/strict";
import { policyFromFlags, withFlags } from "../../src/policy/from_flags.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { withProject } from "./project.ts";

Deno.test("addApprovals() narrows with tools that ask, and adds authority with an approval that holds longer", () =>
  withProject({}, async (dir) => {
    const alone = await policyFromFlags({ tool: ["echo"], requireApproval: ["echo", "echo"] }, dir);
    assert.deepEqual(alone.policy.approvals, { require: ["echo"] });
    assert.equal(alone.nameOf("/approvals/require/0"), "--require-approval");
    const text = { version: 1, tools: ["echo", "slow"], approvals: { require: ["slow"], maxAgeMs: 5000 } };
    await Deno.writeTextFile(`${dir}/p.policy.jsonc`, JSON.stringify(text));
    const loaded = await loadPolicy(`${dir}/p.policy.jsonc`);
    const added = async (flags: Parameters<typeof withFlags>[1]) => {
      const { loaded: { policy }, added } = await withFlags(loaded, flags, { cwd: dir });
      return [policy.approvals, added];
    };
    assert.deepEqual(await added({ requireApproval: ["slow", "echo"] }), [
      { require: ["slow", "echo"], maxAgeMs: 5000 },
      [],
    ]);
    assert.deepEqual(await added({ approvalMaxAgeMs: 4000 }), [{ require: ["slow"], maxAgeMs: 4000 }, []]);
    assert.deepEqual(await added({ approvalMaxAgeMs: 6000 }), [
      { require: ["slow"], maxAgeMs: 6000 },
      ["--approval-max-age-ms"],
    ]);
  }));
