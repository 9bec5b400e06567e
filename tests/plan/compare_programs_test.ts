import assert from "node:assert/strict";
import { comparePlans, covers } from "../../src/plan/compare.ts";
import type { Plan } from "../../src/plan/plan.ts";
import type { ProcessPlan } from "../../src/plan/process_plan.ts";
import { startedBy } from "../../src/plan/program_setup.ts";
import { hostFlags } from "../../src/plan/flags.ts";
import { grammarText, sandboxText } from "../../src/report/programs.ts";
import { makeRun } from "../host/run_context.ts";

const PROCESS: ProcessPlan = {
  commands: { git: { path: "/usr/bin/git", sha256: null, args: { kind: "git" }, rule: "/process/commands/git" } },
  cwd: [{ root: "${project}", label: ".", rule: "/process/cwd/0" }],
  env: { pass: [], set: {} },
  chunkBytes: 1024,
  sandbox: "required",
  egress: [],
};
const { plan, places } = makeRun("/project");
const planOf = (own: Partial<ProcessPlan> = {}): Plan => ({ ...plan, process: { ...PROCESS, ...own } });

Deno.test("compareProcess() tells every gain of programs", () => {
  const base = planOf();
  assert.ok(covers(base, base) && covers(base, plan) && !covers(plan, base));
  const gains: Readonly<Record<string, Partial<ProcessPlan>>> = {
    program: {
      commands: { ...PROCESS.commands, cat: { path: "/bin/cat", sha256: null, args: { kind: "any" }, rule: "" } },
    },
    program_folder: { cwd: [...PROCESS.cwd, { root: "${project}/x", label: "x", rule: "" }] },
    program_variable: { env: { pass: ["A"], set: {} } },
    egress: { egress: ["a.test:443"] },
    sandbox: { sandbox: "auto" },
  };
  for (const [subject, own] of Object.entries(gains)) {
    const changes = comparePlans(base, planOf(own));
    assert.deepEqual(changes.map(({ kind, subject }) => [kind, subject]), [["gained", subject]]);
    assert.ok(!covers(base, planOf(own)), subject);
    assert.ok(covers(planOf(own), base), subject);
  }
  const wider = planOf({ commands: { git: { ...PROCESS.commands.git, args: { kind: "any" } } as never } });
  assert.ok(!covers(base, wider));
});

Deno.test("hostFlags() name the programs, or what is started in their place", () => {
  const flag = (run?: readonly string[]) =>
    hostFlags(planOf(), places, run === undefined ? {} : { run }).find((one) => one.startsWith("--allow-run"));
  assert.equal(flag(), "--allow-run=/usr/bin/git");
  const identity = { dev: 1, ino: 1, size: 1, mtimeMs: 1 };
  const start = { run: "/w/git", runWithEnv: "/w/git~env", ownSession: true, path: "/usr/bin/git", identity };
  const setup = { programs: { git: start }, passed: {}, folders: [], confined: true, namespaced: true };
  assert.equal(flag(startedBy(setup)), "--allow-run=/w/git,/w/git~env");
  assert.ok(!hostFlags(plan, places).some((one) => one.startsWith("--allow-run")));
});

Deno.test("sandboxText() and grammarText() promise no more than the plan does", () => {
  assert.match(sandboxText(PROCESS), /^confined, or the run does not start.*no network/);
  assert.match(sandboxText({ ...PROCESS, sandbox: "auto" }), /where this machine can/);
  assert.match(sandboxText({ ...PROCESS, sandbox: "off" }), /bounded by neither key/);
  assert.match(sandboxText({ ...PROCESS, egress: ["a.test:443"] }), /network to a\.test:443 alone/);
  assert.equal(grammarText({ kind: "any" }), "any arguments");
  const rules = { options: { "-l": "flag" as const }, positionals: ["path" as const], maxPositionals: 2 };
  assert.equal(grammarText({ kind: "rules", rules }), "-l, up to 2 of path");
  assert.equal(
    grammarText({ kind: "subcommands", subcommands: { x: { options: {}, positionals: [], maxPositionals: 0 } } }),
    "x with no options, nothing else",
  );
});
