/**
 * A plan in words, for somebody who did not write the policy.
 *
 * @module
 */
import { expectedText } from "./expectation.ts";
import { readsFiles, writesFiles } from "../authority/file_access.ts";
import { describeKeys, KEY_TABLE, maybeKeyRow } from "../authority/keys.ts";
import type { Position } from "../errors.ts";
import { type JsonObject, pointerPart } from "../json.ts";
import { approvalTerms, mayAsk } from "../plan/approval_terms.ts";
import { BUDGETS } from "../plan/budgets.ts";
import { isPlace } from "../plan/key1.ts";
import { ANY_MODEL, MODEL_LIMITS } from "../plan/model_plan.ts";
import { askedEndpoints, editsFiles, packagePlace, type Plan, type PlannedTool } from "../plan/plan.ts";
import { escapeText } from "./escape.ts";
import { explainSkills } from "./explain_skills.ts";
import { grammarText, sandboxText } from "./programs.ts";
import { span } from "./units.ts";

/** Where a value of the policy stands; from the loaded policy. */
export type PositionOf = (pointer: string) => Position;

/** One thing that the plan grants or limits. */
export interface Explained {
  /** One line; names places as the plan does. */
  readonly what: string;
  /** `file:line` of the policy. */
  readonly at: string;
  /** Tools that can use it. */
  readonly tools?: readonly string[];
  /** What stops anything beyond it. */
  readonly beyond?: string;
}

/** A plan explained, by heading. */
export interface Explanation {
  /** Name of the policy. */
  readonly name: string;
  /** Headings in a fixed order; a heading without lines grants nothing. */
  readonly sections: readonly { readonly title: string; readonly lines: readonly Explained[] }[];
  /** What a reader might assume and must not. */
  readonly notes: readonly string[];
}

/** Explains a plan as text: lines of at most some 120 characters, no colours, ends with a line feed. */
export function explainPlan(plan: Plan, positionOf: PositionOf): string {
  const { name, sections, notes } = explain(plan, positionOf);
  const path = escapeText(plan.policy.path ?? "command line");
  const lines = [`Policy "${escapeText(name)}" (${path}), digest ${plan.policy.sha256}`];
  for (const section of sections) {
    lines.push("", `${section.title}:`);
    if (section.lines.length === 0) lines.push("  nothing");
    for (const { what, at, tools, beyond } of section.lines) {
      const by = tools === undefined ? "" : ` by ${tools.join(", ")}`;
      // A reason or the name of a folder is the text of whoever asks for the review.
      lines.push(`  ${escapeText(what)}${by}${at === "" ? "" : `   [${escapeText(at)}]`}`);
      if (beyond !== undefined) lines.push(`      ${escapeText(beyond)}`);
    }
  }
  lines.push("", "Keys:");
  const width = Math.max(...KEY_TABLE.map(({ title }) => title.length));
  for (const row of KEY_TABLE) lines.push(`  ${row.title.padEnd(width)}  ${describeKeys(row)}`);
  if (notes.length > 0) lines.push("", "Mind:", ...notes.map((note) => `  ${escapeText(note)}`));
  return lines.join("\n") + "\n";
}

/** Explains a plan as JSON: the same sections, and the key table. */
export function explainJson(plan: Plan, positionOf: PositionOf): JsonObject {
  const { name, sections, notes } = explain(plan, positionOf);
  return JSON.parse(JSON.stringify({
    name,
    policy: plan.policy,
    isolation: plan.isolation,
    sections,
    keys: KEY_TABLE,
    notes,
  }));
}

/** Takes a plan apart into what may be read, written, reached, run and spent. */
export function explain(plan: Plan, positionOf: PositionOf): Explanation {
  const at = (pointer: string): string => {
    const { file, line } = positionOf(pointer);
    return `${file}:${line}`;
  };
  return {
    name: plan.name,
    sections: [
      { title: "May be called", lines: explainTools(plan, at) },
      { title: "May be read", lines: explainReads(plan, at) },
      { title: "May be written", lines: explainWrites(plan, at) },
      { title: "May be reached", lines: explainNetwork(plan, at) },
      { title: "Repositories that may be read", lines: explainRepositories(plan, at) },
      { title: "Models that may be asked", lines: explainModels(plan, at) },
      { title: "Skills that may be loaded", lines: explainSkills(plan, at) },
      { title: "Credentials that are sent", lines: explainCredentials(plan, at) },
      { title: "May be run", lines: explainRun(plan, at) },
      // the one heading that most policies have no use for
      ...(plan.packages === undefined ? [] : [{ title: "May be imported", lines: explainPackages(plan, at) }]),
      { title: "Variables that may be read", lines: explainVariables(plan, at) },
      { title: "Denied or asked although granted", lines: explainGate(plan, at) },
      { title: "May be spent", lines: explainBudgets(plan, at) },
      { title: "Expected of the run", lines: explainExpected(plan, at) },
      { title: "Accepted risks", lines: explainUnsafe(plan, at) },
    ],
    notes: notesOf(plan),
  };
}

