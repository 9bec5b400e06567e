import assert from "node:assert/strict";
import { EgressReport } from "../../src/egress/egress_report.ts";

function reportOf(bounds: { lines: number; denials: number }) {
  const lines: Record<string, unknown>[] = [];
  return { lines, report: new EgressReport((line) => lines.push(JSON.parse(line)), bounds) };
}

Deno.test("EgressReport lets no connection begin that it has no lines for, and counts those", () => {
  const { lines, report } = reportOf({ lines: 5, denials: 1 });
  const told = [1, 2, 3, 4].map((port) => report.begin("x.test", port));
  assert.deepEqual(told.map((one) => one !== undefined), [true, true, false, false]);
  for (const one of told) {
    one?.allowed();
    one?.closed({ bytes_out: 1, bytes_in: 2 });
  }
  report.end();
  assert.deepEqual(lines.map(({ decision }) => decision), ["omitted", "allow", "closed", "allow", "closed", "omitted"]);
  assert.deepEqual([lines[0]?.count, lines.at(-1)?.count], [1, 2]);
});

Deno.test("EgressReport keeps the room of what is let through from denials", () => {
  const { lines, report } = reportOf({ lines: 4, denials: 2 });
  for (let i = 0; i < 100; i++) report.deny("no.test", 1);
  assert.notEqual(report.begin("x.test", 443), undefined);
  report.end();
  assert.deepEqual(lines.map(({ decision }) => decision), ["deny", "deny", "omitted", "omitted"]);
  assert.equal(lines.at(-1)?.count, 98);
});
