import assert from "node:assert/strict";
import fc from "fast-check";
import { applyEdits, type Edit } from "../../../src/tools/workspace/apply_edits.ts";
import { type Diff, unifiedDiff } from "../../../src/tools/workspace/unified_diff.ts";

const ENCODER = new TextEncoder();

/** The diff of edits to a text. */
function diffOf(text: string, edits: readonly Edit[], limit = 1e6): { diff: Diff; after: string } | undefined {
  const before = ENCODER.encode(text);
  const applied = applyEdits(before, edits, { limit: 1e6 });
  if (applied.kind !== "done") return undefined;
  const { bytes: after, spans } = applied;
  const diff = unifiedDiff({ path: "a.txt", before, after, spans, limit });
  return { diff, after: new TextDecoder("utf-8", { ignoreBOM: true }).decode(after) };
}

/** Applies a diff as `patch` does, and insists on every number in it. */
function applyDiff(text: string, diff: string): string {
  const old = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const made: string[] = [];
  let next = 0;
  const lines = diff.split("\n").slice(2, -1);
  for (let at = 0; at < lines.length;) {
    const [, from = "", oldCount = "1", to = "", newCount = "1"] =
      /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/.exec(lines[at] ?? "") ?? assert.fail(`no head: ${lines[at]}`);
    const start = oldCount === "0" ? Number(from) : Number(from) - 1;
    made.push(...old.slice(next, start));
    next = start;
    assert.equal(made.length, newCount === "0" ? Number(to) : Number(to) - 1, diff);
    let taken = 0;
    let given = 0;
    for (at++; at < lines.length && !(lines[at] ?? "").startsWith("@@"); at++) {
      const line = lines[at] ?? "";
      if (line.startsWith("\\")) continue;
      const isLast = (lines[at + 1] ?? "").startsWith("\\");
      const body = line.slice(1) + (isLast ? "" : "\n");
      if (line[0] !== "+") {
        assert.equal(old[next], body, diff);
        next++;
        taken++;
      }
      if (line[0] !== "-") {
        made.push(body);
        given++;
      }
    }
    assert.deepEqual([taken, given], [Number(oldCount), Number(newCount)], diff);
  }
  return [...made, ...old.slice(next)].join("");
}

const pieces = (most: number) =>
  fc.array(fc.constantFrom("a", "b", "c", "d", "\n", "\n", "\r\n"), { maxLength: most }).map((parts) => parts.join(""));

Deno.test("unifiedDiff() prints what leads from the old text to the new one", () => {
  const edits = fc.array(
    fc.record({ old: pieces(5).filter((text) => text !== ""), new: pieces(8), replaceAll: fc.boolean() }),
    { minLength: 1, maxLength: 3 },
  );
  fc.assert(
    fc.property(pieces(120), edits, (text, list) => {
      const made = diffOf(text, list);
      fc.pre(made !== undefined);
      const { diff, after } = made;
      assert.ok(!diff.truncated);
      if (text === after) assert.equal(diff.text, "");
      else assert.equal(applyDiff(text, diff.text), after);
    }),
    { numRuns: 5000 },
  );
});

Deno.test("unifiedDiff() prints hunks with three lines around them and joins those that touch", () => {
  const text = Array.from({ length: 30 }, (_, index) => `l${index + 1}`).join("\n");
  const edits = ["l5\n", "l12\n", "l30"].map((old) => ({ old, new: old.replace("l", "L"), replaceAll: false }));
  assert.equal(
    diffOf(text, edits)?.diff.text,
    [
      "--- a/a.txt",
      "+++ b/a.txt",
      "@@ -2,14 +2,14 @@",
      ..." l2, l3, l4,-l5,+L5, l6, l7, l8, l9, l10, l11,-l12,+L12, l13, l14, l15".split(","),
      "@@ -27,4 +27,4 @@",
      ..." l27, l28, l29,-l30".split(","),
      "\\ No newline at end of file",
      "+L30",
      "\\ No newline at end of file",
      "",
    ].join("\n"),
  );
});

Deno.test("unifiedDiff() says when it is not complete", () => {
  const long = "x".repeat(5000);
  const clipped = diffOf(`${long}\n`, [{ old: "x", new: "y", replaceAll: true }])?.diff;
  assert.ok(clipped?.truncated && clipped.text.length < 5000);
  const text = Array.from({ length: 400 }, (_, index) => `line ${index}\n`).join("");
  const cut = diffOf(text, [{ old: "line 1", new: "LINE 1", replaceAll: true }], 300)?.diff;
  assert.ok(cut?.truncated && cut.text.length < 400, cut?.text);
});

Deno.test("unifiedDiff() is what git applies", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const text = "\ufeffone\r\ntwo\r\nthree\nfour";
    const edits = [{ old: "two", new: "2\n2b", replaceAll: false }, { old: "four", new: "4\n", replaceAll: false }];
    const made = diffOf(text, edits);
    assert.ok(made !== undefined);
    await Deno.writeTextFile(`${dir}/a.txt`, text);
    await Deno.writeTextFile(`${dir}/d.patch`, made.diff.text);
    const { code, stderr } = await new Deno.Command("git", {
      args: ["apply", "--whitespace=nowarn", "d.patch"],
      cwd: dir,
      env: { GIT_CEILING_DIRECTORIES: dir, GIT_CONFIG_NOSYSTEM: "1" },
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.equal(await Deno.readTextFile(`${dir}/a.txt`), made.after);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