type At = (pointer: string) => string;

function explainTools(plan: Plan, at: At): Explained[] {
  return Object.entries(plan.tools).map(([name, tool]) => ({
    what: `${name} (${tool.family}), each call within ${tool.timeoutMs} ms`,
    at: at(tool.rule),
  }));
}

function explainReads(plan: Plan, at: At): Explained[] {
  const tools = namesOf(plan, ({ fs }) => readsFiles(fs));
  const names = plan.fs.secret.filter((entry) => !isPlace(entry)).join(", ");
  return plan.fs.read.map(({ root, include, exclude, rule }) => ({
    what: [
      root,
      ...(include.length === 0 ? [] : [`only ${include.join(", ")}`]),
      ...(exclude.length === 0 ? [] : [`never ${exclude.join(", ")}`]),
    ].join("; "),
    at: at(rule),
    tools,
    beyond: `outside: ${keysOf("read_outside")}; patterns and links: ${keysOf("read_excluded")}; ` +
      `never unless named: ${names}`,
  }));
}

function explainWrites(plan: Plan, at: At): Explained[] {
  const tools = namesOf(plan, ({ fs }) => writesFiles(fs));
  const written = plan.fs.write.map(({ root, rule }) => ({
    what: `${editsFiles(plan) ? "files" : "new files"} below ${root}`,
    at: at(rule),
    tools,
    beyond: `outside: ${keysOf("write_outside")}; overwriting and links: ${keysOf("overwrite")}; ` +
      `never: ${plan.fs.protected.join(", ")}`,
  }));
  const cache = plan.network.cache;
  if (cache === null) return written;
  return [...written, { what: `answers of network tools below ${cache.dir}`, at: at("/network/cache") }];
}

function explainNetwork(plan: Plan, at: At): Explained[] {
  const { fixtures, cache } = plan.network;
  const isNetworkTool = ({ endpoints, service }: PlannedTool) =>
    service !== "model" && Object.keys(endpoints).length > 0;
  const recorded: Explained[] = fixtures.map(({ path, sha256 }, i) => ({
    what: `no host: answers come from ${path} (sha256 ${sha256.slice(0, 12)}…)`,
    at: at(`/network/fixtures/${i}`),
    tools: namesOf(plan, isNetworkTool),
  }));
  const kept: Explained[] = fixtures.length > 0 || cache?.mode !== "offline"
    ? []
    : Object.entries(plan.tools).filter(([, tool]) => isNetworkTool(tool)).flatMap(([name, { endpoints, rule }]) =>
      Object.values(endpoints).map(({ method, url }) => ({
        what: `no host: ${method} ${url} from the cache only`,
        at: at(rule),
        tools: [name],
      }))
    );
  const asked: Explained[] = askedEndpoints(plan).map(({ tool, method, url, rule }) => ({
    what: `${method} ${url}`,
    at: at(plan.tools[tool]?.service === "model" ? "/model/provider" : rule),
    tools: [tool],
    beyond: `other hosts: ${keysOf("connect_other_host")}; other paths: ${keysOf("connect_other_path")}; ` +
      `private addresses: ${keysOf("connect_private")}`,
  }));
  return [...recorded, ...kept, ...asked];
}

function explainModels({ model, ...plan }: Plan, at: At): Explained[] {
  if (model === undefined) return [];
  const tools = namesOf(plan, ({ service }) => service === "model");
  const { fixture, models, audit } = model;
  const by = fixture === null
    ? `of ${model.provider}`
    : `recorded in ${fixture.path} (sha256 ${fixture.sha256.slice(0, 12)}…)`;
  const names: Explained[] = models.length === 0
    ? [{ what: `any model, ${by}`, at: at("/model/fixture"), tools }]
    : models.map((name, i) => ({
      what: name === ANY_MODEL ? `any model ${by}` : `${name}${i === 0 ? ", the default," : ""} ${by}`,
      at: at(`/model/models/${i}`),
      tools,
      beyond: `other models: ${keysOf("ask_other_model")}; further tools, links and files: never sent`,
    }));
  const kept = audit === "redacted"
    ? "the log keeps the text of questions and answers, without known secrets"
    : "the log keeps shape and SHA-256 of questions and answers";
  return [...names, { what: kept, at: at(audit === "redacted" ? "/model/audit" : "/model") }];
}

