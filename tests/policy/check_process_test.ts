import assert from "node:assert/strict";
import { compileLoaded } from "../../src/policy/compile_loaded.ts";
import { parsePolicy } from "../../src/policy/load.ts";
import { PolicyError } from "../../src/policy/policy_error.ts";
import { policyFromFlags } from "../../src/policy/from_flags.ts";
import { readProgram } from "../../src/policy/program_fact.ts";
import type { Plan } from "../../src/plan/plan.ts";
import type { ToolManifests } from "../../src/tool/manifest.ts";
import manifestsJson from "../../src/tools/manifests.json" with { type: "json" };
import { withTree } from "../host/run_context.ts";

const MANIFESTS = manifestsJson as unknown as ToolManifests;
const CAT = await Deno.realPath("/bin/cat");
const SH = await Deno.realPath("/bin/sh");
const REASON = { reason: "needed for this test", expires: "2999-01-01" };

async function compiled(dir: string, blocks: Readonly<Record<string, unknown>>): Promise<Plan> {
  const text = JSON.stringify({ version: 1, tools: ["process"], ...blocks });
  const loaded = { ...await parsePolicy(text, "p"), file: `${dir}/agent.policy.jsonc`, base: dir, project: dir };
  return (await compileLoaded(loaded, { manifests: MANIFESTS })).plan;
}

async function codes(dir: string, blocks: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  try {
    await compiled(dir, blocks);
    return [];
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return error.issues.map(({ code }) => code);
  }
}

const block = (own: Readonly<Record<string, unknown>> = {}) => ({
  process: { commands: { cat: { path: CAT } }, cwd: ["."], ...own },
});

Deno.test("planProcess() plans programs, folders and variables; without arguments none are admitted", () =>
  withTree(async (dir) => {
    const plan = await compiled(
      dir,
      block({ env: { pass: ["LANG"], set: { TZ: "UTC" } }, egress: ["Example.com.:443"] }),
    );
    assert.deepEqual(plan.process, {
      commands: {
        cat: {
          path: CAT,
          sha256: null,
          args: { kind: "rules", rules: { options: {}, positionals: [], maxPositionals: 0 } },
          rule: "/process/commands/cat",
        },
      },
      cwd: [{ root: "${project}", label: ".", rule: "/process/cwd/0" }],
      env: { pass: ["LANG"], set: { TZ: "UTC" } },
      chunkBytes: 1024,
      sandbox: "auto",
      egress: ["example.com:443"],
    });
    assert.equal(plan.tools.process?.process, true);
    assert.ok(plan.fs.secret.includes("${project}/.git/config"));
  }));

Deno.test("planProcess() refuses programs that run what they are told to, or take any argument, unless accepted", () =>
  withTree(async (dir) => {
    const sh = block({ commands: { run: { path: SH } } });
    assert.deepEqual(await codes(dir, sh), ["policy_unsafe_needed"]);
    assert.deepEqual(await codes(dir, block({ commands: { bash: { path: CAT } } })), ["policy_unsafe_needed"]);
    assert.deepEqual(await codes(dir, block({ commands: { cat: { path: CAT, args: "any" } } })), [
      "policy_unsafe_needed",
    ]);
    const deno = await Deno.realPath(Deno.execPath());
    assert.deepEqual(await codes(dir, block({ commands: { d: { path: deno } } })), ["policy_unsafe_needed"]);
    const plan = await compiled(dir, { ...sh, unsafe: { interpreter: [{ command: "run", ...REASON }] } });
    assert.deepEqual(plan.unsafe, [{ key: "interpreter", path: "run", ...REASON }]);
    const expired = { interpreter: [{ command: "run", ...REASON, expires: "2001-01-01" }] };
    assert.deepEqual(await codes(dir, { ...sh, unsafe: expired }), ["policy_unsafe_expired"]);
    const unused = { interpreter: [{ command: "cat", ...REASON }] };
    assert.deepEqual(await codes(dir, { ...block(), unsafe: unused }), ["policy_unsafe_unused"]);
    // whether a refused program needs its entry is not known: the author is not told to remove it
    await Deno.symlink(SH, `${dir}/linked`);
    for (const path of ["sh", `${dir}/missing`, `${dir}/linked`]) {
      const refused = await codes(dir, {
        ...block({ commands: { run: { path } } }),
        unsafe: { interpreter: [{ command: "run", ...REASON }] },
      });
      assert.deepEqual([refused.length, refused.includes("policy_unsafe_unused")], [1, false], `${path}: ${refused}`);
    }
  }));

