import assert from "node:assert/strict";
import { sha256 } from "../../src/json.ts";
import { type Project, withProject } from "../e2e/run_project.ts";

const AGENT = `
await callTool("writeArtifact", { path: "a.txt", content: "hi" });
await callTool("echo", { pin: "pin-of-somebody", note: context.note });
emit({ kind: "done" });
export {};
`;

const POLICY = {
  tools: ["echo", "readFile", "writeArtifact"],
  fs: { read: [{ root: "docs" }], write: [{ root: "out" }] },
  redact: ["pin"],
  context: { note: "x" },
};

const SECRET = "environment-secret-1";

async function bundle(project: Project, ...args: string[]) {
  const { code, stdout, stderr } = await project.run({
    args: ["bundle", "--json", ...args],
    env: { SOME_TOKEN: SECRET },
  });
  return { code, stderr, value: stdout === "" ? {} : JSON.parse(stdout) };
}

async function verify(project: Project, ...args: string[]) {
  const { code, stdout } = await project.run({ args: ["bundle-verify", "--json", ...args] });
  return { code, value: JSON.parse(stdout) };
}

Deno.test("bundle collects a run with its policy, plan and lock; bundle-verify finds them whole, and one changed byte", async () => {
  const files = { "docs/secret.md": "text of a source file" };
  await withProject({ policy: POLICY, agent: AGENT, files }, async (project) => {
    assert.equal((await project.run({ args: ["policy", "lock"] })).code, 0);
    const run = await project.run({ args: ["run", "--json", "--locked"] });
    assert.equal(run.code, 0, run.stderr);
    const { head, run_id } = JSON.parse(run.stdout);
    const made = await bundle(project, "agent.policy.jsonc", "--out=evidence");
    assert.equal(made.code, 0, JSON.stringify(made));
    assert.deepEqual(made.value.left_out, []);
    assert.deepEqual([made.value.run.run_id, made.value.audit.original.head], [run_id, head]);
    const folder = `${project.dir}/evidence`;
    assert.deepEqual((await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).toSorted(), [
      "README.txt",
      "agent.lock.json",
      "audit.jsonl",
      "controls.json",
      "evidence-bundle.json",
      "plan.json",
      "policy.jsonc",
      "replay.json",
      "replay.txt",
      "run-artifact-manifest.json",
      "source-manifest.json",
    ]);
    assert.equal(await sha256(await Deno.readTextFile(`${folder}/plan.json`)), made.value.run.plan_digest);
    const artifacts = JSON.parse(await Deno.readTextFile(`${folder}/run-artifact-manifest.json`)).artifacts;
    assert.deepEqual(artifacts.map(({ path, bytes }: { path: string; bytes: number }) => [path, bytes]), [[
      "a.txt",
      2,
    ]]);
    const sources = await Deno.readTextFile(`${folder}/source-manifest.json`);
    assert.match(sources, /docs|secret\.md/);
    for await (const { name } of Deno.readDir(folder)) {
      const text = await Deno.readTextFile(`${folder}/${name}`);
      assert.ok(!text.includes("text of a source file") && !text.includes("pin-of-somebody"), name);
    }
    const good = await verify(project, "evidence");
    assert.deepEqual([good.code, good.value.verdict, good.value.original_head], [0, "consistent", head]);
    await Deno.writeTextFile(`${folder}/controls.json`, " ", { append: true });
    const bad = await verify(project, "evidence");
    assert.deepEqual([bad.code, bad.value.verdict, bad.value.findings[0].path], [65, "broken", "controls.json"]);
    assert.equal((await project.run({ args: ["bundle-verify", "--json", "nowhere"] })).code, 66);
    assert.equal((await bundle(project, run_id, "--out=evidence")).code, 73);
  });
});

Deno.test("bundle holds no secret: not of a field, not of a variable, not by form, not from the context", async () => {
  const form = `ghp${"_"}${"aB3".repeat(12)}`;
  const agent = `
    await callTool("echo", { pin: "pin-of-somebody", note: context.note, token: "token-of-somebody" });
    emit({ kind: "said", text: "${form} " + ["environment", "secret", "1"].join("-") });
    export {};
  `;
  const policy = { ...POLICY, context: { note: "x", password: "password-of-somebody" } };
  await withProject({ policy, agent, files: { "docs/": "" } }, async (project) => {
    assert.equal((await project.run()).code, 0);
    await project.write("note.md", "");
    const made = await bundle(project, "agent.policy.jsonc", "--out=evidence");
    assert.equal(made.code, 0, JSON.stringify(made));
    assert.deepEqual(made.value.redacted, ["audit.jsonl", "plan.json", "policy.jsonc"]);
    for await (const { name } of Deno.readDir(`${project.dir}/evidence`)) {
      const text = await Deno.readTextFile(`${project.dir}/evidence/${name}`);
      for (const secret of [form, SECRET, "pin-of", "token-of", "password-of"]) {
        assert.ok(!text.includes(secret), `${name} holds ${secret}`);
      }
    }
    const { value } = await verify(project, "evidence");
    assert.equal(value.verdict, "consistent");
    assert.notEqual(made.value.audit.head, made.value.audit.original.head);
  });
});

