import assert from "node:assert/strict";
import { esbuildPath, esbuildVersion } from "../../src/launch/esbuild_path.ts";
import { ControlError } from "../../src/errors.ts";

const PACKAGE = `@esbuild/${Deno.build.os}-${Deno.build.arch === "aarch64" ? "arm64" : "x64"}`;

async function withDenoDir(body: (denoDir: string) => Promise<void>): Promise<void> {
  const denoDir = await Deno.makeTempDir({ prefix: "twokey-deno-dir-" });
  try {
    await body(denoDir);
  } finally {
    await Deno.remove(denoDir, { recursive: true });
  }
}

async function put(folder: string, options: { version?: string; mode?: number } = {}): Promise<string> {
  const bin = `${folder}/${PACKAGE}/${options.version ?? esbuildVersion()}/bin`;
  await Deno.mkdir(bin, { recursive: true });
  await Deno.writeTextFile(`${bin}/esbuild`, "");
  await Deno.chmod(`${bin}/esbuild`, options.mode ?? 0o755);
  return `${bin}/esbuild`;
}

Deno.test("esbuildPath() finds the pinned program in Deno's cache", async () => {
  const path = await esbuildPath({ install: () => Promise.reject(new Error("nothing is to be installed")) });
  const { stdout } = await new Deno.Command(path, { args: ["--version"], clearEnv: true }).output();
  assert.equal(new TextDecoder().decode(stdout).trim(), esbuildVersion());
});

Deno.test("esbuildVersion() is the version that the lock file holds", async () => {
  const lock = JSON.parse(await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)));
  assert.ok(`esbuild@${esbuildVersion()}` in lock.npm);
});

Deno.test("esbuildPath() looks below any registry's folder, and takes programs of the pinned version only", async () => {
  await withDenoDir(async (denoDir) => {
    const install = (): Promise<boolean> => Promise.resolve(false);
    const isRefused = (): Promise<void> => assert.rejects(esbuildPath({ denoDir, install }), ControlError);
    await isRefused();
    await put(`${denoDir}/npm/a.example`, { version: "0.0.1" });
    await put(`${denoDir}/npm/b.example`, { mode: 0o644 });
    await Deno.mkdir(`${denoDir}/npm/c.example/${PACKAGE}/${esbuildVersion()}/bin/esbuild`, { recursive: true });
    const bin = `${denoDir}/npm/d.example/${PACKAGE}/${esbuildVersion()}/bin`;
    await Deno.mkdir(bin, { recursive: true });
    await Deno.symlink("/bin/true", `${bin}/esbuild`);
    await isRefused();
    const nested = await put(`${denoDir}/npm/z_8080/path/npm`);
    assert.equal(await esbuildPath({ denoDir, install }), nested);
    const plain = await put(`${denoDir}/npm/y.example`);
    assert.equal(await esbuildPath({ denoDir, install }), plain);
  });
});

Deno.test("esbuildPath() installs once, says so, and looks again", async () => {
  await withDenoDir(async (denoDir) => {
    const heard: string[] = [];
    let installs = 0;
    const install = async (): Promise<boolean> => {
      installs++;
      await put(`${denoDir}/npm/registry.example`);
      return true;
    };
    const options = { denoDir, install, onProgress: (line: string) => heard.push(line) };
    assert.match(await esbuildPath(options), /registry\.example/);
    assert.match(await esbuildPath(options), /registry\.example/);
    assert.equal(installs, 1);
    assert.deepEqual(heard, ["Installing the locked npm packages (esbuild is not in the cache)"]);
  });
});

Deno.test("esbuildPath() names the command to run when installing does not help", async () => {
  await withDenoDir(async (denoDir) => {
    for (const success of [true, false]) {
      await assert.rejects(esbuildPath({ denoDir, install: () => Promise.resolve(success) }), (error: unknown) => {
        assert.ok(error instanceof ControlError);
        assert.equal(error.code, "esbuild_missing");
        assert.equal(error.exit, 78);
        assert.match(error.message, /run "deno task install"/);
        return true;
      });
    }
  });
});

Deno.test("esbuildPath() follows Deno's own rules for the place of the cache", async () => {
  await withDenoDir(async (folder) => {
    const places: Record<string, string>[] = [{ DENO_DIR: `${folder}/named` }];
    if (Deno.build.os === "linux") {
      places.push({ XDG_CACHE_HOME: `${folder}/xdg` }, { HOME: `${folder}/home` });
      await put(`${folder}/xdg/deno/npm/r`);
      await put(`${folder}/home/.cache/deno/npm/r`);
    }
    await put(`${folder}/named/npm/r`);
    const module = new URL("../../src/launch/esbuild_path.ts", import.meta.url);
    const code = `const { esbuildPath } = await import("${module}"); console.log(await esbuildPath());`;
    for (const env of places) {
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          "--no-prompt",
          "--no-config",
          "--no-lock",
          `data:text/javascript,${encodeURIComponent(code)}`,
        ],
        clearEnv: true,
        env: { NO_COLOR: "1", ...env },
      }).output();
      const path = new TextDecoder().decode(stdout);
      assert.ok(path.startsWith(Object.values(env)[0] ?? "?"), path + new TextDecoder().decode(stderr));
    }
  });
});
