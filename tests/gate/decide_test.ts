import assert from "node:assert/strict";
import type { Plan } from "../../src/plan/plan.ts";
import type { Request } from "../../src/authority/requirement.ts";
import { type Decision, makeGate } from "../../src/gate/decide.ts";
import { makePlan, PLACES, request } from "./plan_maker.ts";

function decide(plan: Plan, places: typeof PLACES, asked: Request): Decision {
  return makeGate(plan, places)(asked);
}

const PLAN = makePlan({
  fs: {
    read: [
      { root: "${project}", label: ".", include: ["*.md", ".env.example"], exclude: ["private/"], rule: "/fs/read/0" },
      { root: "${project}/src", label: "src", include: [], exclude: [], rule: "/fs/read/1" },
      { root: "${project}/.git/config", label: ".git/config", include: [], exclude: [], rule: "/fs/read/2" },
    ],
    write: [{ root: "${project}/out", label: "out", rule: "/fs/write/0" }],
    protected: ["${project}/out/kept", "deno.json", ".git", "*.policy.jsonc"],
    secret: ["${project}/.twokey", "${state}", ".env*", "*.pem", ".git/config"],
  },
});

function codeOf(tool: string, kind: Request["requirements"][number]["kind"], target: string): string {
  const decision = decide(PLAN, PLACES, request(tool, kind, target));
  return decision.kind === "deny" ? decision.code : decision.kind;
}

const FILES: readonly (readonly [string, string, string, string])[] = [
  ["an included file", "readFile", "/p/a.md", "allow"],
  ["a file of the inner root", "readFile", "/p/src/a.ts", "allow"],
  ["the root itself, which stands for the collection", "readFile", "/p", "allow"],
  ["a file that no include matches", "readFile", "/p/a.txt", "include_pattern"],
  ["an excluded file", "readFile", "/p/private/a.md", "exclude_pattern"],
  ["a file beside the project with its name as prefix", "readFile", "/p-evil/a.md", "fs_read_path_not_admitted"],
  ["a file outside", "readFile", "/etc/passwd", "fs_read_path_not_admitted"],
  ["a path with ..", "readFile", "/p/../etc/passwd", "fs_read_path_not_admitted"],
  ["a path with //", "readFile", "/p//a.md", "fs_read_path_not_admitted"],
  ["a path with a trailing slash", "readFile", "/p/a.md/", "fs_read_path_not_admitted"],
  ["a relative path", "readFile", "a.md", "fs_read_path_not_admitted"],
  ["a path with a NUL", "readFile", "/p/a\0.md", "fs_read_path_not_admitted"],
  ["a path with a line feed", "readFile", "/p/a\n.md", "fs_read_path_not_admitted"],
  ["an empty target", "readFile", "", "fs_read_path_not_admitted"],
  ["a name that starts with dots", "readFile", "/p/..hidden/a.md", "allow"],
  ["a secret name", "readFile", "/p/src/.env", "secret_name"],
  ["a secret name in other letter case", "readFile", "/p/src/x/Server.PEM", "secret_name"],
  ["a file below a folder with a secret name", "readFile", "/p/src/.env.d/a", "secret_name"],
  ["a secret name that the include names outright", "readFile", "/p/.env.example", "allow"],
  ["a secret file that is a root of its own", "readFile", "/p/.git/config", "allow"],
  ["the runner's state", "readFile", "/p/.twokey/a.md", "secret_name"],
  ["the runner's state in other letter case", "readFile", "/p/.TwoKey/a.md", "secret_name"],
  ["any path, for a tool that reads nothing", "echo", "/p/a.md", "fs_read_path_not_admitted"],
  ["any path, for a tool that only writes", "writeArtifact", "/p/a.md", "fs_read_path_not_admitted"],
];

for (const [name, tool, target, expected] of FILES) {
  Deno.test(`decide() on reading ${name}`, () => {
    assert.equal(codeOf(tool, "filesystem.read", target), expected);
  });
}