Deno.test("bundle signs with a key, and bundle-verify tells who did", async () => {
  await withProject({ policy: { tools: ["echo"] }, agent: 'emit({ kind: "x" });' }, async (project) => {
    assert.equal((await project.run()).code, 0);
    for (const name of ["own", "other"]) {
      const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]) as CryptoKeyPair;
      const pem = async (format: "pkcs8" | "spki", key: CryptoKey, label: string) =>
        `-----BEGIN ${label}-----\n${
          new Uint8Array(await crypto.subtle.exportKey(format, key)).toBase64()
        }\n-----END ${label}-----\n`;
      await project.write(`${name}.pem`, await pem("pkcs8", pair.privateKey, "PRIVATE KEY"));
      await project.write(`${name}.pub.pem`, await pem("spki", pair.publicKey, "PUBLIC KEY"));
    }
    const made = await bundle(project, ".", "--out=signed", "--sign-key=own.pem");
    assert.equal(made.code, 0, JSON.stringify(made));
    const own = await verify(project, "signed", "--key=own.pub.pem");
    assert.deepEqual([own.code, own.value.verdict, own.value.signed], [0, "authentic", true]);
    const other = await verify(project, "signed", "--key=other.pub.pem");
    assert.deepEqual([other.code, other.value.findings[0].kind], [65, "signature"]);
    assert.equal((await bundle(project, ".", "--out=unsigned")).value.signature, "unsigned");
    assert.equal((await verify(project, "unsigned", "--key=own.pub.pem")).code, 65);
    assert.equal((await bundle(project, ".", "--out=x", "--sign-key=own.pub.pem")).code, 65);
    assert.equal((await bundle(project, ".", "--out=x", "--sign-key=none.pem")).code, 66);
    const text = await project.run({ args: ["bundle-verify", "signed", "--key=own.pub.pem"] });
    assert.match(text.stdout, /^authentic {2}whole, and signed with the key that was given\n/);
  });
});

Deno.test("bundle chooses among the runs of a policy, and says what of a run is no more", async () => {
  const agent = 'emit({ kind: "x" });\nif (context.fail) throw new Error("no");';
  const policy = { tools: ["echo"], context: { fail: true } };
  await withProject({ policy, agent }, async (project) => {
    const failed = JSON.parse((await project.run()).stdout).run_id;
    await project.policy({ ...policy, context: { fail: false } });
    const fine = JSON.parse((await project.run()).stdout).run_id;
    const flags = JSON.parse((await project.run({ args: ["run", "agent.ts", "--json", "--tool=echo"] })).stdout).run_id;
    const newest = await bundle(project, "agent.policy.jsonc", "--out=newest");
    assert.equal(newest.value.run.run_id, fine);
    const bad = await bundle(project, "agent.policy.jsonc", "--failed", "--out=failed");
    assert.deepEqual([bad.value.run.run_id, bad.value.run.status], [failed, "error"]);
    assert.match(JSON.stringify(bad.value.left_out), /not the one that ran/);
    const named = await bundle(project, "agent.policy.jsonc", `--run-id=${failed}`, "--out=named");
    assert.equal(named.value.run.run_id, failed);
    const byId = await bundle(project, flags, "--out=flags");
    assert.match(JSON.stringify(byId.value.left_out), /its flags were the policy/);
    await project.write("agent.ts", `${agent}\n// changed`);
    const changed = await bundle(project, fine, "--out=changed");
    assert.match(JSON.stringify(changed.value.left_out), /the project is not what it was/);
    assert.ok(changed.value.entries.some(({ path }: { path: string }) => path === "policy.jsonc"));
    for (const out of ["newest", "failed", "named", "flags", "changed"]) {
      assert.equal((await verify(project, out)).code, 0, out);
    }
    assert.equal((await bundle(project, "agent.policy.jsonc", "--run-id=none", "--out=x")).code, 66);
    assert.equal((await bundle(project, fine, "--failed", "--out=x")).code, 64);
    assert.equal((await bundle(project, ".", `--run-id=${fine}`, "--failed", "--out=x")).code, 64);
    assert.equal((await bundle(project, "nowhere", "--out=x")).code, 66);
    assert.equal((await project.run({ args: ["bundle", "agent.policy.jsonc"] })).code, 64);
  });
});