function explainRepositories(plan: Plan, at: At): Explained[] {
  return plan.github.repos.map(({ match, rule }) => ({
    what: `${match} on GitHub`,
    at: at(rule),
    tools: namesOf(plan, ({ service }) => service === "github"),
    beyond: `other repositories, whatever a token reaches: ${keysOf("connect_other_path")}`,
  }));
}

function explainCredentials(plan: Plan, at: At): Explained[] {
  return Object.entries(plan.credentials).map(([tool, { env, rule }]) => ({
    what: `the value of $${env}, to the pinned origin alone, never after a redirect`,
    at: at(rule),
    tools: [tool],
    beyond: "the agent, the log and the cache never hold it",
  }));
}

function explainVariables(plan: Plan, at: At): Explained[] {
  return plan.env.map((what) => {
    const rule = Object.values(plan.credentials).find(({ env }) => env === what)?.rule ?? "/network";
    return { what, at: at(rule) };
  });
}

function explainPrograms({ process, ...plan }: Plan, at: At): Explained[] {
  if (process === undefined) return [];
  const tools = namesOf(plan, ({ process }) => process === true);
  const folders = process.cwd.map(({ root }) => root).join(", ");
  const names = [...process.env.pass.map((name) => `$${name}`), ...Object.keys(process.env.set)];
  return Object.entries(process.commands).map(([name, { path, sha256, args, rule }]) => ({
    what: `${name}: ${path}${sha256 === null ? "" : ` (sha256 ${sha256.slice(0, 12)}…)`} with ${grammarText(args)}`,
    at: at(rule),
    tools,
    beyond: `in or below ${folders}; variables: ${names.join(", ") || "none"}; ${sandboxText(process)}; ` +
      `other programs: ${keysOf("spawn")}`,
  }));
}

function explainSession({ session, budgets }: Plan, at: At): Explained[] {
  if (session === undefined) return [];
  return [{
    what: `the agent's state, kept between runs in ${session.file}, at most ${budgets.stateBytes} bytes`,
    at: at(session.rule),
    beyond: "the launcher alone reads and writes it; a file that was edited or comes from elsewhere is refused",
  }];
}

function explainRun(plan: Plan, at: At): Explained[] {
  const programs = [...explainPrograms(plan, at), ...explainSession(plan, at)];
  if (plan.agent === null) return programs;
  const { entry, modules } = plan.agent;
  const bound = plan.isolation === "process"
    ? "a process of its own: processor time and memory are bounded"
    : "the host's process: processor time and memory are bounded for both together only";
  return [...programs, {
    what: `the agent ${entry}${
      modules.length > 1 ? ` (${modules.length} modules)` : ""
    } in isolation ${plan.isolation}`,
    at: at("/agent"),
    beyond: `${bound}; other programs: ${keysOf("spawn")}`,
  }];
}

function explainPackages({ packages = [], agent }: Plan, at: At): Explained[] {
  return packages.map(({ name, version, integrity, rule }) => {
    const place = packagePlace({ name, version });
    const files = (agent?.modules ?? []).filter(({ path }) => path.startsWith(place)).length;
    return {
      what: `${name} ${version} (${integrity.slice(0, 19)}…)${files === 0 ? "" : `, ${files} files`}`,
      at: at(rule),
      beyond: "part of the agent: it can do what the agent can, and no more",
    };
  });
}

function explainGate(plan: Plan, at: At): Explained[] {
  const { require } = approvalTerms(plan);
  return [
    ...require.map(({ tool, rule }) => ({ what: "asks before every call", at: at(rule), tools: [tool] })),
    ...plan.gate.map(({ effect, kind, tools, match, rule }) => ({
      what: effect === "ask" ? `asks before ${kind} ${match}` : `${effect} ${kind} ${match}`,
      at: at(rule),
      tools: tools.length === 0 ? ["every tool"] : tools,
    })),
  ];
}