const WRITES: readonly (readonly [string, string, string, string])[] = [
  ["below the write root", "writeArtifact", "/p/out/a/b.md", "allow"],
  ["the write root itself", "writeArtifact", "/p/out", "artifact_path_not_admitted"],
  ["outside", "writeArtifact", "/p/src/a", "artifact_path_not_admitted"],
  ["beside, with the root's name as prefix", "writeArtifact", "/p/out2/a", "artifact_path_not_admitted"],
  ["a protected place", "writeArtifact", "/p/out/kept/a", "protected_path"],
  ["a protected place in other letter case", "writeArtifact", "/p/out/KEPT", "protected_path"],
  ["a protected name at depth", "writeArtifact", "/p/out/x/deno.json", "protected_path"],
  ["a protected name in disguise", "writeArtifact", "/p/out/x/.gi\u200ct/hooks", "protected_path"],
  ["another policy", "writeArtifact", "/p/out/evil.policy.jsonc", "protected_path"],
  ["with a tool that only reads", "readFile", "/p/out/a", "artifact_path_not_admitted"],
];

for (const [name, tool, target, expected] of WRITES) {
  Deno.test(`decide() on writing ${name}`, () => {
    assert.equal(codeOf(tool, "filesystem.write", target), expected);
  });
}

const REGISTRY = (await import("../../src/tools/supply_chain/npm_registry.ts")).withRegistry("https://<npm-registry>");

const REQUESTS: readonly (readonly [string, string, string, string])[] = [
  ["the declared endpoint", "osv.query", "POST https://api.osv.dev/v1/query", "allow"],
  ["another method", "osv.query", "GET https://api.osv.dev/v1/query", "endpoint_not_granted"],
  ["a longer path", "osv.query", "POST https://api.osv.dev/v1/query/x", "endpoint_not_granted"],
  ["a trailing slash", "osv.query", "POST https://api.osv.dev/v1/query/", "endpoint_not_granted"],
  ["a query string", "osv.query", "POST https://api.osv.dev/v1/query?x=1", "endpoint_not_granted"],
  ["an empty query string", "osv.query", "POST https://api.osv.dev/v1/query?", "endpoint_not_granted"],
  ["a fragment", "osv.query", "POST https://api.osv.dev/v1/query#x", "endpoint_not_granted"],
  ["plain HTTP", "osv.query", "POST http://api.osv.dev/v1/query", "endpoint_not_granted"],
  ["another port", "osv.query", "POST https://api.osv.dev:444/v1/query", "endpoint_not_granted"],
  ["a host with a trailing dot", "osv.query", "POST https://api.osv.dev./v1/query", "endpoint_not_granted"],
  ["an upper-case host", "osv.query", "POST https://API.osv.dev/v1/query", "endpoint_not_granted"],
  ["credentials", "osv.query", "POST https://u:p@api.osv.dev/v1/query", "endpoint_not_granted"],
  ["a host as credentials", "osv.query", "POST https://api.osv.dev@evil.example/v1/query", "endpoint_not_granted"],
  ["no URL", "osv.query", "POST nothing", "endpoint_not_granted"],
  ["no method", "osv.query", "https://api.osv.dev/v1/query", "endpoint_not_granted"],
  ["another tool's endpoint", "npm.metadata", "POST https://api.osv.dev/v1/query", "endpoint_not_granted"],
  ["a filled-in segment", "npm.metadata", `GET ${REGISTRY}/left-pad`, "allow"],
  ["an encoded scope", "npm.metadata", `GET ${REGISTRY}/@types%2Fnode`, "allow"],
  ["an empty segment", "npm.metadata", `GET ${REGISTRY}/`, "endpoint_not_granted"],
  ["two segments for one", "npm.metadata", `GET ${REGISTRY}/@types/node`, "endpoint_not_granted"],
  ["dots for a segment", "npm.metadata", `GET ${REGISTRY}/..`, "endpoint_not_granted"],
  ["encoded dots for a segment", "npm.metadata", `GET ${REGISTRY}/%2e%2e`, "endpoint_not_granted"],
];

for (const [name, tool, target, expected] of REQUESTS) {
  Deno.test(`decide() on requesting ${name}`, () => {
    assert.equal(codeOf(tool, "network", target), expected);
  });
}