Deno.test("planProcess() refuses what is no fixed program", () =>
  withTree(async (dir) => {
    const of = (path: string, own = {}) => block({ commands: { x: { path, ...own } } });
    assert.deepEqual(await codes(dir, of("cat")), ["policy_program_name"]);
    assert.deepEqual(await codes(dir, of("/nowhere/cat")), ["policy_program_missing"]);
    await Deno.writeTextFile(`${dir}/plain.txt`, "echo hi");
    assert.deepEqual(await codes(dir, of("./plain.txt")), ["policy_program_missing"]);
    await Deno.chmod(`${dir}/plain.txt`, 0o755);
    assert.deepEqual(await codes(dir, of("./plain.txt")), ["policy_program_missing"], "no ELF and no #!");
    await Deno.symlink(CAT, `${dir}/link`);
    assert.deepEqual(await codes(dir, of("./link")), ["policy_link"]);
    assert.deepEqual(await codes(dir, of(CAT, { sha256: "0".repeat(64) })), ["policy_program_changed"]);
    const { sha256 = "" } = await readProgram(CAT) ?? {};
    assert.deepEqual(await codes(dir, of(CAT, { sha256 })), []);
    await Deno.copyFile(CAT, `${dir}/suid`);
    await Deno.chmod(`${dir}/suid`, 0o4755);
    assert.deepEqual(await codes(dir, of("./suid")), ["policy_program_setuid"]);
  }));

Deno.test("planProcess() refuses a program that tools could replace", () =>
  withTree(async (dir) => {
    await Deno.mkdir(`${dir}/out/bin`, { recursive: true });
    await Deno.copyFile(CAT, `${dir}/out/bin/x`);
    await Deno.chmod(`${dir}/out/bin/x`, 0o755);
    const blocks = {
      tools: ["process", "writeArtifact"],
      fs: { write: [{ root: "out" }] },
      ...block({ commands: { x: { path: "out/bin/x" } } }),
    };
    assert.deepEqual(await codes(dir, blocks), ["policy_program_writable"]);
  }));

Deno.test("planProcess() refuses variables that load code, and values of secrets", () =>
  withTree(async (dir) => {
    const env = (own: unknown) => block({ env: own });
    assert.deepEqual(await codes(dir, env({ pass: ["LD_PRELOAD"] })), ["policy_loader_variable"]);
    assert.deepEqual(await codes(dir, env({ set: { DYLD_INSERT_LIBRARIES: "x" } })), ["policy_loader_variable"]);
    for (const name of ["NODE_OPTIONS", "BASH_ENV", "PYTHONPATH", "PERL5OPT", "GIT_SSH_COMMAND"]) {
      assert.deepEqual(await codes(dir, env({ pass: [name] })), ["policy_unsafe_needed"], name);
    }
    assert.deepEqual(await codes(dir, env({ set: { API_TOKEN: "x" } })), ["policy_secret_value"]);
    assert.deepEqual(await codes(dir, env({ pass: ["API_TOKEN"] })), []);
    assert.deepEqual(await codes(dir, env({ pass: ["A"], set: { A: "1" } })), ["policy_duplicate_variable"]);
    const accepted = {
      ...env({ pass: ["NODE_OPTIONS"] }),
      unsafe: { environment: [{ name: "NODE_OPTIONS", ...REASON }] },
    };
    assert.deepEqual(await codes(dir, accepted), []);
  }));

