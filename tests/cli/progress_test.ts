import assert from "node:assert/strict";

const PROGRESS = new URL("../../src/cli/progress.ts", import.meta.url).href;

const CODE = `
import { Progress } from ${JSON.stringify(PROGRESS)};
const progress = new Progress({ quiet: Deno.args[0] === "quiet" });
progress.saw({ type: "tool_call", tool: "osv.query\\u001b[31m" });
progress.print("agent| a line");
progress.end();
`;

async function stderrOf(argv: readonly string[]): Promise<string> {
  const [program = "", ...args] = argv;
  const { stdout, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

async function withScript(body: (argv: readonly string[]) => Promise<void>): Promise<void> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, CODE);
    await body([
      Deno.execPath(),
      "run",
      "-A",
      "--no-prompt",
      "--quiet",
      `--config=${new URL("../../deno.json", import.meta.url).pathname}`,
      file,
    ]);
  } finally {
    await Deno.remove(file);
  }
}

async function has(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}

Deno.test("Progress prints lines and nothing else where there is no terminal", () =>
  withScript(async (argv) => {
    assert.equal(await stderrOf(argv), "agent| a line\n");
  }));

const PTY = "/usr/bin/script";
const skipped = Deno.build.os !== "linux" || !await has(PTY);
if (skipped) Deno.stderr.writeSync(new TextEncoder().encode("skip: script is missing\n"));

Deno.test(
  "Progress writes one line over on a terminal, and escapes what it shows",
  { ignore: skipped },
  () =>
    withScript(async (argv) => {
      const live = await stderrOf([PTY, "-qec", argv.join(" "), "/dev/null"]);
      const clear = "\r\u001b[2K";
      assert.ok(live.includes(`${clear}  1 call  osv.query\\u{1b}[31m${clear}agent| a line`), JSON.stringify(live));
      assert.equal(await stderrOf([PTY, "-qec", [...argv, "quiet"].join(" "), "/dev/null"]), "agent| a line\r\n");
    }),
);
