import assert from "node:assert/strict";

const SCRIPT = "/usr/bin/script";
const MODULE = new URL("../../src/cli/confirm.ts", import.meta.url).href;

/** Whether a terminal can be had here. */
function hasScript(): boolean {
  try {
    return Deno.build.os === "linux" && Deno.statSync(SCRIPT).isFile;
  } catch {
    return false;
  }
}

/** Asks on a terminal of its own: exit 10 for a yes, 11 for a no, 12 where there is nobody to ask. */
async function ask(answer: string): Promise<number> {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(
      `${dir}/ask.ts`,
      `import { canAsk, confirmed } from "${MODULE}";\nDeno.exit(!canAsk() ? 12 : confirmed("Go on?") ? 10 : 11);\n`,
    );
    const child = new Deno.Command(SCRIPT, {
      args: ["-qec", `${Deno.execPath()} run -A --no-prompt --quiet --no-config ${dir}/ask.ts`, "/dev/null"],
      env: { SHELL: "/bin/sh" },
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(answer));
    const { code } = await child.status;
    await writer.close().catch(() => {});
    return code;
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test({
  name: "confirmed() takes y and yes for a yes, and everything else for a no",
  ignore: !hasScript(),
  fn: async () => {
    for (const answer of ["y\n", "YES\n", " y \n"]) assert.equal(await ask(answer), 10, answer);
    for (const answer of ["\n", "n\n", "yes please\n", "\x04", "ja\n"]) assert.equal(await ask(answer), 11, answer);
  },
});

Deno.test("canAsk() finds nobody without a terminal", async () => {
  const code = `import { canAsk } from "${MODULE}"; Deno.exit(canAsk() ? 1 : 0);`;
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", code],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  assert.ok(success);
});
