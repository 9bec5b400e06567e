import assert from "node:assert/strict";
import { partFor, type PrebuiltPart } from "../../src/launch/prebuilt.ts";

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

const FIND = `
  import { findPrebuilt, PREBUILT_FILES } from "./src/launch/prebuilt.ts";
  const found = Object.keys(PREBUILT_FILES).map((part) => [part, findPrebuilt(part as never) ?? null]);
  console.log(JSON.stringify(Object.fromEntries(found)));`;
const BUILD = 'import { prebuild } from "./src/launch/prebuild.ts"; console.log(await prebuild());';
const NOTHING = { app: null, policy: null, run: null, host: null };

Deno.test("partFor() chooses the smallest part that knows the command", () => {
  const cases: readonly [readonly string[], PrebuiltPart][] = [
    [[], "app"],
    [["run"], "run"],
    [["run", "agent.ts", "--tool=echo"], "run"],
    [["policy"], "app"],
    [["policy", "validate"], "policy"],
    [["policy", "explain", "--json", "x"], "policy"],
    [["policy", "explain", "--call", "readFile", "{}"], "app"],
    [["policy", "explain", "--call=readFile"], "app"],
    [["policy", "diff", "main"], "policy"],
    [["policy", "lock"], "app"],
    [["--json", "run"], "app"],
    [["constructor"], "app"],
  ];
  for (const [args, part] of cases) assert.equal(partFor(args), part, args.join(" "));
});

Deno.test("findPrebuilt() finds what prebuild() made from these sources, and no part of which a source has changed", () =>
  withCopy(async ({ dir, run }) => {
    const find = async () => JSON.parse(await run(FIND));
    assert.deepEqual(await find(), NOTHING);
    const folder = await run(BUILD);
    const found = await find();
    const url = (file: string) => `file://${encodeURI(folder)}/${file}`;
    assert.deepEqual(found, {
      app: url("app.js"),
      policy: url("policy_app.js"),
      run: url("run_app.js"),
      host: url("main.js"),
    });
    assert.equal(await run(BUILD), folder);
    // what starts a host needs the host of the same sources
    await Deno.writeTextFile(`${dir}/src/host/session.ts`, "\n// a change\n", { append: true });
    assert.deepEqual(await find(), { ...NOTHING, policy: found.policy });
    await Deno.writeTextFile(`${dir}/src/errors.ts`, "\n// a change\n", { append: true });
    assert.deepEqual(await find(), NOTHING);
    assert.notEqual(await run(BUILD), folder);
    assert.notEqual((await find()).app, null);
    await Deno.writeTextFile(`${dir}/deno.lock`, "\n", { append: true });
    assert.deepEqual(await find(), NOTHING);
  }));

Deno.test("findPrebuilt() notices a source of the same size and time", () =>
  withCopy(async ({ dir, run }) => {
    await run(BUILD);
    assert.notEqual(JSON.parse(await run(FIND)).policy, null);
    const path = `${dir}/src/errors.ts`;
    const { mtime } = await Deno.stat(path);
    // The time of the inode counts in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replace("TwokeyError", "TwokeyErroR"));
    await Deno.utime(path, mtime ?? 0, mtime ?? 0);
    assert.equal((await Deno.stat(path)).mtime?.getTime(), mtime?.getTime());
    assert.deepEqual(JSON.parse(await run(FIND)), NOTHING);
  }));

Deno.test("findPrebuilt() takes no file that somebody else could have written", () =>
  withCopy(async ({ run }) => {
    const folder = await run(BUILD);
    const place = folder.slice(0, folder.lastIndexOf("/"));
    const index = `${place}/${Deno.version.deno}.json`;
    const find = async () => JSON.parse(await run(FIND));
    const found = await find();
    for (const path of [place, index, folder]) {
      const { mode } = await Deno.lstat(path);
      await Deno.chmod(path, 0o777);
      assert.deepEqual(await find(), NOTHING, path);
      await Deno.chmod(path, (mode ?? 0o700) & 0o777);
    }
    await Deno.chmod(`${folder}/policy_app.js`, 0o666);
    assert.deepEqual(await find(), { ...found, policy: null });
    await Deno.rename(`${folder}/main.js`, `${folder}/other.js`);
    await Deno.symlink(`${folder}/other.js`, `${folder}/main.js`);
    assert.deepEqual(await find(), { ...found, policy: null, host: null });
    await Deno.rename(index, `${place}/other.json`);
    await Deno.symlink(`${place}/other.json`, index);
    assert.deepEqual(await find(), NOTHING);
  }));

Deno.test("the prebuilt command line does what its modules do", () =>
  withCopy(async ({ dir, run }) => {
    const policy = (include: string) =>
      `{ "version": 1, "agent": "a.ts", "tools": ["readFile"],\n"fs": { "read": [{ "root": "src", "include": ["${include}"] }] } }`;
    await Deno.writeTextFile(`${dir}/a.ts`, "");
    await Deno.writeTextFile(`${dir}/wide.jsonc`, policy("**/*.ts"));
    await Deno.writeTextFile(`${dir}/narrow.jsonc`, policy("cli/**/*.ts"));
    await Deno.writeTextFile(`${dir}/wrong.jsonc`, '{ "version": 2,\n"tols": [] }');
    const cases: readonly [PrebuiltPart, ...string[]][] = [
      ["app", "hash", "deno.json"],
      ["app", "policy", "explain", "--call", "readFile", '{"path":".env"}', "wide.jsonc"],
      ["policy", "policy", "validate", "wide.jsonc"],
      ["policy", "policy", "validate", "--json", "wrong.jsonc"],
      ["policy", "policy", "validate", "--help"],
      ["policy", "policy", "explain", "wide.jsonc"],
      ["policy", "policy", "diff", "wide.jsonc", "narrow.jsonc"],
      ["policy", "policy", "diff", "--jsn"],
      ["run", "run", "--help"],
      ["run", "run", "--polcy=x"],
    ];
    const code = (urls: string) => `
      const urls = ${urls};
      for (const [part, ...args] of ${JSON.stringify(cases)}) {
        const { main } = await import(urls[part as string] as string);
        console.log(args.join(" "), "exit", await main(args));
      }`;
    const plain = await run(
      code('{ app: "./src/cli/app.ts", policy: "./src/cli/app.ts", run: "./src/cli/app.ts" } as any'),
    );
    await run(BUILD);
    const found = JSON.parse(await run(FIND));
    assert.equal(await run(code(`${JSON.stringify(found)} as any`)), plain);
    assert.deepEqual([...plain.matchAll(/exit (\d+)$/gm)].map(([, exit]) => exit), "0 0 0 65 0 0 0 64 0 64".split(" "));
  }));
