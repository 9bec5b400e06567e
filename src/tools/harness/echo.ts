import * as v from "valibot";
import { defineTool } from "../../tool/define.ts";

/**
 * Returns its arguments: the simplest way to see the membrane at work.
 *
 * Arguments and result are any JSON object. No errors of its own.
 */
export const echo = defineTool({
  name: "echo",
  family: "harness",
  summary: "Returns its arguments as they crossed the membrane",
  args: v.looseObject({}),
  result: v.looseObject({}),
  authority: {},
  effect: "pure",
  audit: { args: { "*": "keep" }, result: "keep" },
  prepare(args) {
    return { targets: [], artifact: args };
  },
  invoke(args) {
    return args;
  },
});
