import assert from "node:assert/strict";
import { hostFlags } from "../../src/plan/flags.ts";
import { permissionSet } from "../../src/plan/permission_set.ts";
import { withRegistry } from "../../src/tools/supply_chain/npm_registry.ts";
import { compileIn, withProject } from "../policy/project.ts";

const POLICY = {
  version: 1,
  tools: ["readFile", "writeArtifact", "osv.query", "npm.metadata"],
  fs: { read: [{ root: "." }], write: [{ root: "." }] },
  network: { cache: {}, proxy: { fromEnv: "MY_PROXY" }, ca: { fromEnv: "MY_CA" } },
  budgets: { heapMb: 100 },
};

function value(flags: readonly string[], name: string): string[] | undefined {
  const found = flags.filter((flag) => flag.startsWith(`${name}=`));
  assert.ok(found.length <= 1, `${name} stands once`);
  return found[0]?.slice(name.length + 1).split(",");
}

Deno.test("hostFlags() always closes prompts, remote code and the environment", async () => {
  await withProject({}, async (dir) => {
    const { plan, facts } = await compileIn(dir, { version: 1 });
    const flags = hostFlags(plan, facts.places);
    for (const flag of ["--no-prompt", "--frozen", "--cached-only", "--no-remote", "--ignore-env"]) {
      assert.ok(flags.includes(flag), flag);
    }
    assert.deepEqual(value(flags, "--allow-import"), ["none.invalid"]);
    assert.deepEqual(value(flags, "--config"), [`${facts.places.twokey}/deno.json`]);
    assert.deepEqual(value(flags, "--lock"), [`${facts.places.twokey}/deno.lock`]);
    for (const kind of ["read", "write", "net", "env", "run", "ffi", "sys"]) {
      assert.ok(!flags.some((flag) => flag.startsWith(`--allow-${kind}`)), `an empty policy grants no ${kind}`);
    }
    assert.ok(!flags.some((flag) => flag === "-A" || flag.startsWith("--allow-all")));
    assert.ok((value(flags, "--deny-net") ?? []).length > 10);
  });
});

Deno.test("hostFlags() prints the grants of a plan, with read for what is written", async () => {
  await withProject({}, async (dir) => {
    const { plan, facts } = await compileIn(dir, POLICY);
    const flags = hostFlags(plan, facts.places, { extraRead: ["/run/x/calls"], extraWrite: ["/run/x/records"] });
    assert.deepEqual(value(flags, "--allow-read"), [dir, `${facts.places.state}/cache`, "/run/x/calls"]);
    assert.deepEqual(value(flags, "--allow-write"), [dir, `${facts.places.state}/cache`, "/run/x/records"]);
    assert.deepEqual(value(flags, "--allow-net"), ["api.osv.dev:443", withRegistry("<npm-registry>:443")]);
    assert.deepEqual(value(flags, "--allow-env"), ["MY_CA", "MY_PROXY"]);
    for (const place of [".git", ".twokey", "deno.json", ".github/workflows", "agent.policy.jsonc"]) {
      assert.ok(value(flags, "--deny-write")?.includes(`${dir}/${place}`), place);
    }
    for (const place of [".git/config", ".twokey", ".env"]) {
      assert.ok(value(flags, "--deny-read")?.includes(`${dir}/${place}`), place);
    }
    assert.ok(flags.some((flag) => /^--v8-flags=--max-old-space-size=100,--enable-experimental/.test(flag)));
  });
});

Deno.test("hostFlags() grants the proxy and cuts its address out of the denied blocks", async () => {
  await withProject({}, async (dir) => {
    const { plan, facts } = await compileIn(dir, POLICY);
    const flags = hostFlags(plan, facts.places, { proxyAddress: "127.0.0.1:3128" });
    assert.ok(value(flags, "--allow-net")?.includes("127.0.0.1:3128"));
    assert.ok(!value(flags, "--deny-net")?.includes("127.0.0.0/8"));
    assert.ok(value(flags, "--deny-net")?.includes("127.128.0.0/9"));
  });
});

