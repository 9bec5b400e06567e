import assert from "node:assert/strict";
import { hostFlags } from "../../../src/plan/flags.ts";
import { makeLinePattern, MAX_PATTERN_UNITS, type PatternOptions } from "../../../src/tools/workspace/line_pattern.ts";
import { makeRun } from "../../host/run_context.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

async function find(pattern: string, text: string, options: Partial<PatternOptions> = {}): Promise<string[]> {
  const made = await makeLinePattern(pattern, { ignoreCase: false, multiline: false, ...options });
  assert.ok(!("fault" in made), "fault" in made ? made.fault : "");
  return [...made.find(text, false) ?? []].map(({ start, end }) => text.slice(start, end));
}

/** Runs the differential corpus in a process with the given flags of V8. */
async function runCorpus(
  v8: string,
): Promise<{ fast: number; isLinear: boolean; knowsFlag: boolean; differences: string[] }> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", `--config=${ROOT}deno.json`, `--v8-flags=${v8}`, "linear_child.ts"],
    cwd: new URL(".", import.meta.url).pathname,
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert.ok(text.startsWith("{"), new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

Deno.test("makeLinePattern() finds in V8 what the RE2 library finds, with the flags of the host and without", async () => {
  const { plan, places } = makeRun("/p");
  const flag = hostFlags(plan, places).find((one) => one.startsWith("--v8-flags="));
  assert.ok(flag !== undefined);
  const [host, bare] = await Promise.all([
    runCorpus(flag.slice("--v8-flags=".length)),
    runCorpus("--max-old-space-size=512"),
  ]);
  assert.deepEqual([host.differences, bare.differences], [[], []]);
  assert.ok(host.fast > 1000, String(host.fast));
  assert.deepEqual([host.knowsFlag, host.isLinear], [true, true]);
  // Without the flags nothing runs in V8's engine that goes back.
  assert.deepEqual([bare.knowsFlag, bare.isLinear], [false, true]);
});

Deno.test("makeLinePattern() finds one match for each line, or any number over several", async () => {
  assert.deepEqual(await find("a", "aa\na\n"), ["a", "a"]);
  assert.deepEqual(await find("a.a", "a\na\n"), []);
  assert.deepEqual(await find("a\\na", "a\na\n", { multiline: true }), ["a\na"]);
  assert.deepEqual(await find("^b$", "a\nb\nc", { multiline: true }), ["b"]);
  assert.deepEqual(await find("a", "aa\na\n", { multiline: true }), ["a", "a", "a"]);
  assert.deepEqual(await find("$", "a\nb\n", { multiline: true }), ["", ""]);
  assert.deepEqual(await find("(?s)a.*c", "a\nb\nc", { multiline: true }), ["a\nb\nc"]);
});

Deno.test("makeLinePattern() refuses what is no pattern, in words that hold nothing of it", async () => {
  for (
    const pattern of [
      "",
      "(",
      "a**",
      "(?=a)",
      "\\1",
      "[",
      "\0",
      "\ud800",
      "x".repeat(MAX_PATTERN_UNITS + 1),
      "(?<=\u001b)",
    ]
  ) {
    const made = await makeLinePattern(pattern, { ignoreCase: false, multiline: false });
    assert.ok("fault" in made, JSON.stringify(pattern));
    assert.doesNotMatch(made.fault, /[\p{Cc}`]|\.$/u);
  }
});

Deno.test("makeLinePattern() leaves a text alone for which its pattern is too costly", async () => {
  const made = await makeLinePattern("(?:x{40}y?){20}z{2}", { ignoreCase: false, multiline: false });
  assert.ok(!("fault" in made));
  assert.equal(made.find("x".repeat(1_000_000), true), undefined);
  assert.notEqual(made.find("x".repeat(1000), true), undefined);
});
