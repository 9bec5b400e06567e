import * as v from "valibot";
import { ToolError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";

/**
 * Always fails: shows how a fault inside a tool is classified.
 *
 * Arguments are any JSON object. Errors: `host_failure`, every time.
 */
export const fail = defineTool({
  name: "fail",
  family: "harness",
  summary: "Fails every time, to show how a tool's fault is classified",
  args: v.looseObject({}),
  result: v.never(),
  authority: {},
  effect: "pure",
  audit: { args: { "*": "keep" }, result: "keep" },
  prepare() {
    return { targets: [], artifact: undefined };
  },
  invoke(): never {
    throw new ToolError("host_failure", "agent tool host failure: fail");
  },
});
