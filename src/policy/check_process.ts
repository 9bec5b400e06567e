/**
 * The compiler's step for programs: which ones may be started, with what, where, and what their author accepted.
 *
 * @module
 */
import { canonicalHost } from "../authority/host.ts";
import { isInside, nameOf, parentOf, relativeTo, resolvePath } from "../authority/path.ts";
import { codeRunnerFamily } from "../authority/programs.ts";
import { isLoaderVariable, isSecretVariable, isSystemLoaderVariable } from "../authority/variables.ts";
import { stateHome, type UnsafeGrant } from "../plan/plan.ts";
import type { CommandGrammar, PlannedCommand, ProcessPlan, WorkFolder } from "../plan/process_plan.ts";
import { type Check, quote } from "./check.ts";
import { isDate } from "./check_paths.ts";
import { CHUNK_BYTES } from "./process_schema.ts";
import type { Policy } from "./schema.ts";

type ProcessPolicy = NonNullable<Policy["process"]>;
type CommandPolicy = ProcessPolicy["commands"][string];

/** What the step makes. */
export interface PlannedProcess {
  readonly process: ProcessPlan | undefined;
  readonly unsafe: readonly UnsafeGrant[];
  /** Files that no tool may write: the programs. */
  readonly kept: readonly string[];
  /** Real paths of the folders that programs start in. */
  readonly folders: readonly string[];
}

/** Plans the `process` block. */
export function planProcess(check: Check): PlannedProcess {
  const { process } = check.loaded.policy;
  const accepted = new Accepted(check);
  checkUse(check, process);
  if (process === undefined) {
    return { process: undefined, unsafe: accepted.finish(), kept: [], folders: [] };
  }
  const commands = Object.entries(process.commands).flatMap(([name, command]) =>
    planCommand(check, accepted, { name, command })
  );
  const cwd = planFolders(check, process);
  const planned: ProcessPlan = {
    commands: Object.fromEntries(commands.toSorted(([a], [b]) => a < b ? -1 : 1)),
    cwd,
    env: planEnv(check, accepted, process.env ?? {}),
    chunkBytes: process.output?.chunkBytes ?? CHUNK_BYTES.value,
    sandbox: planSandbox(check, accepted, process),
    egress: planEgress(check, process),
  };
  return {
    process: planned,
    unsafe: accepted.finish(),
    kept: Object.keys(process.commands).flatMap((name) => check.facts.paths.get(commandAt(name))?.real ?? []),
    folders: process.cwd.flatMap((_, index) => check.facts.paths.get(`/process/cwd/${index}`)?.real ?? []),
  };
}

/** Grants of folders outside the project that the operator's own words made. */
export function operatorsFolders(check: Check, process: ProcessPlan | undefined): UnsafeGrant[] {
  return (process?.cwd ?? []).filter(({ root, rule }) =>
    !root.startsWith("${project}") && check.loaded.isOperators(rule)
  )
    .map(({ root }) => ({ key: "outside", path: root, reason: "named on the command line", expires: null }));
}

function checkUse(check: Check, process: ProcessPolicy | undefined): void {
  const users = check.granted().filter(({ authority }) => authority.process === true);
  if (process === undefined) {
    for (const { name } of users) {
      const at = `/tools/${(check.loaded.policy.tools ?? []).indexOf(name)}`;
      const message = `Cannot grant ${quote(name)}: the policy has no "process" block for it`;
      const fix = 'Add "process": { "commands": { "git": { "path": "/usr/bin/git", "args": "git" } }, "cwd": ["."] }';
      check.refuse({ at, code: "policy_tool_without_authority", message, fix });
    }
  } else if (users.length === 0) {
    const all = Object.values(check.manifests).filter(({ authority }) => authority.process === true);
    const message = `Cannot grant ${check.name("/process")}: no granted tool starts programs`;
    const fix = check.removeOrGrant("/process", all);
    check.refuse({ at: "/process", code: "policy_unused_authority", message, fix });
  }
}

function commandAt(name: string): string {
  return `/process/commands/${name}/path`;
}