function explainBudgets(plan: Plan, at: At): Explained[] {
  const { model } = plan;
  const ofModels: Explained[] = model === undefined
    ? []
    : (Object.keys(MODEL_LIMITS) as (keyof typeof MODEL_LIMITS)[]).map((name) => {
      const { what, value } = MODEL_LIMITS[name];
      const isDefault = model[name] === value;
      return {
        what: `Models: ${what}: ${model[name]}${isDefault ? " (default)" : ""}`,
        at: isDefault ? "" : at(`/model/${name}`),
      };
    });
  const ofRun = Object.entries(BUDGETS).map(([name, { what, unit, value }]) => {
    const planned = plan.budgets[name as keyof Plan["budgets"]];
    return {
      what: `${what}: ${planned} ${unit}${planned === value ? " (default)" : ""}`,
      at: planned === value ? "" : at(`/budgets/${name}`),
    };
  });
  return [...ofRun, ...ofModels];
}

function explainExpected(plan: Plan, at: At): Explained[] {
  return [
    ...Object.entries(plan.expectEvents).map(([kind, expected]) => ({
      what: expectedText(kind, expected),
      at: at(`/expectEvents${pointerPart(kind)}`),
    })),
    ...plan.expectDenials.map(({ tool, code, rule }) => ({
      what: `a denial of ${tool}${code === null ? "" : ` with ${code}`}`,
      at: at(rule),
    })),
  ];
}

const RISKS: Readonly<Record<Plan["unsafe"][number]["key"], (path: string) => string>> = {
  outside: (path) => `${path} lies outside the project`,
  interpreter: (name) => `the command ${name} runs what it is told to, or takes any argument`,
  unconfined: () => "programs run without confinement",
  environment: (name) => `programs load or start something because of $${name}`,
};

function explainUnsafe(plan: Plan, at: At): Explained[] {
  return plan.unsafe.map(({ key, path, reason, expires }) => ({
    what: `${RISKS[key](path)}: ${reason}${expires === null ? "" : ` (until ${expires})`}`,
    at: at(`/unsafe/${key}`),
  }));
}

function notesOf(plan: Plan): string[] {
  const notes: string[] = [];
  if (plan.network.proxy !== null) {
    notes.push(
      `Requests go through the proxy in ${plan.network.proxy.fromEnv}: it resolves names, so key 1 does not see addresses`,
    );
  }
  if (plan.network.ca !== null) {
    notes.push("Further certificate authorities are trusted: whoever holds one can answer for any host");
  }
  if (plan.network.ipv6) {
    notes.push("IPv6 is on: private IPv6 addresses behind a declared name are not checked by key 1");
  }
  if (plan.process !== undefined) {
    notes.push(
      "What a started program does is bounded by its confinement alone: neither key sees it" +
        (plan.process.sandbox === "required" ? "" : "; without confinement it can do what this user can"),
      "Without confinement, what leaves its program's session outlives its call, and the run too where the host cannot have a " +
        "pid namespace; and the log is only as safe as the programs granted",
    );
    if (plan.fs.write.length > 0) {
      notes.push(
        "A write root that holds a protected place or name is read-only for confined programs; where one leaves such a name in " +
          "another root, the run ends as protected_path_written and nothing is undone",
      );
    }
    if (plan.process.egress.length > 0) {
      notes.push("Programs can send anything to the hosts they may reach; the proxy sees host and port, no content");
    }
  }
  if (plan.packages !== undefined) {
    notes.push(
      "The integrity of a package is that of its archive, which its installer checked; each file that the agent imports " +
        "is checked by its SHA-256, first against nothing, then against agent.lock.json",
    );
  }
  if (plan.model !== undefined && plan.model.fixture === null) {
    notes.push(
      `What an agent may read it can put into a question: ${plan.model.provider} gets it, and keeps it as it says it does`,
    );
  }
  if (plan.isolation !== "process") {
    notes.push(`Isolation ${plan.isolation}: a busy agent is stopped by ending the host, not on its own`);
  }
  if (mayAsk(plan)) {
    const { maxAgeMs, waitMs } = approvalTerms(plan);
    notes.push(
      `A call that asks runs once a person has said yes to that very call: on a terminal, within ${span(waitMs)}; ` +
        "elsewhere the run stops at it (exit 79) until `twokey approval allow`",
      `An approval serves one call of this policy and this agent, byte for byte, and holds for ${span(maxAgeMs)}`,
    );
  }
  return notes;
}

function namesOf(plan: Pick<Plan, "tools">, fits: (tool: PlannedTool) => boolean): string[] {
  return Object.entries(plan.tools).filter(([, tool]) => fits(tool)).map(([name]) => name);
}

function keysOf(act: string): string {
  const row = maybeKeyRow(act);
  return row === undefined ? "no key" : describeKeys(row);
}
