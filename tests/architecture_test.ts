/** The rules of the house that a compiler does not know: who may import whom, who may touch the world, what has a test. */
import assert from "node:assert/strict";
import { withRegistry } from "../src/tools/supply_chain/npm_registry.ts";

const ROOT = new URL("../", import.meta.url).pathname;

/** Folder, or file right below `src`, to the folders that its modules may import beside themselves. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  bytes: [],
  errors: [],
  json: ["errors"],
  authority: ["errors", "json"],
  tool: ["errors", "json", "authority"],
  tools: ["errors", "json", "authority", "tool"],
  plan: ["errors", "json", "authority", "tool"],
  membrane: ["errors", "json"],
  gate: ["errors", "json", "authority", "plan", "tool"],
  audit: ["errors", "json", "authority", "tool"],
  policy: ["errors", "json", "authority", "plan", "tool", "gate"],
  isolate: ["errors", "json", "membrane"],
  egress: ["authority"],
  host: ["errors", "json", "authority", "plan", "tool", "tools", "gate", "membrane", "audit", "isolate"],
  launch: ["errors", "json", "authority", "plan", "tool", "policy", "audit", "gate"],
  replay: ["errors", "json", "authority", "plan", "gate", "audit", "tool"],
  report: ["errors", "json", "authority", "plan", "gate", "audit", "tool", "policy", "replay"],
  evidence: ["errors", "json", "authority", "audit", "replay", "report"],
  doctor: ["errors", "json", "authority", "plan", "tool", "policy", "audit", "launch", "gate"],
  cli: [
    "errors",
    "json",
    "authority",
    "plan",
    "tool",
    "policy",
    "audit",
    "gate",
    "launch",
    "replay",
    "report",
    "evidence",
    "doctor",
  ],
};

/** Files that anybody above may import although their folder is closed, and why. */
const OPEN_FILES: Readonly<Record<string, string>> = {
  "src/bytes.ts": "one function over bytes, which knows nothing else",
  "src/tools/supply_chain/npm_registry.ts": "one constant: the only place that knows the registry's host",
  "src/tools/manifests.json": "data made from the tools; whoever reads it need not load one",
};

/** Single edges beside the table, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "src/report/doctor.ts -> src/doctor/": "prints the findings of that folder; their types and words live there",
};

/** Every library, and where it may be loaded from. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  "@cfworker/json-schema": ["host"],
  "@humanwhocodes/momoa": ["policy", "cli"],
  "@noble/hashes/sha2.js": ["audit", "json"],
  "@stricli/core": ["cli"],
  "@valibot/to-json-schema": ["policy", "tool"],
  acorn: ["launch"],
  canonicalize: ["json"],
  ignore: ["host"],
  "js-yaml": ["policy"],
  re2js: ["plan", "tools"],
  ses: ["isolate"],
  valibot: ["host", "plan", "policy", "tool", "tools"],
};

/** Libraries that a launcher may have loaded when an agent starts. */
const LAUNCHER_LIBRARIES = [
  "@humanwhocodes/momoa",
  "@noble/hashes/sha2.js",
  "@stricli/core",
  "canonicalize",
  "valibot",
];

/** Folders whose files may name `Deno`; of every other folder, the files. */
const MAY_NAME_DENO: readonly string[] = [
  "src/cli/",
  "src/doctor/",
  "src/egress/main.ts",
  "src/evidence/",
  "src/host/",
  "src/launch/",
  "src/isolate/",
  "src/audit/lines.ts",
  "src/audit/writer.ts",
  "src/authority/deno_dir.ts",
  "src/policy/",
  "src/replay/history.ts",
];

/** Files of open folders that act through what they are handed, so that a test can hand them something else. */
const MUST_NOT_NAME_DENO: readonly string[] = [
  "src/host/agent_state.ts",
  "src/host/call.ts",
  "src/host/deadlines.ts",
  "src/host/event_check.ts",
  "src/host/expected_events.ts",
  "src/host/endpoint_url.ts",
  "src/host/frame.ts",
  "src/host/powers.ts",
  "src/host/records.ts",
  "src/host/retry.ts",
  "src/host/session.ts",
  "src/host/tasks.ts",
  "src/isolate/guest.js",
  "src/isolate/ses_wrap.ts",
  "src/launch/relay.ts",
  "src/launch/verdict.ts",
  "src/policy/check.ts",
  "src/policy/compile.ts",
  "src/policy/jsonc.ts",
  "src/policy/schema.ts",
];