function planCommand(
  check: Check,
  accepted: Accepted,
  { name, command }: { readonly name: string; readonly command: CommandPolicy },
): [string, PlannedCommand][] {
  const at = commandAt(name);
  if (!command.path.includes("/")) {
    const message = `Cannot run ${check.name(at)} ${quote(command.path)}: it is a name, and nothing is looked up`;
    const fix = `Write its real path, such as ${quote(`/usr/bin/${command.path}`)}`;
    check.refuse({ at, code: "policy_program_name", message, fix });
    accepted.leave("interpreter", name);
    return [];
  }
  const fact = check.path(at, command.path);
  if (fact === undefined) {
    accepted.leave("interpreter", name);
    return [];
  }
  const shown = `${check.name(at)} ${quote(command.path)}`;
  const program = check.facts.programs.get(at);
  if (fact.kind !== "file" || program === undefined || program.kind === "other") {
    const what = fact.kind === "missing" ? "it does not exist" : "it is no program that this system can start";
    const fix = "Write the real path of a program";
    check.refuse({ at, code: "policy_program_missing", message: `Cannot run ${shown}: ${what}`, fix });
    accepted.leave("interpreter", name);
    return [];
  }
  if (program.setsUser) {
    const message = `Cannot run ${shown}: it runs as somebody else (set-user-ID)`;
    check.refuse({ at, code: "policy_program_setuid", message, fix: "Name another program" });
  }
  if (command.sha256 !== undefined && command.sha256 !== program.sha256) {
    const message = `Cannot run ${shown}: its SHA-256 is ${program.sha256}, the policy demands another one`;
    check.refuse({ at, code: "policy_program_changed", message, fix: "Find out why, then correct the policy" });
  }
  refuseWritable(check, { at, shown, path: fact.path });
  const family = codeRunnerFamily(fact.path) ?? codeRunnerFamily(name);
  const isAny = command.args === "any";
  if (family !== undefined || isAny) {
    const what = family === undefined
      ? "it takes any argument"
      : `it is one of the programs that run what they are told to (${family})`;
    accepted.need("interpreter", name, { at, message: `Cannot run ${shown}: ${what}` });
  }
  return [[name, {
    path: check.portable(fact.path),
    sha256: command.sha256 ?? null,
    args: planGrammar(check, name, command.args),
    rule: `/process/commands/${name}`,
  }]];
}

/** A program that a tool can replace is any program. */
function refuseWritable(check: Check, { at, shown, path }: { at: string; shown: string; path: string }): void {
  for (const [index] of (check.loaded.policy.fs?.write ?? []).entries()) {
    const rootAt = `/fs/write/${index}/root`;
    const root = check.facts.paths.get(rootAt)?.real;
    if (root === undefined || !(isInside(root, path) || isInside(root, parentOf(path)))) continue;
    const message = `Cannot run ${shown}: it lies below ${check.name(rootAt)}, where tools write`;
    check.refuse({ at, code: "policy_program_writable", message, fix: "Move the program, or the folder for files" });
  }
}

function planGrammar(check: Check, name: string, args: CommandPolicy["args"]): CommandGrammar {
  if (args === undefined) return { kind: "rules", rules: { options: {}, positionals: [], maxPositionals: 0 } };
  if (typeof args === "string") return { kind: args };
  const at = `/process/commands/${name}/args`;
  if ("subcommands" in args) {
    return {
      kind: "subcommands",
      subcommands: Object.fromEntries(
        Object.entries(args.subcommands).map((
          [word, rules],
        ) => [word, planRules(check, `${at}/subcommands/${word}`, rules)]),
      ),
    };
  }
  return { kind: "rules", rules: planRules(check, at, args) };
}

type RulesPolicy = Exclude<NonNullable<CommandPolicy["args"]>, string | { subcommands: unknown }>;

function planRules(check: Check, at: string, { options = {}, positionals = [], maxPositionals }: RulesPolicy) {
  if (maxPositionals !== undefined && positionals.length === 0 && maxPositionals > 0) {
    const message = `Cannot use ${check.name(`${at}/maxPositionals`)}: no kind of argument is listed`;
    check.refuse({ at: `${at}/maxPositionals`, code: "policy_dead_rule", message, fix: 'List them in "positionals"' });
  }
  for (const [name, kind] of Object.entries(options)) {
    if (kind !== "flag" || !name.endsWith("=")) continue;
    const message = `Cannot use the option ${quote(name)}: it is a flag, and a flag takes no value`;
    check.refuse({ at: `${at}/options`, code: "policy_dead_rule", message, fix: "Write it without =" });
  }
  return { options, positionals, maxPositionals: maxPositionals ?? positionals.length };
}

