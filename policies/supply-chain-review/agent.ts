/// <reference types="../agent.d.ts" />
// deno-lint-ignore-file no-console -- what an agent prints goes to standard error
/**
 * Reviews the npm packages that this project locks.
 *
 * @module
 */
import { consoleLines, review } from "./review.ts";

const { review: result, folder } = await review();
for (const line of consoleLines(result, folder)) console.log(line);