/** The files that are started as a process. */
const MAINS: readonly string[] = [
  "src/cli/main.ts",
  "src/egress/main.ts",
  "src/host/main.ts",
  "src/isolate/process_boot.js",
  "src/doctor/raw_agent.js",
  "src/doctor/raw_host.js",
];

/** A test that covers more than the file of its own name, and what it covers. */
const COVERED_BY: Readonly<Record<string, readonly string[]>> = {
  "tests/doctor/probe_test.ts": [
    "src/doctor/probe_agent.js",
    "src/doctor/raw_acts.js",
    "src/doctor/raw_agent.js",
    "src/doctor/raw_host.js",
  ],
  "tests/contract_test.ts": [
    "src/tool/define.ts",
    "src/tool/manifest.ts",
    "src/tools/registry.ts",
    "src/tools/harness/echo.ts",
    "src/tools/harness/fail.ts",
    "src/tools/harness/slow.ts",
    "src/tools/ask/ask_user.ts",
    "src/tools/skill/skill.ts",
    "src/tools/fs/max_path_units.ts",
    "src/host/powers.ts",
    "src/host/main.ts",
    "src/tools/workspace/agent_path.ts",
    "src/tools/workspace/glob.ts",
    "src/tools/workspace/grep.ts",
    "src/tools/workspace/read_file.ts",
    "src/tools/workspace/skipped.ts",
  ],
  "tests/host/workspace/workspace_test.ts": [
    "src/host/workspace/decode.ts",
    "src/host/workspace/find_files.ts",
    "src/host/workspace/pace.ts",
    "src/host/workspace/read_lines.ts",
    "src/host/workspace/search_files.ts",
    "src/host/workspace/walk.ts",
  ],
  "tests/isolate/globals_test.ts": [
    "src/host/agent_state.ts",
    "src/host/session.ts",
    "src/isolate/compartment.ts",
    "src/isolate/hardened.js",
    "src/isolate/process.ts",
    "src/isolate/process_boot.js",
    "src/isolate/worker.ts",
    "src/isolate/worker_boot.js",
  ],
  "tests/launch/endings_test.ts": [
    "src/launch/look.ts",
    "src/launch/platform.ts",
    "src/host/pipes.ts",
    "src/launch/host_start.ts",
    "src/launch/channels.ts",
    "src/launch/death.ts",
    "src/launch/execute.ts",
    "src/launch/launch.ts",
    "src/launch/prepare.ts",
    "src/launch/relay.ts",
    "src/launch/run_policy.ts",
    "src/launch/spawn.ts",
    "src/launch/supervise.ts",
    "src/launch/sweep.ts",
    "src/launch/usage.ts",
    "src/cli/run.ts",
    "src/cli/main.ts",
    "src/cli/app.ts",
    "src/cli/default_policy.ts",
    "src/cli/run_app.ts",
    "src/cli/run_words.ts",
  ],
  "tests/launch/prebuilt_test.ts": ["src/launch/prebuild.ts", "src/cli/policy_app.ts"],
  "tests/cli/policy_test.ts": ["src/cli/policy_checks.ts", "src/launch/compile_policy.ts"],
  "tests/policy/check_controls_test.ts": ["src/policy/event_schema_fact.ts"],
  "tests/e2e/controls_test.ts": ["src/host/expected_events.ts", "src/host/state_use.ts"],
  "tests/policy/from_flags_test.ts": ["src/policy/merge.ts"],
  "tests/cli/reset_test.ts": ["src/launch/reset_session.ts"],
  "tests/host/rerun_test.ts": ["src/host/recorder.ts"],
  "tests/host/call_test.ts": ["src/host/ended.ts", "src/host/lazy_abort.ts"],
  "tests/e2e/rerun_test.ts": [
    "src/cli/rerun.ts",
    "src/host/open_rerun.ts",
    "src/host/order.ts",
    "src/host/recorded_call.ts",
  ],
  "tests/replay/recording_test.ts": ["src/replay/rerun_report.ts"],
  "tests/cli/replay_test.ts": ["src/cli/run_log.ts"],
  "tests/membrane/copy_test.ts": ["src/json.ts"],
  "tests/launch/esbuild_service_test.ts": ["src/launch/esbuild_packet.ts"],
  "tests/launch/bundle_test.ts": [
    "src/launch/agent_bundle.ts",
    "src/launch/bundle_cache.ts",
    "src/launch/bundle_error.ts",
  ],
  "tests/launch/package_resolver_test.ts": ["src/launch/import_refusal.ts", "src/launch/package_folder.ts"],
  "tests/evidence/make_bundle_test.ts": ["src/evidence/documents.ts", "src/evidence/redact_log.ts"],
  "tests/evidence/verify_bundle_test.ts": [
    "src/evidence/derived.ts",
    "src/evidence/file_digest.ts",
    "src/evidence/manifest.ts",
    "src/evidence/signature.ts",
  ],
  "tests/cli/bundle_test.ts": ["src/cli/bundle_source.ts", "src/cli/bundle_verify.ts"],
  "tests/host/workspace/changes_test.ts": [
    "src/host/temp_files.ts",
    "src/host/written_bytes.ts",
    "src/host/workspace/folder_lock.ts",
    "src/host/workspace/publish.ts",
  ],
  "tests/e2e/workspace_edit_test.ts": ["src/tools/workspace/edit_file.ts", "src/tools/workspace/write_file.ts"],
  "tests/tools/workspace/apply_edits_test.ts": ["src/tools/workspace/sha256_hex.ts"],
  "tests/host/source_test.ts": ["src/host/source_walk.ts"],
  "tests/gate/command_grammar_test.ts": [
    "src/gate/argument_parser.ts",
    "src/gate/argument_values.ts",
    "src/gate/git_grammar.ts",
    "src/gate/rg_grammar.ts",
  ],
  "tests/gate/commands_test.ts": ["src/gate/program_env.ts"],
  "tests/e2e/process_test.ts": ["src/host/programs.ts", "src/tools/process/process.ts"],
  "tests/e2e/confined_test.ts": ["src/launch/confinement.ts", "src/launch/program_starts.ts"],
  "tests/launch/child_groups_test.ts": ["src/launch/process_facts.ts"],
  "tests/launch/egress_test.ts": ["src/egress/main.ts"],
  "tests/replay/replay_test.ts": ["src/replay/tool_row.ts"],
  "tests/report/approval_test.ts": ["src/report/break_line.ts"],
  "tests/policy/schema_test.ts": ["src/policy/network_schema.ts", "src/policy/schema_values.ts"],
  "tests/policy/check_process_test.ts": ["src/policy/process_schema.ts", "src/policy/program_fact.ts"],
  "tests/plan/compare_programs_test.ts": ["src/plan/program_setup.ts", "src/report/programs.ts"],
  "tests/gate/decide_test.ts": [
    "src/gate/endpoints.ts",
    "src/gate/files.ts",
    "src/gate/rules.ts",
    "src/gate/verdict.ts",
  ],
  "tests/policy/compile_test.ts": [
    "src/policy/check.ts",
    "src/policy/check_paths.ts",
    "src/policy/check_rules.ts",
    "src/policy/check_tools.ts",
    "src/policy/compile_loaded.ts",
  ],
  "tests/policy/check_skills_test.ts": [
    "src/report/explain_skills.ts",
    "src/policy/skills_schema.ts",
    "src/authority/skill_name.ts",
  ],
  "tests/policy/load_test.ts": ["src/policy/jsonc.ts", "src/policy/policy_error.ts", "src/policy/real_path.ts"],
  "tests/plan/flags_test.ts": [
    "src/plan/key1.ts",
    "src/plan/permission_set.ts",
    "src/plan/budgets.ts",
    "src/plan/plan.ts",
  ],
  "tests/plan/fixtures_test.ts": ["src/plan/raw_reply.ts", "src/tools/supply_chain/npm_registry.ts"],
  "tests/escape/key_table_test.ts": ["src/host/attest.ts"],
  "tests/host/network_test.ts": ["src/host/send_scope.ts"],
  "tests/host/models_test.ts": ["src/authority/model_providers.ts", "src/host/model_exchange.ts"],
  "tests/host/openai_responses_test.ts": ["src/host/model_provider.ts"],
  "tests/e2e/models_test.ts": ["src/host/model_records.ts", "src/tools/model/call.ts"],
  "tests/policy/check_model_test.ts": [
    "src/plan/model_plan.ts",
    "src/policy/model_flags.ts",
    "src/policy/model_schema.ts",
  ],
  "tests/tools/task/task_schema_test.ts": [
    "src/tools/task/task_create.ts",
    "src/tools/task/task_get.ts",
    "src/tools/task/task_list.ts",
    "src/tools/task/task_update.ts",
  ],
  "tests/tools/github/reader_test.ts": [
    "src/tools/github/check_runs_list.ts",
    "src/tools/github/commit_read.ts",
    "src/tools/github/compare_read.ts",
    "src/tools/github/issue_read.ts",
    "src/tools/github/pr_files_list.ts",
    "src/tools/github/pr_read.ts",
    "src/tools/github/release_latest_read.ts",
    "src/tools/github/repo_read.ts",
    "src/tools/github/workflow_jobs_list.ts",
    "src/tools/github/workflow_run_read.ts",
  ],
  "tests/cli/call_test.ts": ["src/cli/io.ts", "src/cli/policy_flags.ts", "src/launch/call_tool.ts"],
  "tests/cli/first_sight_test.ts": ["src/cli/confirm.ts"],
  "tests/e2e/approvals_test.ts": ["src/cli/approval.ts", "src/cli/approvals_of.ts"],
  "tests/launch/open_approvals_test.ts": ["src/launch/out_of_reach.ts"],
  "tests/cli/policy_edit_test.ts": ["src/cli/policy_edit_routes.ts", "src/policy/policy_edits.ts"],
  "tests/plan/compare_test.ts": [
    "src/plan/compare_model.ts",
    "src/plan/compare_values.ts",
    "src/plan/change.ts",
    "src/plan/compare_paths.ts",
  ],
};

