import assert from "node:assert/strict";
import { CANARY_VARIABLE } from "../../src/plan/key1.ts";

const CHILD = new URL("attest_child.ts", import.meta.url).pathname;
const REFUSED = ["read", "write", "connect", "spawn", "ffi", "variable"];

/** What a child is started with. */
interface Child {
  /** Flags beside those that grant `granted` and `out`. */
  readonly flags?: readonly string[];
  /** What the plan is said to grant beside them. */
  readonly also?: { readonly read?: string[]; readonly write?: string[]; readonly env?: string[] };
  readonly ipv4?: { readonly held: boolean; readonly by: string };
}

/** Attests in a child that may read `granted`, read and write `out`, and see the variable `NAMED`. */
async function attestIn({ flags = [], also = {}, ipv4 }: Child): Promise<unknown> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-attest-" }));
  try {
    await Deno.mkdir(`${dir}/private`);
    await Deno.writeTextFile(`${dir}/private/canary`, "private");
    const [granted, out] = [`${dir}/granted`, `${dir}/out`];
    const key1 = {
      read: [granted, out, ...also.read ?? []],
      denyRead: [],
      write: [out, ...also.write ?? []],
      denyWrite: [],
      net: [],
      denyNet: [],
      run: [],
      env: ["NAMED", ...also.env ?? []],
    };
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--no-prompt", "--quiet", "--cached-only", "--ignore-env", "--allow-env=NAMED"],
        ...[`--allow-read=${granted},${out}`, `--allow-write=${out}`, ...flags.map((flag) => flag.replace("$", dir))],
        CHILD,
        JSON.stringify({ key1, canaryPath: `${dir}/private/canary`, ...(ipv4 === undefined ? {} : { ipv4 }) }),
      ],
      env: { [CANARY_VARIABLE]: "visible", NAMED: "named" },
    }).output();
    const text = new TextDecoder().decode(stdout);
    assert.notEqual(text, "", new TextDecoder().decode(stderr));
    return JSON.parse(text);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("attest() says what was granted and that every canary was refused", async () => {
  assert.deepEqual(await attestIn({}), { grants: 4, refused: REFUSED });
});

const HOLES: Readonly<Record<string, readonly string[]>> = {
  attest_variable: [`--allow-env=${CANARY_VARIABLE}`],
  attest_spawn: ["--allow-run=/bin/true"],
  attest_ffi: ["--allow-ffi"],
};

for (const [code, flags] of Object.entries(HOLES)) {
  Deno.test(`attest() finds a permission too many: ${flags.join(" ")}`, async () => {
    assert.deepEqual(await attestIn({ flags }), { code });
  });
}

Deno.test("attest() finds a permission too many: --allow-net, whether something listens or not", async () => {
  // a refused connection is no refusal of Deno's
  assert.deepEqual(await attestIn({ flags: ["--allow-net"] }), { code: "attest_connect" });
});

Deno.test("attest() finds a permission that reaches no further than the canary", async () => {
  assert.deepEqual(await attestIn({ flags: ["--allow-read=$/private"] }), { code: "attest_read" });
  assert.deepEqual(await attestIn({ flags: ["--allow-write=$/private"] }), { code: "attest_write" });
});

for (const also of [{ read: ["/etc"] }, { write: ["/etc"] }, { env: ["HOME"] }]) {
  Deno.test(`attest() finds a grant of the plan that the process does not have: ${Object.keys(also).join()}`, async () => {
    assert.deepEqual(await attestIn({ also }), { code: "attest_grant" });
  });
}

Deno.test("attest() takes the client of the network tools only if it is bound to IPv4", async () => {
  const bound = await attestIn({ ipv4: { held: true, by: "bound" } });
  assert.deepEqual(bound, { grants: 4, refused: REFUSED, ipv4: true });
  assert.deepEqual(await attestIn({ ipv4: { held: true, by: "unreachable" } }), { code: "attest_ipv4" });
  assert.deepEqual(await attestIn({ ipv4: { held: false, by: "reached" } }), { code: "attest_ipv4" });
});
