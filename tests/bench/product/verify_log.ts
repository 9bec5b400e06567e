/**
 * Verifies a log with the product's reader and prints what it found, with the peak of this process's resident memory.
 * Argument: file.
 *
 * @module
 */
import { verifyAudit } from "../../../src/audit/reader.ts";
import { writeLine } from "./write_line.ts";

const [path = ""] = Deno.args;
const { verdict, records } = await verifyAudit(path);
const peak = /^VmHWM:\s+(\d+) kB$/m.exec(Deno.readTextFileSync("/proc/self/status"))?.[1];
writeLine({ verdict, records, peakMiB: peak === undefined ? null : Number(peak) / 1024 });
