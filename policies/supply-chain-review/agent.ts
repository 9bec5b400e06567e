/// <reference types="../agent.d.ts" />
// deno-lint-ignore-file no-console -- what an agent prints goes to standard error
/**
 * Reviews the npm packages that this project locks.
 *
 * @module
 */
import { review, summaryLine } from "./review.ts";

const { review: result, folder } = await review();
console.log(summaryLine(result));
if (result.packages.length === 0) console.log("no locked npm package was found: is there a deno.lock here?");
for (const [reason, count] of Object.entries(result.failures)) console.log(`unknown: ${reason} (${count})`);
console.log(`report: ${folder}/report.md`);