function planFolders(check: Check, { cwd }: ProcessPolicy): WorkFolder[] {
  const folders: WorkFolder[] = [];
  const { project } = check.facts.places;
  for (const [index, text] of cwd.entries()) {
    const at = `/process/cwd/${index}`;
    const fact = check.path(at, text);
    if (fact === undefined || !check.insideOrAccepted(at, fact.path)) continue;
    const shown = `${check.name(at)} ${quote(text)}`;
    if (fact.kind !== "directory") {
      const what = fact.kind === "missing" ? "it does not exist" : "it is not a folder";
      const message = `Cannot start programs in ${shown}: ${what}`;
      check.refuse({ at, code: "policy_root_missing", message, fix: "Name a folder that exists" });
      continue;
    }
    if (isInside(stateHome(check.facts.places), fact.path) || isInside(resolvePath(project, ".twokey"), fact.path)) {
      const message = `Cannot start programs in ${shown}: the runner keeps its state there`;
      check.refuse({ at, code: "policy_protected", message, fix: "Name another folder" });
    }
    const root = check.portable(fact.path);
    if (folders.some((folder) => folder.root === root)) {
      const message = `Cannot use ${shown}: it is listed twice`;
      check.refuse({ at, code: "policy_duplicate_root", message, fix: "Keep one of the two" });
      continue;
    }
    const plain = isInside(project, fact.path) ? relativeTo(project, fact.path) || "." : nameOf(fact.path) || "root";
    let label = plain;
    for (let n = 2; folders.some((folder) => folder.label === label); n++) label = `${plain}~${n}`;
    folders.push({ root, label, rule: at });
  }
  return folders;
}

function planEnv(
  check: Check,
  accepted: Accepted,
  { pass = [], set = {} }: NonNullable<ProcessPolicy["env"]>,
): ProcessPlan["env"] {
  const names = [
    ...pass.map((name, index) => [name, `/process/env/pass/${index}`] as const),
    ...Object.keys(set).map((name) => [name, `/process/env/set/${name}`] as const),
  ];
  const seen = new Set<string>();
  for (const [name, at] of names) {
    const shown = `${check.name(at)} ${quote(name)}`;
    if (seen.has(name)) {
      const message = `Cannot use ${shown}: the variable is named twice`;
      check.refuse({ at, code: "policy_duplicate_variable", message, fix: "Keep one of the two" });
    }
    seen.add(name);
    if (isSystemLoaderVariable(name)) {
      const message = `Cannot use ${shown}: the system's loader obeys it, so Deno never hands it on`;
      check.refuse({ at, code: "policy_loader_variable", message, fix: "Remove it" });
    } else if (isLoaderVariable(name)) {
      const message = `Cannot use ${shown}: programs load or start something because of it`;
      accepted.need("environment", name, { at, message });
    }
  }
  for (const [name, value] of Object.entries(set)) {
    const at = `/process/env/set/${name}`;
    if (isSecretVariable(name)) {
      const message = `Cannot use ${
        check.name(at)
      }: the variable goes by the name of a secret, and its value stands here`;
      check.refuse({ at, code: "policy_secret_value", message, fix: `Put the name into "pass", the value nowhere` });
    }
    if (value.includes("\0") || !value.isWellFormed()) {
      const message = `Cannot use ${check.name(at)}: its value is no text that a program can be given`;
      check.refuse({ at, code: "policy_bad_value", message, fix: "Remove the NUL or the lone surrogate" });
    }
  }
  return {
    pass: [...new Set(pass)].toSorted(),
    set: Object.fromEntries(Object.entries(set).toSorted(([a], [b]) => a < b ? -1 : 1)),
  };
}

function planSandbox(check: Check, accepted: Accepted, { sandbox = "auto", egress }: ProcessPolicy) {
  const at = "/process/sandbox";
  if (sandbox === "off") {
    accepted.need("unconfined", "*", { at, message: "Cannot run programs without confinement: nothing accepts it" });
    if (egress !== undefined) {
      const message = `Cannot use ${check.name("/process/egress")}: without confinement programs reach every host`;
      check.refuse({ at: "/process/egress", code: "policy_dead_rule", message, fix: 'Set "sandbox" to "required"' });
    }
  }
  return sandbox;
}

