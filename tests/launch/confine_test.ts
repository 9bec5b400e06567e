import assert from "node:assert/strict";
import { confinedCommand, type ConfineForm, type ConfineSpec, hostNamespace } from "../../src/launch/confine.ts";

const FORM: ConfineForm = {
  tools: { bwrap: "/usr/bin/bwrap", unshare: "/usr/bin/unshare", prlimit: "/usr/bin/prlimit", socat: "/usr/bin/socat" },
  layout: { links: { "/bin": "usr/bin", "/opt": null }, etc: ["/etc/passwd"] },
  uid: 1000,
  gid: 1000,
  inFront: true,
};
const SPEC: ConfineSpec = {
  program: "/usr/bin/git",
  env: { A: "1" },
  read: ["/project", "/project/out/deep"],
  write: ["/project/out"],
  hiddenFolders: ["/project/.twokey"],
  hiddenFiles: ["/project/.env"],
  timeoutMs: 10_000,
  withWords: false,
};

const joined = (spec: Partial<ConfineSpec> = {}, form: Partial<ConfineForm> = {}): string => {
  const { path, fixed } = confinedCommand({ ...FORM, ...form }, { ...SPEC, ...spec });
  return [path, ...fixed].join(" ");
};

Deno.test("confinedCommand() puts everything before the program, and the program last", () => {
  const text = joined();
  assert.ok(
    text.startsWith("/usr/bin/unshare --user --map-current-user --pid --fork --kill-child=KILL -- /usr/bin/bwrap"),
  );
  for (
    const part of [
      "--unshare-user --uid 1000 --gid 1000",
      "--unshare-pid --unshare-net --unshare-ipc --unshare-uts",
      "--disable-userns --cap-drop ALL --die-with-parent --new-session",
      "--unsetenv OLDPWD",
      "--setenv PATH /usr/bin:/bin",
      "--symlink usr/bin /bin",
      "--ro-bind /opt /opt",
      "--remount-ro / -- /usr/bin/prlimit",
      "--cpu=15",
    ]
  ) assert.ok(text.includes(part), part);
  assert.ok(text.endsWith("-- /usr/bin/git"));
  assert.ok(!text.includes("socat") && !text.includes("--as-pid-1"));
  // an inner folder comes after the one that holds it, what is hidden after both
  const order = [
    "--ro-bind /project /project",
    "--bind /project/out /project/out",
    "--ro-bind /project/out/deep",
    "--tmpfs /project/.twokey",
    "--ro-bind /dev/null /project/.env",
    "--remount-ro / --",
  ].map((part) => text.indexOf(part));
  assert.deepEqual(order, order.toSorted((a, b) => a - b));
  assert.ok(order.every((at) => at > 0));
});

Deno.test("confinedCommand() adds a way out, or chosen variables, only where they are asked for", () => {
  const out = joined({ egressSocket: "/tmp/x/s" });
  assert.ok(out.includes("--ro-bind /tmp/x/s /run/egress.sock"));
  assert.ok(out.includes("--setenv https_proxy http://127.0.0.1:3128") && out.includes("/usr/bin/socat"));
  assert.ok(out.includes("--unshare-net"));
  assert.ok(joined({ withWords: true }).includes("/bin/sh -c"));
  assert.ok(!joined().includes("/bin/sh -c"));
  assert.ok(joined({}, { inFront: false }).startsWith("/usr/bin/bwrap "));
});

Deno.test("confinedCommand() puts no value of the caller among the arguments, and nothing that loads code into its environment", () => {
  const kept = { GITHUB_TOKEN: "hunter2hunter2", DATABASE_URL: "postgres://hunter2", GIT_TOKEN: "hunter2-git" };
  const { fixed, env } = confinedCommand(FORM, {
    ...SPEC,
    env: { ...kept, LD_PRELOAD: "/project/x.so", PATH: "/opt/a" },
  });
  assert.deepEqual(env, { ...kept, PATH: "/opt/a" });
  const text = fixed.join(" ");
  assert.ok(!text.includes("hunter2") && !fixed.includes("--clearenv"), text);
  assert.ok(text.includes("--setenv LD_PRELOAD /project/x.so") && !text.includes("--setenv PATH"), text);
  assert.ok(joined({ env: {} }).includes("--clearenv"));
});

Deno.test("hostNamespace() needs no user namespace for root, and is nothing where unshare does not work", () => {
  assert.ok(!hostNamespace({ ...FORM, uid: 0 }).includes("--user"));
  assert.ok(hostNamespace(FORM).includes("--user"));
  assert.deepEqual(hostNamespace({ ...FORM, inFront: false }), []);
});

Deno.test("confinedCommand() exports chosen words and nothing else, whatever they say", async () => {
  const { fixed } = confinedCommand(
    { ...FORM, inFront: false, tools: { ...FORM.tools, prlimit: undefined } },
    { ...SPEC, program: "/usr/bin/env", withWords: true },
  );
  const at = fixed.indexOf("/bin/sh");
  const { code, stdout } = await new Deno.Command("/bin/sh", {
    args: [...fixed.slice(at + 1), "A=$(id) x", "B=--", "--", "printf", "<%s>", "C=1", "--", "`id`"],
    clearEnv: true,
    stdin: "null",
  }).output();
  assert.equal(code, 0);
  assert.equal(new TextDecoder().decode(stdout), "<C=1><--><`id`>");
});
