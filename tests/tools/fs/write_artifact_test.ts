import assert from "node:assert/strict";
import { writeArtifact } from "../../../src/tools/fs/write_artifact.ts";
import { makeRun, withTree } from "../../host/run_context.ts";
import { openFs } from "../../host/run_fs_tool.ts";
import { testFixture } from "./fs_fixture.ts";

testFixture(writeArtifact);

Deno.test("writeArtifact refuses text that has no UTF-8 form", () =>
  withTree(async (dir) => {
    const call = await openFs(makeRun(dir, { write: ["out"] }));
    assert.deepEqual(await call(writeArtifact, { path: "x", content: "\ud800" }), {
      outcome: "invalid",
      code: "tool_invalid_args",
    });
  }));