Deno.test("Gate() denies tools that are not granted, by own property only", () => {
  for (const tool of ["slow", "toString", "__proto__", "constructor", ""]) {
    assert.deepEqual(decide(PLAN, PLACES, { tool, requirements: [] }), {
      kind: "deny",
      code: "tool_not_granted",
      rule: null,
      requirement: null,
    });
  }
});

Deno.test("Gate() allows a granted tool that needs nothing, and names the rules", () => {
  assert.deepEqual(decide(PLAN, PLACES, { tool: "echo", requirements: [] }), { kind: "allow", rules: ["/tools/0"] });
  assert.deepEqual(decide(PLAN, PLACES, request("readFile", "filesystem.read", "/p/a.md", "/p/src/b")), {
    kind: "allow",
    rules: ["/tools/1", "/fs/read/0", "/fs/read/1"],
  });
});

Deno.test("Gate() denies where nothing is configured", () => {
  const empty = makePlan();
  const code = (decision: ReturnType<typeof decide>) => decision.kind === "deny" ? decision.code : decision.kind;
  assert.equal(
    code(decide(empty, PLACES, request("readFile", "filesystem.read", "/p/a"))),
    "fs_read_path_not_admitted",
  );
  assert.equal(
    code(decide(empty, PLACES, request("writeArtifact", "filesystem.write", "/p/a"))),
    "artifact_root_not_configured",
  );
});

Deno.test("Gate() denies programs and stores: nothing grants them", () => {
  for (const kind of ["command.execute", "context.load"] as const) {
    assert.equal(decide(PLAN, PLACES, request("echo", kind, "anything")).kind, "deny");
  }
});

Deno.test("Gate() denies a requirement that the resolver refused, with its code or a known one", () => {
  const refused = (refusal: string) => {
    const requirement = { kind: "filesystem.read" as const, target: "/p/a.md", description: "", refusal };
    const decision = decide(PLAN, PLACES, { tool: "readFile", requirements: [requirement] });
    return decision.kind === "deny" ? decision.code : decision.kind;
  };
  assert.equal(refused("symlink_refused"), "symlink_refused");
  assert.equal(refused("no such code"), "fs_read_path_not_admitted");
  assert.equal(refused(""), "fs_read_path_not_admitted");
});

Deno.test("Gate() denies the whole call when one requirement is denied", () => {
  const decision = decide(PLAN, PLACES, request("readFile", "filesystem.read", "/p/a.md", "/etc/passwd"));
  assert.equal(decision.kind, "deny");
  assert.equal(decision.kind === "deny" ? decision.requirement?.target : "", "/etc/passwd");
});

Deno.test("Gate() lets a deny rule beat a grant and an ask rule", () => {
  const plan = makePlan({
    fs: { read: [{ root: "${project}", label: ".", include: [], exclude: [], rule: "/fs/read/0" }] },
    gate: [
      { effect: "ask", kind: "filesystem.read", tools: [], match: "docs/", rule: "/gate/ask/0" },
      { effect: "deny", kind: "filesystem.read", tools: ["readFile"], match: "docs/private", rule: "/gate/deny/0" },
      { effect: "deny", kind: "network", tools: [], match: "<npm-registry>/left-pad", rule: "/gate/deny/1" },
    ],
  });
  const read = (path: string) => decide(plan, PLACES, request("readFile", "filesystem.read", path));
  assert.equal(read("/p/a").kind, "allow");
  const denied = read("/p/docs/private/x");
  assert.deepEqual([denied.kind, denied.kind === "deny" && denied.rule], ["deny", "/gate/deny/0"]);
  const asked = read("/p/docs/x");
  assert.deepEqual([asked.kind, asked.kind === "ask" && asked.rule], ["ask", "/gate/ask/0"]);
  const send = (name: string) =>
    decide(plan, PLACES, request("npm.metadata", "network", `GET ${REGISTRY}/${name}`)).kind;
  assert.deepEqual([send("left-pad"), send("right-pad")], ["deny", "allow"]);
  const both = decide(plan, PLACES, request("readFile", "filesystem.read", "/p/docs/x", "/etc/passwd"));
  assert.equal(both.kind, "deny", "asking never hides a denial");
});

