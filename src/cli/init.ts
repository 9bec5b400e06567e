/**
 * `twokey init`: starts a project from a template. Everything is planned first; then all of it is written, or nothing.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { DEFAULT_POLICY } from "../authority/names.ts";
import { nearest } from "../authority/nearest.ts";
import { isInside, nameOf, parentOf, pathFrom, relativeTo, resolvePath } from "../authority/path.ts";
import { CreateError, EXIT, type ExitCode, InputError, UsageError } from "../errors.ts";
import { isThere } from "../launch/look.ts";
import { TWOKEY_DIR } from "../policy/places.ts";
import { agentTypes } from "../report/agent_types.ts";
import { escapeText, shellWord } from "../report/escape.ts";
import { tableLines } from "../report/table.ts";
import type { ToolManifests } from "../tool/manifest.ts";
import manifestsJson from "../tools/manifests.json" with { type: "json" };
import { command, type Context, JSON_FLAG } from "./command.ts";
import { canAsk, confirmed } from "./confirm.ts";
import { addToConfig, type ConfigEntry } from "./deno_config.ts";
import { out, outJson, styleFor } from "./io.ts";
import { fromTemplate, type Template, TEMPLATES } from "./templates.ts";
import { WORKFLOW_FILE, workflowFor } from "./workflow.ts";
import { type PlannedWrite, writeFiles } from "./write_files.ts";

interface Flags {
  readonly json: boolean;
  readonly list: boolean;
  readonly force: boolean;
  readonly template?: string;
}

/** What is to be written, and what is left for a person. */
interface InitPlan {
  readonly writes: readonly PlannedWrite[];
  /** Files that are somebody else's: to be written only with consent. */
  readonly conflicts: readonly string[];
  /** Lines that could not be added. */
  readonly todo: readonly string[];
}

async function init(flags: Flags, dir?: string): Promise<ExitCode> {
  if (flags.list) return listTemplates(flags);
  const template = templateOf(flags.template);
  const target = await realTarget(resolvePath(Deno.cwd(), dir ?? "."));
  const twokey = await fromTarget(target);
  const { writes, conflicts, todo } = await planInit(target, { template, twokey });
  if (conflicts.length > 0 && !flags.force && !mayReplace(conflicts, flags)) {
    const names = conflicts.map((name) => `"${name}"`).join(", ");
    throw new CreateError(
      "init_exists",
      `Cannot start a project in "${escapeText(target)}": ${names} ${conflicts.length === 1 ? "exists" : "exist"}; ` +
        "nothing was written, --force replaces",
    );
  }
  await writeFiles(writes);
  const created = writes.filter(({ before }) => before === null).map(({ path }) => path.slice(target.length + 1));
  const changed = writes.filter(({ before }) => before !== null).map(({ path }) => path.slice(target.length + 1));
  const run = denoRun(twokey);
  if (flags.json) {
    outJson({ type: "agent_init", folder: target, template: template.name, created, changed, todo });
    return EXIT.ok;
  }
  const style = styleFor(Deno.stdout);
  for (const name of created) out(`${style.good("created")}  ${escapeText(name)}\n`);
  for (const name of changed) out(`${style.warn("changed")}  ${escapeText(name)}\n`);
  if (created.length + changed.length === 0) out("everything is there already\n");
  for (const line of todo) out(`${style.warn("to do")}    ${escapeText(line)}\n`);
  out("\nnext:\n");
  if (target !== await Deno.realPath(".")) out(`  enter the project              cd ${shellWord(dir ?? ".")}\n`);
  out("  run the agent                  deno task agent\n");
  out(`  see what the policy grants     ${run} policy explain\n`);
  if (template.tests) out(`  test the policy                ${run} policy test\n`);
  out(`  pin what was reviewed, for CI  ${run} policy lock\n`);
  return EXIT.ok;
}

function listTemplates({ json }: Flags): ExitCode {
  if (json) {
    outJson({
      type: "agent_templates",
      templates: TEMPLATES.map((template, i) => ({ ...template, default: i === 0 })),
    });
    return EXIT.ok;
  }
  const rows = TEMPLATES.map(({ name, brief }, i) => [name, i === 0 ? "yes" : null, brief]);
  const [head = "", ...lines] = tableLines(["template", "default", "what it is"], rows);
  out(`${[styleFor(Deno.stdout).heading(head), ...lines].join("\n")}\n`);
  return EXIT.ok;
}