/** Files that hold nothing which runs. */
const TYPES_ONLY: readonly string[] = [
  "src/audit/record.ts",
  "src/authority/requirement.ts",
  "src/cli/command.ts",
  "src/errors.ts",
  "src/host/approval.ts",
  "src/host/context.ts",
  "src/isolate/isolate.ts",
  "src/launch/launch_options.ts",
  "src/plan/process_plan.ts",
  "src/tool/context_powers.ts",
  "src/tool/powers.ts",
];

interface Source {
  /** Path from the project's root. */
  readonly path: string;
  readonly text: string;
}

interface Import {
  readonly from: string;
  /** Path from the project's root, or the name of a library. */
  readonly to: string;
  readonly isStatic: boolean;
}

async function filesBelow(folder: string, isWanted: (path: string) => boolean): Promise<Source[]> {
  const found: Source[] = [];
  for await (const entry of Deno.readDir(`${ROOT}${folder}`)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory && !entry.name.startsWith(".")) found.push(...await filesBelow(path, isWanted));
    else if (entry.isFile && isWanted(path)) found.push({ path, text: await Deno.readTextFile(`${ROOT}${path}`) });
  }
  return found.toSorted((a, b) => a.path < b.path ? -1 : 1);
}

const isCode = (path: string): boolean => /\.(?:ts|js)$/.test(path);