Deno.test("Gate() asks on every call of a tool that needs an approval, after every denial", () => {
  const plan: Plan = {
    ...makePlan({
      fs: { read: [{ root: "${project}", label: ".", include: [], exclude: [], rule: "/fs/read/0" }] },
      gate: [{ effect: "ask", kind: "filesystem.read", tools: [], match: "docs/", rule: "/gate/ask/0" }],
    }),
    approvals: { require: [{ tool: "readFile", rule: "/approvals/require/0" }], maxAgeMs: 1000, waitMs: 1000 },
  };
  const read = (path: string) => decide(plan, PLACES, request("readFile", "filesystem.read", path));
  const rules = ["/tools/1", "/fs/read/0", "/approvals/require/0"];
  assert.deepEqual(read("/p/a"), { kind: "ask", requirements: [], rule: "/approvals/require/0", rules });
  const both = read("/p/docs/a");
  assert.deepEqual(both.kind === "ask" ? [both.requirements.length, both.rules] : both.kind, [1, [
    ...rules,
    "/gate/ask/0",
  ]]);
  assert.equal(read("/etc/passwd").kind, "deny");
  assert.equal(decide(plan, PLACES, request("echo", "filesystem.read")).kind, "allow");
});

Deno.test("Gate() holds a rule against label and path where a root lies outside the project", () => {
  const plan = makePlan({
    fs: { read: [{ root: "/usr/include", label: "include", include: [], exclude: [], rule: "/fs/read/0" }] },
    gate: [{ effect: "deny", kind: "filesystem.read", tools: [], match: "include/sys/", rule: "/gate/deny/0" }],
  });
  const read = (path: string) => decide(plan, PLACES, request("readFile", "filesystem.read", path)).kind;
  assert.deepEqual([read("/usr/include/a.h"), read("/usr/include/sys/a.h")], ["allow", "deny"]);
});

Deno.test("Gate() never throws: what it cannot read it denies", () => {
  const strange: unknown[] = [null, undefined, 1, {}, { tool: "echo" }, { tool: "echo", requirements: [null] }];
  strange.push({ tool: "echo", requirements: [{ kind: "nonsense", target: "x" }] });
  strange.push({ tool: "readFile", requirements: [{ kind: "filesystem.read", target: 7 }] });
  strange.push({
    get tool() {
      throw new Error("no");
    },
  });
  for (const value of strange) assert.equal(decide(PLAN, PLACES, value as Request).kind, "deny");
});

Deno.test("makeGate() reads the places of this machine", () => {
  const other = { ...PLACES, project: "/q" };
  const read = (places: typeof PLACES, path: string) =>
    decide(PLAN, places, request("readFile", "filesystem.read", path)).kind;
  assert.deepEqual([read(PLACES, "/p/a.md"), read(other, "/p/a.md"), read(other, "/q/a.md")], [
    "allow",
    "deny",
    "allow",
  ]);
});

Deno.test("makeGate() decides with 1,000 roots about as fast as with one", () => {
  const gateOf = (count: number) =>
    makeGate(
      makePlan({
        fs: {
          read: Array.from({ length: count }, (_, i) => ({
            root: "${project}/r" + i,
            label: `r${i}`,
            include: [],
            exclude: [],
            rule: `/fs/read/${i}`,
          })),
          secret: [".env*", "*.pem"],
        },
      }),
      PLACES,
    );
  const one = gateOf(1);
  const many = gateOf(1000);
  const call = request("readFile", "filesystem.read", "/p/r0/a/b.md");
  const time = (gate: typeof one): number => {
    const started = performance.now();
    for (let i = 0; i < 20_000; i++) assert.equal(gate(call).kind, "allow");
    return performance.now() - started;
  };
  time(one);
  time(many);
  const rounds = Array.from({ length: 5 }, () => time(many) / time(one)).toSorted((a, b) => a - b);
  assert.ok((rounds[2] ?? 9) < 3.6, `ratio ${rounds[2]}`);
});
