import assert from "node:assert/strict";
import { runPolicy } from "../../src/launch/run_policy.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { withProject } from "./run_project.ts";

/** Variables that change what Deno, Node, V8, the loader or a library does. */
const HOSTILE: Readonly<Record<string, string>> = {
  ALL_PROXY: "http://127.0.0.1:9",
  DENO_CERT: "/nonexistent/ca.pem",
  DENO_NO_PROMPT: "",
  DENO_PERMISSION_BROKER_PATH: "/nonexistent/broker.sock",
  DENO_TLS_CA_STORE: "none",
  DENO_V8_FLAGS: "--allow-natives-syntax",
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  LD_LIBRARY_PATH: "/nonexistent",
  NODE_EXTRA_CA_CERTS: "/nonexistent/ca.pem",
  NODE_OPTIONS: "--require=/nonexistent/hook.js",
  NODE_TLS_REJECT_UNAUTHORIZED: "0",
  OTEL_DENO: "true",
  OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
  TWOKEY_CANARY: "of another run",
  TWOKEY_LOCKED: "0",
  TWOKEY_RUN_ID: "of-another-run",
  SECRET_OF_THE_CALLER: "correct horse battery staple",
};

/** What the two processes may be told: where Deno's cache is, and what the launcher says itself. */
const KNOWN = new Set(["DENO_DIR", "TWOKEY_CANARY", "DENO_NO_UPDATE_CHECK", "NO_COLOR", "TZ", "PWD"]);

const AGENT = `emit({ kind: "slept", ...(await callTool("slow", { delay_ms: 300 })) });\n`;

/** Runs `body` with further variables in this very process, and takes them back. */
async function withVariables(variables: Readonly<Record<string, string>>, body: () => Promise<void>): Promise<void> {
  const before = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  try {
    await body();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
}

/** The environments of this process's children, by command line; as the system sees them. */
async function environmentsOfChildren(): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = await Deno.readTextFile(`/proc/${name}/stat`);
      if (stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] !== String(Deno.pid)) continue;
      const [command, environment] = await Promise.all([
        Deno.readTextFile(`/proc/${name}/cmdline`),
        Deno.readTextFile(`/proc/${name}/environ`),
      ]);
      found.set(command.replaceAll("\0", " "), environment.split("\0").filter((entry) => entry !== ""));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return found;
}

for (const isolation of ["process", "worker", "compartment"]) {
  Deno.test(
    `variables of the caller reach neither host nor agent: ${isolation}`,
    {
      ignore: Deno.build.os !== "linux",
    },
    () =>
      withProject(
        { policy: { tools: ["slow"], isolation }, agent: AGENT },
        ({ dir, stateHome }) =>
          withVariables({ ...HOSTILE, XDG_STATE_HOME: stateHome }, async () => {
            let looked: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
            const { end } = await runPolicy(
              async () => ({ loaded: await loadPolicy(`${dir}/agent.policy.jsonc`), locked: false }),
              { onRecord: ({ type }) => void (type === "tool_call" && (looked ??= environmentsOfChildren())) },
            );
            assert.equal(end.reason, "done");
            const environments = await (looked ?? Promise.reject(new Error("no call was seen")));
            const ours = [...environments].filter(([command]) => /\/main\.[jt]s |process_boot\.js/.test(command));
            assert.equal(ours.length, isolation === "process" ? 2 : 1, [...environments.keys()].join("\n"));
            for (const [command, environment] of ours) {
              for (const entry of environment) {
                assert.ok(KNOWN.has(entry.slice(0, entry.indexOf("="))), `${command} is told ${entry}`);
              }
            }
          }),
      ),
  );
}

Deno.test("variables of the caller change neither what a run does nor what it says", () =>
  withProject({ policy: { tools: ["slow"] }, agent: AGENT }, async ({ run }) => {
    // the launcher itself is a program of the caller's, and refuses to start under another's permission broker
    const { DENO_PERMISSION_BROKER_PATH: _, ...env } = HOSTILE;
    await run(); // the first run of a policy says what it gains
    const runs = [await run(), await run({ env })];
    const [plain, hostile] = runs.map(({ code, stderr, records }) => ({
      code,
      stderr,
      start: records[0]?.flags,
      records: records.map(({ type, tool, reason, status }) => ({ type, tool, reason, status })),
    }));
    assert.equal(plain?.code, 0);
    assert.deepEqual(hostile, plain);
  }));