/** Blanks comments, so that a rule does not fire on prose. A `//` inside a string is kept: it follows a colon or a quote. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|[^:"'`\\])\/\/[^\n]*/g, "$1");
}

const STATIC_IMPORT = /^(?:import|export)\s(?:[\w\s{},*$]*?\bfrom\s+)?"([^"]+)"/gm;
const DYNAMIC_IMPORT = /\bimport\(\s*"([^"]+)"/g;

function importsOf({ path, text }: Source): Import[] {
  const code = withoutComments(text);
  const folder = path.slice(0, path.lastIndexOf("/"));
  const read = (pattern: RegExp, isStatic: boolean) =>
    [...code.matchAll(pattern)].filter(([whole]) => !/^(?:import|export) type\b/.test(whole)).map(([, name = ""]) => ({
      from: path,
      to: name.startsWith(".") ? new URL(name, `file:///${folder}/`).pathname.slice(1) : name,
      isStatic,
    }));
  return [...read(STATIC_IMPORT, true), ...read(DYNAMIC_IMPORT, false)];
}

/** Blanks template literals: some hold the text of another program. */
function withoutTemplates(code: string): string {
  return code.replace(/`(?:[^`\\]|\\.)*`/g, "``");
}

/** The part of `src` that a path belongs to: its folder, or its own name right below `src`. */
function partOf(path: string): string {
  return (path.split("/")[1] ?? "").replace(/\.(?:ts|js|json)$/, "");
}

/** Says what is wrong with an import; `undefined` if nothing is. */
function importFault({ from, to }: Import): string | undefined {
  const own = partOf(from);
  if (!to.startsWith("src/")) {
    if (to === "deno.json" || to.startsWith("node:")) return undefined;
    return LIBRARIES[to]?.includes(own) ? undefined : `${from} loads the library ${to}`;
  }
  if (to in OPEN_FILES) return undefined;
  const part = partOf(to);
  if (own === "tools" && part === "tools") {
    const isRegistry = from === "src/tools/registry.ts";
    const folder = from.slice(0, from.lastIndexOf("/"));
    return isRegistry || to.startsWith(`${folder}/`) ? undefined : `${from} imports the other family's ${to}`;
  }
  if (part === own) return undefined;
  if (MAY_IMPORT[own]?.includes(part)) return undefined;
  const isException = Object.keys(EXCEPTIONS).some((edge) => `${from} -> ${to}`.startsWith(edge));
  return isException ? undefined : `${from} imports ${to}`;
}

