/// <reference types="../agent.d.ts" />
// deno-lint-ignore-file no-console -- what an agent prints goes to standard error
/**
 * Reviews the npm packages of this repository, then tries two things that its policy does not allow.
 *
 * @module
 */
import { consoleLines, review } from "../supply-chain-review/review.ts";

const { review: result, folder } = await review();
for (const line of consoleLines(result, folder)) console.log(line);

await expectDenial("a file that the policy leaves out", () => callTool("readFile", { path: "src/errors.ts" }));
await expectDenial("a tool that the policy does not grant", () => callTool("slow", { delay_ms: 1 }));

/** Tries something; goes on only if it was denied. */
async function expectDenial(what: string, attempt: () => Promise<unknown>): Promise<void> {
  try {
    await attempt();
  } catch (error) {
    const { outcome, message } = error as ToolCallError;
    if (outcome !== "denied") throw error;
    console.log(`tried ${what}: ${message}`);
    return;
  }
  throw new Error(`Cannot go on: ${what} was not denied`);
}