function templateOf(name: string | undefined): Template {
  const template = name === undefined ? TEMPLATES[0] : TEMPLATES.find((candidate) => candidate.name === name);
  if (template !== undefined) return template;
  const names = TEMPLATES.map((candidate) => candidate.name);
  const meant = nearest(name ?? "", names);
  const hint = meant === undefined ? `there are ${names.join(", ")}` : `did you mean ${meant}?`;
  throw new UsageError("usage_template", `Cannot use the template "${escapeText(name ?? "")}": ${hint}`);
}

/** The real path of a folder that may not exist yet. */
async function realTarget(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch (cause) {
    if (path === "/" || !(cause instanceof Deno.errors.NotFound) || await isThere(path)) {
      throw new CreateError("init_in_the_way", `Cannot use the folder "${escapeText(path)}": it leads nowhere`, {
        cause,
      });
    }
    return resolvePath(await realTarget(parentOf(path)), nameOf(path));
  }
}

/** The path from a project to twokey, as it was started where that leads to the same folder, else the real one. */
async function fromTarget(target: string): Promise<string> {
  const real = await Deno.realPath(TWOKEY_DIR);
  const asStarted = pathFrom(target, TWOKEY_DIR);
  const leadsThere = await realTarget(resolvePath(target, asStarted)) === real;
  const path = leadsThere ? asStarted : pathFrom(target, real);
  return /^\.{1,2}(\/|$)/.test(path) ? path : `./${path}`;
}

/** A relative path as a relative URL: what imports and `$schema` hold. */
function asUrl(path: string): string {
  return encodeURI(path).replaceAll("#", "%23").replaceAll("?", "%3F");
}

async function planInit(
  target: string,
  { template, twokey }: { template: Template; twokey: string },
): Promise<InitPlan> {
  const writes: PlannedWrite[] = [];
  const conflicts: string[] = [];
  const plan = async (name: string, text: string): Promise<void> => {
    const path = `${target}/${name}`;
    const before = await readPlain(path, name);
    if (before === text) return;
    if (before !== null) conflicts.push(name);
    writes.push({ path, text, before });
  };
  for (const file of template.files) {
    const shipped = await Deno.readTextFile(`${TWOKEY_DIR}/policies/${template.name}/${file}`);
    await plan(file, fromTemplate(shipped, { twokey: asUrl(twokey) }));
  }
  await plan("agent.d.ts", agentTypes(manifestsJson as unknown as ToolManifests));
  const repository = await repositoryOf(target);
  const workflow = workflowFor({ policy: DEFAULT_POLICY, twokey: await insideOf(repository, target, twokey) });
  if (repository === target) await plan(WORKFLOW_FILE, workflow.text);
  writes.push(...await planIgnore(target));
  const config = await planConfig(target, twokey);
  const todo = repository === target ? workflow.todo : [
    `for CI, run the action .github/actions/agent of twokey in a workflow of "${
      escapeText(repository)
    }", with policy: ${pathFrom(repository, target)}/${DEFAULT_POLICY}`,
  ];
  return { writes: [...writes, ...config.writes], conflicts, todo: [...config.todo, ...todo] };
}

/** The folder that is a git repository at or above the project; the project itself where there is none yet. */
async function repositoryOf(target: string): Promise<string> {
  for (let at = target;; at = parentOf(at)) {
    if (await isThere(`${at}/.git`)) return at;
    if (at === "/") return target;
  }
}

/** The path of twokey in the repository; `null` where a checkout of the repository would not hold it. */
async function insideOf(repository: string, target: string, twokey: string): Promise<string | null> {
  const path = resolvePath(target, twokey);
  const real = await Deno.realPath(path).catch(() => path);
  return isInside(repository, path) && real === path ? relativeTo(repository, path) : null;
}

/** The runner's folder holds logs of what agents did: git leaves it out. */
async function planIgnore(target: string): Promise<PlannedWrite[]> {
  const path = `${target}/.gitignore`;
  const before = await readPlain(path, ".gitignore");
  const lines = before?.split(/\r?\n/) ?? [];
  if (lines.some((line) => /^\/?\.twokey\/?$/.test(line.trim()))) return [];
  const head = before === null || before === "" || before.endsWith("\n") ? before ?? "" : `${before}\n`;
  return [{ path, text: `${head}.twokey/\n`, before }];
}