const SOURCES = await filesBelow("src", isCode);
const TESTS = await filesBelow("tests", isCode);

Deno.test("imports go one way", () => {
  const faults = SOURCES.flatMap(importsOf).flatMap((one) => importFault(one) ?? []);
  assert.deepEqual(faults, []);
  const parts = new Set(SOURCES.map(({ path }) => partOf(path)));
  assert.deepEqual([...parts].toSorted(), Object.keys(MAY_IMPORT).toSorted());
});

Deno.test("the guard of imports finds what is wrong", () => {
  const fault = (path: string, text: string) => importsOf({ path, text }).flatMap((one) => importFault(one) ?? []);
  assert.deepEqual(fault("src/launch/x.ts", 'import { main } from "../host/main.ts";'), [
    "src/launch/x.ts imports src/host/main.ts",
  ]);
  assert.deepEqual(fault("src/launch/x.ts", 'const m = await import("../host/main.ts");').length, 1);
  assert.deepEqual(fault("src/launch/x.ts", 'import {\n  a,\n  b,\n} from "../tools/fs/read_file.ts";').length, 1);
  assert.deepEqual(fault("src/gate/x.ts", 'export * from "../host/call.ts";').length, 1);
  assert.deepEqual(fault("src/gate/x.ts", 'import "../host/call.ts";').length, 1);
  assert.deepEqual(fault("src/tools/fs/x.ts", 'import { y } from "../harness/echo.ts";').length, 1);
  assert.deepEqual(fault("src/gate/x.ts", 'import pino from "pino";').length, 1);
  assert.deepEqual(
    fault("src/gate/x.ts", '// import { a } from "../host/call.ts";\n/* import "../host/main.ts"; */'),
    [],
  );
  assert.deepEqual(fault("src/host/x.ts", 'import type { A } from "../launch/launch.ts";'), []);
  assert.deepEqual(
    fault("src/launch/x.ts", 'import { withRegistry } from "../tools/supply_chain/npm_registry.ts";'),
    [],
  );
});