function planEgress(check: Check, { egress = [] }: ProcessPolicy): string[] {
  const planned = egress.flatMap((text, index) => {
    const at = `/process/egress/${index}`;
    const [, host = "", port = ""] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
    const canonical = canonicalHost(host);
    const number = Number(port);
    if (canonical === null || canonical.kind === "ipv6" || number < 1 || number > 65_535) {
      const message = `Cannot use ${check.name(at)} ${quote(text)}: it is no host:port`;
      const fix = "Write one host, by name or IPv4 address, and a port from 1 to 65535";
      check.refuse({ at, code: "policy_bad_host", message, fix });
      return [];
    }
    return [`${canonical.host}:${number}`];
  });
  return [...new Set(planned)].toSorted();
}

type AcceptedKey = "interpreter" | "environment" | "unconfined";

/** The risks about programs that the author accepts, and which of them were needed. */
class Accepted {
  readonly #check: Check;
  readonly #entries: readonly {
    readonly key: AcceptedKey;
    readonly name: string;
    readonly at: string;
    readonly reason: string;
    readonly expires: string;
  }[];
  readonly #used = new Set<string>();
  readonly #operators: UnsafeGrant[] = [];

  constructor(check: Check) {
    this.#check = check;
    const { interpreter = [], environment = [], unconfined } = check.loaded.policy.unsafe ?? {};
    this.#entries = [
      ...interpreter.map(({ command, reason, expires }, index) => ({
        key: "interpreter" as const,
        name: command,
        at: `/unsafe/interpreter/${index}`,
        reason,
        expires,
      })),
      ...environment.map(({ name, reason, expires }, index) => ({
        key: "environment" as const,
        name,
        at: `/unsafe/environment/${index}`,
        reason,
        expires,
      })),
      ...(unconfined === undefined ? [] : [{
        key: "unconfined" as const,
        name: "*",
        at: "/unsafe/unconfined",
        ...unconfined,
      }]),
    ];
  }

  /** Refuses unless the author, or the operator's own word, accepts it. */
  need(key: AcceptedKey, name: string, { at, message }: { readonly at: string; readonly message: string }): void {
    const entry = this.#entries.find((one) => one.key === key && one.name === name);
    if (entry !== undefined) {
      this.#used.add(entry.at);
    } else if (this.#check.loaded.isOperators(at)) {
      this.#operators.push({ key, path: name, reason: "named on the command line", expires: null });
    } else {
      this.#check.refuse({ at, code: "policy_unsafe_needed", message, fix: `Add to "unsafe": ${EXAMPLES[key](name)}` });
    }
  }

  /** Leaves an entry as it stands: what it is for was refused before anyone could say whether it is needed. */
  leave(key: AcceptedKey, name: string): void {
    for (const one of this.#entries) if (one.key === key && one.name === name) this.#used.add(one.at);
  }

  /** Every accepted risk; refuses entries that expired or that nothing needs. */
  finish(): UnsafeGrant[] {
    const check = this.#check;
    for (const { at, expires } of this.#entries) {
      if (!isDate(expires)) {
        const message = `Cannot use ${check.name(`${at}/expires`)}: ${quote(expires)} is no day of the calendar`;
        check.refuse({ at: `${at}/expires`, code: "policy_bad_date", message, fix: "Write YYYY-MM-DD" });
      } else if (expires < check.facts.today) {
        const message = `Cannot use ${check.name(at)}: it expired on ${expires}`;
        const fix = "Review it again: move the date, or remove the entry and what needs it";
        check.refuse({ at: `${at}/expires`, code: "policy_unsafe_expired", message, fix });
      }
      if (!this.#used.has(at)) {
        const message = `Cannot use ${check.name(at)}: nothing in the policy needs it`;
        check.refuse({ at, code: "policy_unsafe_unused", message, fix: "Remove the entry" });
      }
    }
    const own = this.#entries.map(({ key, name, reason, expires }): UnsafeGrant => ({
      key,
      path: name,
      reason,
      expires,
    }));
    return [...own, ...this.#operators];
  }
}

const EXAMPLES: Readonly<Record<AcceptedKey, (name: string) => string>> = {
  interpreter: (name) => `{ "interpreter": [{ "command": ${quote(name)}, "reason": "…", "expires": "YYYY-MM-DD" }] }`,
  environment: (name) => `{ "environment": [{ "name": ${quote(name)}, "reason": "…", "expires": "YYYY-MM-DD" }] }`,
  unconfined: () => '{ "unconfined": { "reason": "…", "expires": "YYYY-MM-DD" } }',
};