Deno.test("hostFlags() grants no network for recorded answers or an offline cache", async () => {
  await withProject({ files: { "fx.json": "{}" } }, async (dir) => {
    for (const network of [{ fixtures: ["fx.json"] }, { cache: { mode: "offline" } }]) {
      const { plan, facts } = await compileIn(dir, { version: 1, tools: ["osv.query"], network });
      assert.equal(value(hostFlags(plan, facts.places), "--allow-net"), undefined);
    }
  });
});

Deno.test("hostFlags() and permissionSet() are portable on demand, and never name the registry's host then", async () => {
  await withProject({}, async (dir) => {
    const { plan, facts } = await compileIn(dir, POLICY);
    for (const print of [hostFlags, permissionSet]) {
      const text = JSON.stringify(print(plan, facts.places, { portable: true }));
      assert.ok(!text.includes(dir) && !text.includes(facts.places.twokey), text);
      assert.match(text, /<npm-registry>:443/);
    }
  });
});

Deno.test("hostFlags() refuses a place whose path would split", async () => {
  await withProject({}, async (dir) => {
    const { plan, facts } = await compileIn(dir, POLICY);
    const places = { ...facts.places, project: "/home/a,b" };
    assert.throws(() => hostFlags(plan, places), { code: "path_not_grantable" });
    assert.throws(() => permissionSet(plan, places), { code: "path_not_grantable" });
  });
});

Deno.test("permissionSet() grants what the flags grant, in lists only", async () => {
  await withProject({}, async (dir) => {
    const { plan, facts } = await compileIn(dir, POLICY);
    const flags = hostFlags(plan, facts.places);
    const set = permissionSet(plan, facts.places) as Record<string, { allow: string[]; deny?: string[] }>;
    for (const kind of ["read", "write", "net", "env"]) {
      assert.deepEqual(set[kind]?.allow, value(flags, `--allow-${kind}`), kind);
      if (kind !== "env") assert.deepEqual(set[kind]?.deny, value(flags, `--deny-${kind}`), kind);
    }
  });
});

Deno.test("hostFlags() holds in a real process: grants are granted, denied places inside them are not", async () => {
  await withProject({ files: { "docs/a": "", "src/a": "", "out/": "" } }, async (dir) => {
    const { plan, facts } = await compileIn(dir, {
      version: 1,
      tools: ["readFile", "writeArtifact", "osv.query"],
      fs: { read: [{ root: "." }], write: [{ root: "." }] },
    });
    const script = `${dir}/probe.mjs`;
    await Deno.writeTextFile(
      script,
      `const ask = (d) => Deno.permissions.querySync(d).state === "granted";
       const dir = ${JSON.stringify(dir)};
       console.log(JSON.stringify({
         read: ask({ name: "read", path: dir + "/docs/a" }),
         gitConfig: ask({ name: "read", path: dir + "/.git/config" }),
         env: ask({ name: "read", path: dir + "/.env" }),
         outside: ask({ name: "read", path: "/etc/hostname" }),
         write: ask({ name: "write", path: dir + "/out/x" }),
         workflows: ask({ name: "write", path: dir + "/.github/workflows/x.yml" }),
         policy: ask({ name: "write", path: dir + "/agent.policy.jsonc" }),
         net: ask({ name: "net", host: "api.osv.dev:443" }),
         otherPort: ask({ name: "net", host: "api.osv.dev:80" }),
         otherHost: ask({ name: "net", host: "example.com:443" }),
         run: ask({ name: "run" }),
         ffi: ask({ name: "ffi" }),
         variable: ask({ name: "env", variable: "HOME" }),
         home: Deno.env.get("HOME") === undefined,
       }));`,
    );
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", ...hostFlags(plan, facts.places), script],
      stdin: "null",
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.deepEqual(JSON.parse(new TextDecoder().decode(stdout)), {
      read: true,
      gitConfig: false,
      env: false,
      outside: false,
      write: true,
      workflows: false,
      policy: false,
      net: true,
      otherPort: false,
      otherHost: false,
      run: false,
      ffi: false,
      variable: false,
      home: true,
    });
  });
});
