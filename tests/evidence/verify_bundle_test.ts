import assert from "node:assert/strict";
import { makeRedactor } from "../../src/audit/redact.ts";
import { DataError, InputError } from "../../src/errors.ts";
import { makeBundle } from "../../src/evidence/make_bundle.ts";
import { type Manifest, manifestText, sealManifest } from "../../src/evidence/manifest.ts";
import { type BundleVerdict, verifyBundle } from "../../src/evidence/verify_bundle.ts";
import { inTempDir, rehash, RUN, sha256, writeLog } from "../audit/log_maker.ts";

/** A new pair of keys in PEM. */
async function keys(): Promise<{ priv: string; pub: string }> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]) as CryptoKeyPair;
  const pem = async (format: "pkcs8" | "spki", key: CryptoKey, label: string) => {
    const body = new Uint8Array(await crypto.subtle.exportKey(format, key)).toBase64().replaceAll(/.{64}/g, "$&\n");
    return `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
  };
  return {
    priv: await pem("pkcs8", pair.privateKey, "PRIVATE KEY"),
    pub: await pem("spki", pair.publicKey, "PUBLIC KEY"),
  };
}

/** Runs `body` with a fresh bundle. */
async function withBundle(
  body: (bundle: string, dir: string) => Promise<void>,
  options: { readonly signKey?: string } = {},
): Promise<void> {
  await inTempDir(async (dir) => {
    writeLog(`${dir}/log.jsonl`, RUN);
    await makeBundle({
      log: `${dir}/log.jsonl`,
      out: `${dir}/bundle`,
      texts: [{ path: "policy.jsonc", text: "{}" }],
      leftOut: [],
      redactor: makeRedactor({ fields: [], secrets: new Map() }),
      nowMs: 1,
      ...options,
    });
    await body(`${dir}/bundle`, dir);
  });
}

async function manifestOf(bundle: string): Promise<Manifest> {
  return JSON.parse(await Deno.readTextFile(`${bundle}/evidence-bundle.json`));
}

/** Writes a manifest anew, as somebody would who covers up what they did, without the key. */
async function forge(bundle: string, change: (manifest: Manifest) => Manifest): Promise<void> {
  const manifest = change(await manifestOf(bundle));
  await Deno.writeTextFile(
    `${bundle}/evidence-bundle.json`,
    manifestText(await sealManifest(manifest, manifest.signature)),
  );
}

/** Changes a file and lists it as it is now. */
async function replace(bundle: string, path: string, text: string): Promise<void> {
  await Deno.writeTextFile(`${bundle}/${path}`, text);
  const bytes = new TextEncoder().encode(text);
  await forge(bundle, (manifest) => ({
    ...manifest,
    entries: manifest.entries.map((entry) =>
      entry.path === path ? { path, bytes: bytes.length, sha256: sha256(bytes) } : entry
    ),
  }));
}

function shown({ verdict, findings }: BundleVerdict): string {
  return [verdict, ...findings.map(({ kind, path }) => `${kind} ${path}`)].join("; ");
}

// What is done to a bundle, and what is found
const TAMPERED: readonly [string, (bundle: string) => Promise<void>, string][] = [
  [
    "a changed byte",
    async (b) => {
      const text = await Deno.readTextFile(`${b}/policy.jsonc`);
      await Deno.writeTextFile(`${b}/policy.jsonc`, text.replace("{", "["));
    },
    "broken; changed policy.jsonc",
  ],
  [
    "a byte at the end of the log",
    (b) => Deno.writeTextFile(`${b}/audit.jsonl`, "\n", { append: true }),
    "broken; changed audit.jsonl",
  ],
  ["a missing file", (b) => Deno.remove(`${b}/replay.txt`), "broken; missing replay.txt"],
  ["an extra file", (b) => Deno.writeTextFile(`${b}/more.txt`, ""), "broken; extra more.txt"],
  ["a hidden file", (b) => Deno.writeTextFile(`${b}/.more`, ""), "broken; extra .more"],
  ["an extra folder", (b) => Deno.mkdir(`${b}/empty`), "broken; extra empty"],
  [
    "a file in a folder",
    async (b) => {
      await Deno.mkdir(`${b}/a/b/c/d/e`, { recursive: true });
      await Deno.writeTextFile(`${b}/a/x`, "");
    },
    "broken; extra a; extra a/b; extra a/b/c; extra a/b/c/d; extra a/x",
  ],
  [
    "a file under another case",
    (b) => Deno.rename(`${b}/replay.txt`, `${b}/Replay.txt`),
    "broken; extra Replay.txt; missing replay.txt",
  ],
  [
    "a link to the same bytes",
    async (b) => {
      await Deno.rename(`${b}/replay.txt`, `${b}-elsewhere`);
      await Deno.symlink(`${b}-elsewhere`, `${b}/replay.txt`);
    },
    "broken; link replay.txt; missing replay.txt",
  ],
  ["a dangling link", (b) => Deno.symlink("nowhere", `${b}/x`), "broken; link x"],
  [
    "a removed entry",
    (b) => forge(b, (m) => ({ ...m, entries: m.entries.filter(({ path }) => path !== "replay.txt") })),
    "broken; extra replay.txt",
  ],
  [
    "an edited field",
    async (b) => {
      const text = await Deno.readTextFile(`${b}/evidence-bundle.json`);
      await Deno.writeTextFile(`${b}/evidence-bundle.json`, text.replace('"status": "ok"', '"status": "error"'));
    },
    "broken; manifest evidence-bundle.json",
  ],
  [
    "an added field",
    async (b) => {
      const text = await Deno.readTextFile(`${b}/evidence-bundle.json`);
      await Deno.writeTextFile(`${b}/evidence-bundle.json`, text.replace("{", '{\n  "reviewed_by": "me",'));
    },
    "broken; manifest evidence-bundle.json",
  ],
  [
    "a field that stands twice",
    async (b) => {
      const text = await Deno.readTextFile(`${b}/evidence-bundle.json`);
      await Deno.writeTextFile(`${b}/evidence-bundle.json`, text.replace("{", '{\n  "version": 2,'));
    },
    "broken; manifest evidence-bundle.json",
  ],
  [
    "a log that was rewritten with its manifest",
    async (b) => {
      const lines = (await Deno.readTextFile(`${b}/audit.jsonl`)).trimEnd().split("\n");
      lines[2] = rehash((lines[2] ?? "").replace('"bytes":3', '"bytes":4'));
      await replace(b, "audit.jsonl", `${lines.join("\n")}\n`);
    },
    "broken; log audit.jsonl",
  ],
  [
    "a log that was cut with its manifest",
    async (b) => {
      const lines = (await Deno.readTextFile(`${b}/audit.jsonl`)).trimEnd().split("\n");
      await replace(b, "audit.jsonl", `${lines.slice(0, -1).join("\n")}\n`);
    },
    "broken; log audit.jsonl",
  ],
  [
    "a manifest of another run",
    (b) => forge(b, (m) => ({ ...m, run: { ...m.run, run_id: "run-2" } })),
    "broken; mismatch evidence-bundle.json",
  ],
  [
    "a manifest of another plan",
    (b) => forge(b, (m) => ({ ...m, run: { ...m.run, plan_digest: "9".repeat(64) } })),
    "broken; mismatch evidence-bundle.json",
  ],
  [
    "a made-up original",
    (b) => forge(b, (m) => ({ ...m, audit: { ...m.audit, original: { ...m.audit.original, head: "9".repeat(64) } } })),
    "broken; mismatch evidence-bundle.json",
  ],
  [
    "an end of the run that the log does not have",
    (b) => forge(b, (m) => ({ ...m, run: { ...m.run, status: "error", reason: "agent_error" } })),
    "broken; mismatch evidence-bundle.json; mismatch evidence-bundle.json",
  ],
  [
    "times that the log does not have",
    (b) => forge(b, (m) => ({ ...m, run: { ...m.run, started_ms: 5, ended_ms: 6 } })),
    "broken; mismatch evidence-bundle.json; mismatch evidence-bundle.json",
  ],
  ...["replay.json", "replay.txt", "controls.json", "source-manifest.json", "run-artifact-manifest.json"].map((
    path,
  ): [string, (bundle: string) => Promise<void>, string] => [
    `another ${path} than the log comes to`,
    (b) => replace(b, path, "{}\n"),
    `broken; mismatch ${path}`,
  ]),
  [
    "a README that says something else",
    (b) => replace(b, "README.txt", "All is well\n"),
    "broken; mismatch README.txt",
  ],
  [
    "redactions that nobody made",
    (b) => forge(b, (m) => ({ ...m, audit: { ...m.audit, redacted_records: 1 } })),
    "broken; mismatch evidence-bundle.json",
  ],
  [
    "another size of the original",
    (b) => forge(b, (m) => ({ ...m, audit: { ...m.audit, original: { ...m.audit.original, bytes: 5 } } })),
    "broken; mismatch evidence-bundle.json",
  ],
  [
    "a log that the manifest calls otherwise",
    (b) => forge(b, (m) => ({ ...m, audit: { ...m.audit, file: "replay.txt" } })),
    "broken; mismatch audit.jsonl",
  ],
];

for (const [name, tamper, expected] of TAMPERED) {
  Deno.test(`verifyBundle() finds ${name}`, async () => {
    await withBundle(async (bundle) => {
      assert.equal(shown(await verifyBundle(bundle)), "consistent");
      await tamper(bundle);
      assert.equal(shown(await verifyBundle(bundle)), expected);
    });
  });
}

Deno.test("verifyBundle() proves the original's head only where nothing was redacted: else it is the maker's word", async () => {
  await withBundle(async (bundle, dir) => {
    assert.equal((await verifyBundle(bundle)).head_is_proven, true);
    const secret = "bytes-of-a-secret";
    writeLog(`${dir}/other.jsonl`, RUN.map((body) => ({ ...body, note: secret })));
    await makeBundle({
      log: `${dir}/other.jsonl`,
      out: `${dir}/redacted`,
      texts: [],
      leftOut: [],
      redactor: makeRedactor({ fields: [], secrets: new Map([["S", secret]]) }),
      nowMs: 1,
    });
    const verdict = await verifyBundle(`${dir}/redacted`);
    assert.deepEqual([verdict.verdict, verdict.head_is_proven], ["consistent", false]);
    assert.match(await Deno.readTextFile(`${dir}/redacted/README.txt`), /as whoever made the bundle says/);
  });
});

Deno.test("verifyBundle() opens no path that leads out of the bundle, however it is written", async () => {
  const paths = [
    "/etc/passwd",
    "../log.jsonl",
    "a/../../log.jsonl",
    "./replay.txt",
    "a//b",
    "C:\\x",
    "a\\b",
    "REPLAY.txt",
    "Evidence-Bundle.json",
    "x\u202e",
    "",
    "a/b/c/d/e",
  ];
  for (const path of paths) {
    await withBundle(async (bundle) => {
      await forge(bundle, (manifest) => ({
        ...manifest,
        entries: [...manifest.entries, { path, bytes: 1, sha256: "0".repeat(64) }],
      }));
      const { verdict, findings } = await verifyBundle(bundle);
      assert.equal(verdict, "broken", path);
      assert.deepEqual(findings[0]?.kind, "path", `${path}: ${JSON.stringify(findings)}`);
    });
  }
});

Deno.test("verifyBundle() says who signed: the right key, another, a forged signature, none", async () => {
  const [own, other] = [await keys(), await keys()];
  await withBundle(async (bundle) => {
    const signed = await verifyBundle(bundle, { key: own.pub });
    assert.equal(signed.verdict, "authentic");
    assert.match(signed.key_id ?? "", /^[0-9a-f]{64}$/);
    assert.equal((await verifyBundle(bundle)).verdict, "consistent");
    assert.equal(shown(await verifyBundle(bundle, { key: other.pub })), "broken; signature evidence-bundle.json");
    // what was changed and digested anew is not what was signed
    await forge(bundle, (manifest) => ({ ...manifest, created_ms: 2 }));
    assert.equal(shown(await verifyBundle(bundle)), "consistent");
    assert.equal(shown(await verifyBundle(bundle, { key: own.pub })), "broken; signature evidence-bundle.json");
    await forge(bundle, (manifest) => ({ ...manifest, signature: "unsigned" }));
    assert.equal(shown(await verifyBundle(bundle, { key: own.pub })), "broken; signature evidence-bundle.json");
  }, { signKey: own.priv });
  await withBundle(async (bundle) => {
    const { findings } = await verifyBundle(bundle, { key: own.pub });
    assert.match(findings[0]?.detail ?? "", /^it is not signed/);
  });
});

Deno.test("verifyBundle() refuses what is no key, in words that do not quote it", async () => {
  const { priv, pub } = await keys();
  const rsa = await crypto.subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    true,
    ["sign", "verify"],
  );
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", rsa.publicKey)).toBase64();
  await withBundle(async (bundle) => {
    for (
      const key of [
        priv,
        "",
        "x",
        pub.replace("-----END", "----END"),
        pub.replace("\n", "\n!"),
        spki,
        `-----BEGIN PUBLIC KEY-----\n${spki}\n-----END PUBLIC KEY-----\n`,
      ]
    ) {
      await assert.rejects(verifyBundle(bundle, { key }), (error) => {
        assert.ok(error instanceof DataError && error.code === "evidence_key");
        assert.ok(key === "" || key === "x" || !`${error.message}${error.fix}`.includes(key.slice(30, 60)));
        return true;
      });
    }
  }, { signKey: priv });
});

Deno.test("verifyBundle() tells a folder that cannot be read from a manifest that is none", async () => {
  await inTempDir(async (dir) => {
    await assert.rejects(verifyBundle(`${dir}/none`), InputError);
    await assert.rejects(verifyBundle(dir), InputError);
    const good = { type: "agent_evidence_bundle", version: 1 };
    for (const text of ["", "{", "[]", "{}", JSON.stringify(good), JSON.stringify({ ...good, version: 2 })]) {
      await Deno.writeTextFile(`${dir}/evidence-bundle.json`, text);
      await assert.rejects(verifyBundle(dir), (error) => error instanceof DataError && error.exit === 65, text);
    }
    await Deno.writeFile(`${dir}/evidence-bundle.json`, new Uint8Array([0xff]));
    await assert.rejects(verifyBundle(dir), DataError);
    await Deno.remove(`${dir}/evidence-bundle.json`);
    await Deno.symlink("/etc/hostname", `${dir}/evidence-bundle.json`);
    await assert.rejects(verifyBundle(dir), DataError);
  });
});