Deno.test("the launcher loads no tool, no part of the host, no node module and few libraries", () => {
  const byPath = new Map(SOURCES.map((source) => [source.path, source]));
  for (const start of ["main", "app", "policy_app", "run_app", "run", "call"].map((name) => `src/cli/${name}.ts`)) {
    const seen = new Set<string>([start]);
    const libraries = new Set<string>();
    for (const path of seen) {
      const source = byPath.get(path);
      if (source === undefined) continue;
      for (const { to, isStatic } of importsOf(source)) {
        if (!isStatic) continue;
        if (/^(?:src|deno\.json)/.test(to)) seen.add(to);
        else libraries.add(to);
      }
    }
    const wrong = [...seen].filter((path) => /^src\/(?:host|isolate|tools)\//.test(path) && !(path in OPEN_FILES));
    assert.deepEqual(wrong, [], start);
    assert.deepEqual([...libraries].filter((name) => !LAUNCHER_LIBRARIES.includes(name)), [], start);
  }
});

Deno.test("only listed files name Deno, only mains end the process, nobody but the agent has a console", () => {
  for (const { path, text } of SOURCES) {
    const code = withoutComments(text);
    if (/\bDeno\b/.test(withoutTemplates(code).replaceAll(/"[^"\n]*"/g, ""))) {
      const isOpen = MAY_NAME_DENO.some((place) => path.startsWith(place)) && !MUST_NOT_NAME_DENO.includes(path);
      assert.ok(isOpen, `${path} names Deno`);
    }
    if (/\bDeno\.exit\b|\bexit\b[^;\n]*} = Deno/.test(code)) {
      assert.ok(MAINS.includes(path), `${path} ends the process`);
    }
    if (path !== "src/isolate/guest.js") assert.doesNotMatch(code, /\bconsole\.\w/, path);
  }
});

Deno.test("there are no barrels, no drawers and no state of modules", () => {
  for (const { path, text } of SOURCES) {
    const code = withoutTemplates(withoutComments(text));
    assert.doesNotMatch(code, /^export (?:\*|\{[^}]*\}) from/m, `${path} re-exports`);
    assert.doesNotMatch(path, /\/(?:index|mod|utils?|types|helpers|common)\.(?:ts|js)$/);
    assert.match(path, /^[a-z0-9_/]+\.(?:ts|js)$/);
    const isOwnRealm = ["src/isolate/process_boot.js", "src/isolate/worker_boot.js"].includes(path);
    if (!isOwnRealm) assert.doesNotMatch(code, /^(?:export )?(?:let|var) /m, `${path} has a module-level variable`);
  }
});

Deno.test("a long file says why", () => {
  for (const { path, text } of SOURCES) {
    if (text.split("\n").length <= 401) continue;
    const [doc = ""] = /\/\*\*[\s\S]*?\*\//.exec(text) ?? [];
    assert.match(doc, /Long on purpose/, `${path} is over 400 lines and does not say why`);
  }
});

Deno.test("every source file has a test", () => {
  const tests = new Set(TESTS.map(({ path }) => path));
  for (const test of Object.keys(COVERED_BY)) assert.ok(tests.has(test), `${test} is not there`);
  const covered = new Set([...Object.values(COVERED_BY).flat(), ...TYPES_ONLY]);
  const paths = new Set(SOURCES.map(({ path }) => path));
  for (const path of covered) assert.ok(paths.has(path), `${path} is listed and not there`);
  const missing = SOURCES.map(({ path }) => path).filter((path) =>
    !covered.has(path) && !tests.has(path.replace(/^src\//, "tests/").replace(/\.(?:ts|js)$/, "_test.ts"))
  );
  assert.deepEqual(missing, []);
});

Deno.test("every tool file is registered", () => {
  const registry = SOURCES.find(({ path }) => path === "src/tools/registry.ts")?.text ?? "";
  for (const { path, text } of SOURCES) {
    if (!path.startsWith("src/tools/") || !text.includes("defineTool({")) continue;
    assert.ok(registry.includes(`./${path.slice("src/tools/".length)}`), `${path} is not registered`);
  }
});

Deno.test("test names are unique", () => {
  const names = TESTS.flatMap(({ text }) =>
    [...text.matchAll(/^Deno\.test\(\s*(?:\{\s*name:\s*)?"((?:[^"\\]|\\.)*)"/gm)].map(([, name]) => name)
  );
  assert.ok(names.length > 100, String(names.length));
  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
});

Deno.test("the registry's host stands in one file", async () => {
  const host = withRegistry("<npm-registry>");
  const all = [
    ...SOURCES,
    ...TESTS,
    ...await filesBelow("fixtures", () => true),
    ...await filesBelow("policies", () => true),
  ];
  const holders = all.filter(({ text }) => text.includes(host)).map(({ path }) => path);
  assert.deepEqual(holders, ["src/tools/supply_chain/npm_registry.ts"]);
});
