import assert from "node:assert/strict";
import { elfWrapper, scriptWrapper, type WrapperSpec } from "../../src/launch/wrapper.ts";

const isElf = Deno.build.os === "linux" && Deno.build.arch === "x86_64";

async function withDir(body: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "twokey-wrapper-" });
  try {
    await body(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function run(path: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = new Deno.Command(path, { args: [...args], env, clearEnv: true, stdin: "null", cwd: "/" });
  const { code, signal, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, signal, stdout: text(stdout), stderr: text(stderr) };
}

const HOSTILE = [
  "",
  "-",
  "--",
  "--help",
  "--bind",
  "--args",
  "3",
  "A=B",
  "a b",
  "a\nb",
  "\r\n",
  "\t",
  "'",
  '"',
  "`id`",
  "$(id)",
  "*",
  "\\",
  "é",
  "😀",
  "\u0001\u007f",
];

Deno.test({
  name: "elfWrapper() passes every argument on as it is, and nothing of the environment but what it holds",
  ignore: !isElf,
  fn: () =>
    withDir(async (dir) => {
      const write = async (name: string, spec: WrapperSpec) => {
        await Deno.writeFile(`${dir}/${name}`, elfWrapper(spec), { mode: 0o500 });
        return `${dir}/${name}`;
      };
      const printf = await write("printf", { path: "/usr/bin/printf", fixed: ["<%s>\\0"], env: {} });
      assert.equal((await run(printf, HOSTILE)).stdout, HOSTILE.map((word) => `<${word}>\0`).join(""));
      const baked = await write("baked", { path: "/usr/bin/env", fixed: ["-0"], env: { A: "1", B: "ü x" } });
      assert.equal((await run(baked, [], { C: "3", BASH_ENV: "/tmp/x" })).stdout, "A=1\0B=ü x\0");
      const passed = await write("passed", { path: "/usr/bin/env", fixed: ["-0"], env: "pass" });
      assert.equal((await run(passed, [], { C: "3" })).stdout, "C=3\0");
      const missing = await write("missing", { path: "/nowhere/x", fixed: [], env: {} });
      assert.deepEqual(await run(missing, []), { code: 126, signal: null, stdout: "", stderr: "" });
      for (const code of [0, 1, 42, 255]) {
        const sh = await write(`sh${code}`, { path: "/bin/sh", fixed: ["-c", `exit ${code}`], env: {} });
        assert.equal((await run(sh, [])).code, code);
      }
      const fds = await write("fds", { path: "/bin/ls", fixed: ["/proc/self/fd"], env: {} });
      // the three standard ones, and the folder that is being listed
      assert.deepEqual((await run(fds, [])).stdout.trim().split("\n"), ["0", "1", "2", "3"]);
    }),
});

Deno.test("scriptWrapper() quotes every word and passes every argument on", () =>
  withDir(async (dir) => {
    const path = `${dir}/w`;
    const fixed = ["<%s>\\0", "it's", "$(id)", "a b", "\n"];
    await Deno.writeTextFile(path, scriptWrapper("/bin/sh", { path: "/usr/bin/printf", fixed, env: "pass" }), {
      mode: 0o500,
    });
    const words = [...fixed.slice(1), ...HOSTILE];
    assert.equal((await run(path, HOSTILE)).stdout, words.map((word) => `<${word}>\0`).join(""));
    const secret = `${dir}/s`;
    const env = { A_TOKEN: "it's $(id)\n" };
    const text = scriptWrapper("/bin/sh", { path: "/usr/bin/printenv", fixed: ["A_TOKEN"], env });
    await Deno.writeTextFile(secret, text, { mode: 0o500 });
    assert.equal((await run(secret, [])).stdout, `${env.A_TOKEN}\n`);
    assert.throws(() => scriptWrapper("/bin/sh", { path: "/x\0", fixed: [], env: "pass" }), { code: "bug_wrapper" });
    assert.throws(() => elfWrapper({ path: "/x", fixed: ["a\0"], env: {} }), { code: "bug_wrapper" });
  }));
