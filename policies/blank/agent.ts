/// <reference types="../agent.d.ts" />
// deno-lint-ignore-file no-console -- what an agent prints goes to standard error
/**
 * An agent that may do nothing but speak.
 *
 * @module
 */

emit({ kind: "started", at: new Date().toISOString() });
console.log("The policy grants no tool yet: add one to agent.policy.jsonc and call it here.");