Deno.test("planProcess() refuses to run without confinement unless that is accepted", () =>
  withTree(async (dir) => {
    assert.deepEqual(await codes(dir, block({ sandbox: "off" })), ["policy_unsafe_needed"]);
    assert.deepEqual(await codes(dir, { ...block({ sandbox: "off" }), unsafe: { unconfined: REASON } }), []);
    assert.deepEqual(await codes(dir, { ...block(), unsafe: { unconfined: REASON } }), ["policy_unsafe_unused"]);
    const both = { ...block({ sandbox: "off", egress: ["a.test:443"] }), unsafe: { unconfined: REASON } };
    assert.deepEqual(await codes(dir, both), ["policy_dead_rule"]);
    for (
      const host of ["*.a.test:443", "a.test", "a.test:0", "a.test:70000", "https://a.test:1", "[::1]:443", "a..b:1"]
    ) {
      assert.deepEqual(await codes(dir, block({ egress: [host] })), ["policy_bad_host"], host);
    }
  }));

Deno.test("planProcess() refuses folders that are not there, outside, or the runner's own", () =>
  withTree(async (dir) => {
    await Deno.mkdir(`${dir}/.twokey/x`, { recursive: true });
    assert.deepEqual(await codes(dir, block({ cwd: ["missing"] })), ["policy_root_missing"]);
    assert.deepEqual(await codes(dir, block({ cwd: ["/usr"] })), ["policy_outside_project"]);
    assert.deepEqual(await codes(dir, block({ cwd: [".twokey/x"] })), ["policy_protected"]);
    assert.deepEqual(await codes(dir, block({ cwd: [".", "./"] })), ["policy_duplicate_root"]);
    assert.deepEqual(await codes(dir, { tools: [], ...block() }), ["policy_unused_authority"]);
    assert.deepEqual(await codes(dir, {}), ["policy_tool_without_authority"]);
  }));

Deno.test("policyFromFlags() makes programs of flags, and keeps values of secrets off the command line", () =>
  withTree(async (dir) => {
    const flags = {
      tool: ["process"],
      processCommand: [`sh=${SH}`, "git=/usr/bin/git"],
      processCwd: ["."],
      processEnv: ["GITHUB_TOKEN", "A=b=c"],
      processOutputStreamChunkBytes: 16,
    };
    const { policy } = await policyFromFlags(flags, dir);
    assert.deepEqual(policy.process, {
      commands: { sh: { path: SH, args: "any" }, git: { path: "/usr/bin/git", args: "git" } },
      cwd: ["."],
      env: { pass: ["GITHUB_TOKEN"], set: { A: "b=c" } },
      output: { chunkBytes: 16 },
    });
    const { plan } = await compileLoaded(await policyFromFlags({ ...flags, processCommand: [`sh=${SH}`] }, dir), {
      manifests: MANIFESTS,
    });
    assert.deepEqual(plan.unsafe, [{
      key: "interpreter",
      path: "sh",
      reason: "named on the command line",
      expires: null,
    }]);
    const fails = (own: Readonly<Record<string, unknown>>, code: string) =>
      assert.rejects(policyFromFlags({ ...flags, ...own }, dir), (error: Error & { code?: string }) => {
        assert.ok(!error.message.includes("hunter2"));
        return error.code === code;
      });
    await fails({ processEnv: ["API_TOKEN=hunter2"] }, "usage_secret");
    await fails({ processEnv: ["=hunter2"] }, "usage_variable");
    await fails({ processCommand: ["../x=/bin/sh"] }, "usage_command");
    await fails({ processCommand: ["sh"] }, "usage_command");
    await fails({ processCwd: [] }, "usage_needs_flag");
  }));
