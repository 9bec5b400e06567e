import assert from "node:assert/strict";
import { ControlError } from "../../src/errors.ts";
import { esbuildPath, esbuildVersion } from "../../src/launch/esbuild_path.ts";
import { runEsbuild, type ServiceBuild } from "../../src/launch/esbuild_service.ts";

const FLAGS = [
  "--log-level=silent",
  "--bundle",
  "--format=esm",
  "--outfile=/out.js",
  "--tsconfig-raw={}",
  "--metafile",
];

async function build(changes: Partial<ServiceBuild> = {}): Promise<ServiceBuild> {
  return {
    binary: await esbuildPath(),
    version: esbuildVersion(),
    flags: FLAGS,
    entry: "entry.ts",
    resolve: ({ path }) => ({ path }),
    load: () => Promise.resolve({ contents: new TextEncoder().encode("console.log(1 as number);"), loader: "ts" }),
    timeoutMs: 20_000,
    packetBytes: 10_000_000,
    ...changes,
  };
}

async function withProgram(script: string, body: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempFile({ prefix: "twokey-program-" });
  try {
    await Deno.writeTextFile(path, `#!/bin/sh\n${script}\n`);
    await Deno.chmod(path, 0o755);
    await body(path);
  } finally {
    await Deno.remove(path);
  }
}

function failsWith(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ControlError, String(error));
    assert.equal(error.code, "bundler_failed");
    assert.match(error.message, pattern);
    return true;
  };
}

Deno.test("runEsbuild() builds from what it is handed, and from nothing else", async () => {
  const asked: string[] = [];
  const texts: Record<string, string> = {
    "entry.ts": 'import { a } from "odd name";\nconsole.log(a);',
    "odd name": "export const a = 7;",
  };
  const result = await runEsbuild(
    await build({
      resolve: ({ path, importer, kind, attributes }) => {
        asked.push(`${kind} ${path} from ${importer} ${attributes.size}`);
        return { path };
      },
      load: (path) => Promise.resolve({ contents: new TextEncoder().encode(texts[path]), loader: "ts" }),
    }),
  );
  assert.deepEqual(result.errors, []);
  assert.match(new TextDecoder().decode(result.files.get("/out.js")), /var a = 7;\n[^]*console\.log\(a\);/);
  assert.deepEqual(asked, ["entry-point entry.ts from  0", "import-statement odd name from entry.ts 0"]);
  assert.ok("agent:odd name" in JSON.parse(result.metafile).inputs);
});

Deno.test("runEsbuild() carries texts of every size unchanged", async () => {
  for (const size of [0, 1, 1_000, 65_536, 3_000_000]) {
    const text = `console.log("${"é".repeat(size)}");`;
    const load: ServiceBuild["load"] = () =>
      Promise.resolve({ contents: new TextEncoder().encode(text), loader: "js" });
    const result = await runEsbuild(await build({ load, flags: [...FLAGS, "--charset=utf8"] }));
    assert.ok(new TextDecoder().decode(result.files.get("/out.js")).includes(text));
  }
});

Deno.test("runEsbuild() gives refusals back with their number and place", async () => {
  const result = await runEsbuild(
    await build({
      resolve: ({ path, kind }) => kind === "entry-point" ? { path } : { refused: "no", detail: 3 },
      load: () => Promise.resolve({ contents: new TextEncoder().encode('\n import "x";'), loader: "ts" }),
    }),
  );
  assert.deepEqual(result.errors.map(({ text, detail }) => [text, detail]), [["no", 3]]);
  assert.deepEqual(result.errors[0]?.location, {
    file: "agent:entry.ts",
    line: 2,
    column: 8,
    lineText: ' import "x";',
  });
});

Deno.test("runEsbuild() passes a fault of the loader on", async () => {
  const load = (): Promise<never> => Promise.reject(new ControlError("own", "own fault"));
  await assert.rejects(runEsbuild(await build({ load })), /own fault/);
});

Deno.test("runEsbuild() refuses a program of another version", async () => {
  await assert.rejects(runEsbuild(await build({ version: "0.0.1" })), ControlError);
  await withProgram("printf '\\005\\000\\000\\0009.9.9'; cat", async (binary) => {
    await assert.rejects(runEsbuild(await build({ binary })), failsWith(/of version 9\.9\.9, not/));
  });
});

Deno.test("runEsbuild() ends a program that breaks the protocol, ends early or does not end", async () => {
  const greeting = `printf '\\006\\000\\000\\000${esbuildVersion()}'`;
  const cases: readonly [string, RegExp][] = [
    ["exit 0", /ended early/],
    [`${greeting}; exit 3`, /ended early/],
    [`${greeting}; printf '\\005\\000\\000\\000\\001\\000\\000\\000\\011'; cat`, /broken packet/],
    [`${greeting}; printf '\\377\\377\\377\\177'; cat`, /more than 10000000 bytes/],
    [`${greeting}; sleep 60`, /did not end within 500 ms/],
    ["yes", /more than/],
  ];
  for (const [script, pattern] of cases) {
    await withProgram(script, async (binary) => {
      await assert.rejects(runEsbuild(await build({ binary, timeoutMs: 500 })), failsWith(pattern));
    });
  }
  await assert.rejects(runEsbuild(await build({ binary: "/nonexistent/esbuild" })), failsWith(/cannot be started/));
});

Deno.test("runEsbuild() gives the program no environment", async () => {
  await withProgram('env >"$0.env"; exit 1', async (binary) => {
    Deno.env.set("TWOKEY_TEST_SECRET", "1");
    try {
      await assert.rejects(runEsbuild(await build({ binary })), ControlError);
      assert.ok(!(await Deno.readTextFile(`${binary}.env`)).includes("TWOKEY_TEST_SECRET"));
    } finally {
      Deno.env.delete("TWOKEY_TEST_SECRET");
      await Deno.remove(`${binary}.env`);
    }
  });
});
