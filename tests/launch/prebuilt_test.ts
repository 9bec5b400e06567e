import assert from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url).pathname;

interface Copy {
  readonly dir: string;
  /** Runs a module of text beside the copied sources; gives what it prints. */
  run(code: string): Promise<string>;
}

/** A copy of the sources with a Deno cache of its own that lends it the packages. */
async function withCopy(body: (copy: Copy) => Promise<void>): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const home = Deno.env.get("HOME");
  const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("XDG_CACHE_HOME") ?? `${home}/.cache`}/deno`;
  const run = async (code: string): Promise<string> => {
    await Deno.writeTextFile(`${dir}/try.ts`, code);
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-prompt", "--quiet", `${dir}/try.ts`],
      clearEnv: true,
      env: { DENO_DIR: `${dir}/cache`, HOME: dir, NO_COLOR: "1" },
      cwd: dir,
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trim();
  };
  try {
    await Deno.mkdir(`${dir}/cache`, { mode: 0o700 });
    await Deno.symlink(`${cache}/npm`, `${dir}/cache/npm`);
    for (const name of ["deno.json", "deno.lock"]) await Deno.copyFile(`${ROOT}${name}`, `${dir}/${name}`);
    await copyFolder(`${ROOT}src`, `${dir}/src`);
    await body({ dir, run });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

const FIND =
  'import { findPrebuilt } from "./src/launch/prebuilt.ts"; console.log(JSON.stringify(findPrebuilt() ?? null));';
const BUILD = 'import { prebuild } from "./src/launch/prebuild.ts"; console.log(await prebuild());';

Deno.test("findPrebuilt() finds what prebuild() made from these sources, and nothing once one of them has changed", () =>
  withCopy(async ({ dir, run }) => {
    assert.equal(await run(FIND), "null");
    const folder = await run(BUILD);
    const found = JSON.parse(await run(FIND));
    assert.deepEqual(found, { cli: `file://${encodeURI(folder)}/app.js`, host: `file://${encodeURI(folder)}/main.js` });
    await Deno.writeTextFile(`${dir}/src/errors.ts`, "\n// a change\n", { append: true });
    assert.equal(await run(FIND), "null");
    await run(BUILD);
    assert.notEqual(JSON.parse(await run(FIND)).cli, found.cli);
  }));

Deno.test("findPrebuilt() notices a source of the same size and time", () =>
  withCopy(async ({ dir, run }) => {
    await run(BUILD);
    assert.notEqual(await run(FIND), "null");
    const path = `${dir}/src/errors.ts`;
    const { mtime } = await Deno.stat(path);
    // The time of the inode counts in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replace("TwokeyError", "TwokeyErroR"));
    await Deno.utime(path, mtime ?? 0, mtime ?? 0);
    assert.equal((await Deno.stat(path)).mtime?.getTime(), mtime?.getTime());
    assert.equal(await run(FIND), "null");
  }));

Deno.test("findPrebuilt() takes no file that somebody else could have written", () =>
  withCopy(async ({ run }) => {
    const folder = await run(BUILD);
    for (const path of [folder, `${folder}/app.js`, `${folder}/main.js`]) {
      const { mode } = await Deno.lstat(path);
      await Deno.chmod(path, 0o777);
      assert.equal(await run(FIND), "null", path);
      await Deno.chmod(path, (mode ?? 0o700) & 0o777);
    }
    await Deno.rename(`${folder}/main.js`, `${folder}/other.js`);
    await Deno.symlink(`${folder}/other.js`, `${folder}/main.js`);
    assert.equal(await run(FIND), "null");
  }));

Deno.test("the prebuilt command line does what its modules do", () =>
  withCopy(async ({ run }) => {
    const version = 'const { main } = await import(url); console.log("exit", await main(["hash", "deno.json"]));';
    const plain = await run(`const url = "./src/cli/app.ts"; ${version}`);
    await run(BUILD);
    const { cli } = JSON.parse(await run(FIND));
    assert.equal(await run(`const url = ${JSON.stringify(cli)}; ${version}`), plain);
    assert.match(plain, /exit 0$/);
  }));