async function planConfig(
  target: string,
  twokey: string,
): Promise<{ writes: readonly PlannedWrite[]; todo: readonly string[] }> {
  const entries: readonly ConfigEntry[] = [
    { block: "tasks", key: "agent", value: `${denoRun(twokey)} run` },
    { block: "imports", key: "twokey", value: `${asUrl(twokey)}/mod.ts` },
  ];
  for (const name of ["deno.json", "deno.jsonc"]) {
    const path = `${target}/${name}`;
    const before = await readPlain(path, name);
    if (before === null) continue;
    const { text, refused } = addToConfig(before, entries);
    const todo = refused.map(({ block, key, value }) =>
      `add to "${block}" of ${name}: ${JSON.stringify(key)}: ${JSON.stringify(value)}`
    );
    return { writes: text === before ? [] : [{ path, text, before }], todo };
  }
  const value = Object.fromEntries(entries.map(({ block, key, value }) => [block, { [key]: value }]));
  const write = { path: `${target}/deno.json`, text: `${JSON.stringify(value, null, 2)}\n`, before: null };
  return { writes: [write], todo: [] };
}

/** Text of a file; `null` where there is none. Anything but a regular file of UTF-8 is in the way. */
async function readPlain(path: string, name: string): Promise<string | null> {
  try {
    let folder = path;
    for (const _ of name.split("/").slice(1)) {
      folder = parentOf(folder);
      if (await isThere(folder) && !(await Deno.lstat(folder)).isDirectory) {
        throw new CreateError("init_in_the_way", `Cannot write "${name}": its folder is a link or a file`);
      }
    }
    if (!(await Deno.lstat(path)).isFile) {
      throw new CreateError("init_in_the_way", `Cannot write "${name}": a link or folder of that name is in the way`);
    }
    const bytes = await Deno.readFile(path);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return null;
    if (cause instanceof CreateError) throw cause;
    if (cause instanceof Deno.errors.NotADirectory) {
      throw new CreateError("init_in_the_way", `Cannot write "${name}": a file is in the way of its folder`, { cause });
    }
    const what = cause instanceof TypeError ? "it is not UTF-8 text" : "it cannot be read";
    throw new InputError("init_unreadable", `Cannot look at "${name}": ${what}; nothing was written`, { cause });
  }
}

/** Asks on a terminal whether files may be replaced; elsewhere nobody can say so. */
function mayReplace(names: readonly string[], { json }: Flags): boolean {
  if (json || !canAsk()) return false;
  return confirmed(`Replace ${names.map((name) => `"${escapeText(name)}"`).join(", ")}?`);
}

/** The command that starts twokey from a project. */
function denoRun(twokey: string): string {
  return `deno run -A --no-prompt ${shellWord(`${twokey}/src/cli/main.ts`)}`;
}

/** The command. */
export const initCommand = buildCommand<Flags, [string?], Context>({
  docs: {
    brief: "Start a project from a template",
    fullDescription: [
      "Writes a policy, an agent, its types for editors (agent.d.ts), a workflow for GitHub Actions, the task `agent` into",
      "deno.json and a line into .gitignore. Never replaces a file without --force: on a terminal it asks, elsewhere it is",
      "exit 73 and nothing is written. In a deno.json that is there, entries are added and all else stays as it is.",
      "",
      "EXAMPLES",
      "  twokey init",
      "  twokey init my-project --template=blank",
      "  twokey init --list",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...JSON_FLAG,
      list: { kind: "boolean", brief: "List the templates", default: false, withNegated: false },
      force: { kind: "boolean", brief: "Replace files that exist", default: false, withNegated: false },
      template: {
        kind: "parsed",
        parse: String,
        brief: `One of ${TEMPLATES.map(({ name }, i) => i === 0 ? `${name} (default)` : name).join(", ")}`,
        placeholder: "name",
        optional: true,
      },
    },
    positional: {
      kind: "tuple",
      parameters: [{
        parse: String,
        brief: "Folder of the project; default: this folder",
        placeholder: "folder",
        optional: true,
      }],
    },
  },
  func: command(init),
});
