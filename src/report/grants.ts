/**
 * What a policy grants, in a few lines: printed before a run starts.
 *
 * @module
 */
import { approvalTerms } from "../plan/approval_terms.ts";
import { admitsAnyModel } from "../plan/model_plan.ts";
import { askedEndpoints, type Plan, type PortablePath } from "../plan/plan.ts";
import { withRegistry } from "../tools/supply_chain/npm_registry.ts";
import { escapeText } from "./escape.ts";
import { sandboxText } from "./programs.ts";
import { PLAIN, type Style } from "./style.ts";
import { duration } from "./units.ts";

/** Names of one list that are shown before the rest is counted. */
const MAX_NAMES = 8;

/** Characters of one name or path. */
const MAX_NAME = 80;

const KIB = 1024;

/** How the grants are printed. */
export interface GrantOptions {
  readonly style?: Style;
}

/**
 * Says what a plan grants: the policy and its digest, the tools, what they may read, write and reach, what may be spent,
 * the isolation, the accepted risks. Paths in the project are relative to it.
 *
 * @returns Four to twelve lines without a newline. Everything that came from the policy is escaped.
 */
export function grantLines(plan: Plan, options: GrantOptions = {}): string[] {
  const style = options.style ?? PLAIN;
  const tools = Object.keys(plan.tools);
  const lines = [
    policyLine(plan, style),
    `tools     ${tools.length === 0 ? "none: every call is denied" : names(tools)}`,
  ];
  if (plan.fs.read.length > 0) lines.push(`may read  ${names(plan.fs.read.map(readText))}`);
  const written = plan.fs.write.map(({ root }) => `new files below ${shown(root)}`);
  if (written.length > 0) lines.push(`may write ${names(written)}`);
  if (plan.github.repos.length > 0) lines.push(`may ask   about ${names(plan.github.repos.map(({ match }) => match))}`);
  if (plan.model !== undefined) lines.push(`may ask   ${modelText(plan.model)}`);
  const secrets = Object.entries(plan.credentials).map(([tool, { env }]) => `$${env} for ${tool}`);
  if (secrets.length > 0) lines.push(`may use   ${names(secrets)}`);
  if (plan.process !== undefined) {
    const { commands, cwd } = plan.process;
    lines.push(`may run   ${names(Object.entries(commands).map(([name, { path }]) => `${name} (${shown(path)})`))}`);
    lines.push(`          in ${names(cwd.map(({ root }) => shown(root)))}; ${sandboxText(plan.process)}`);
  }
  if (plan.session !== undefined) lines.push(`may keep  its state in ${names([shown(plan.session.file)])}`);
  const asking = askingText(plan);
  if (asking !== null) lines.push(`asks      ${asking}`);
  lines.push(`may reach ${reachText(plan)}`, `may spend ${spendText(plan)}`);
  if (plan.unsafe.length > 0) {
    lines.push(style.warn(`accepted  ${names(plan.unsafe.map(riskText))}`));
  }
  return lines;
}

/** An accepted risk in a few words. */
function riskText({ key, path }: Plan["unsafe"][number]): string {
  if (key === "outside") return `outside the project: ${shown(path)}`;
  if (key === "interpreter") return `runs what it is told to: ${path}`;
  return key === "unconfined" ? "programs without confinement" : `loaded by programs: $${path}`;
}

function policyLine({ name, policy, isolation }: Plan, style: Style): string {
  const file = policy.path === null ? "the command line" : shown(policy.path);
  const title = style.heading(`policy    ${escapeText(name, { max: MAX_NAME })}`);
  return `${title} (${file}, sha256 ${policy.sha256.slice(0, 12)}…), isolation ${isolation}`;
}

function readText({ root, include, exclude }: Plan["fs"]["read"][number]): string {
  const only = include.length === 0 ? "" : ` only ${names(include)}`;
  const never = exclude.length === 0 ? "" : ` never ${names(exclude)}`;
  return `${shown(root)}${only}${never}`;
}

/** What asks before it runs; `null` where nothing does. */
function askingText(plan: Plan): string | null {
  const tools = approvalTerms(plan).require.map(({ tool }) => tool);
  const rules = plan.gate.filter(({ effect }) => effect === "ask").map(({ kind, match }) => `${kind} ${match}`);
  const parts = [
    ...(tools.length === 0 ? [] : [`before every call of ${names(tools)}`]),
    ...(rules.length === 0 ? [] : [`before ${names(rules)}`]),
  ];
  return parts.length === 0 ? null : parts.join("; ");
}

function modelText({ provider, fixture, models, calls, totalTokens }: NonNullable<Plan["model"]>): string {
  const which = admitsAnyModel({ models, fixture }) ? "any model" : names(models);
  const by = fixture === null ? `of ${provider}` : `by recorded answers from ${shown(fixture.path)}`;
  return `${which} ${by}, ${calls} times, ${totalTokens} tokens`;
}

function reachText(plan: Plan): string {
  const { tools, network } = plan;
  const asked = askedEndpoints(plan);
  const isLooking = Object.values(tools).some(({ endpoints, service }) =>
    service !== "model" && Object.keys(endpoints).length > 0
  );
  const other = !isLooking
    ? []
    : network.fixtures.length > 0
    ? [`recorded answers from ${names(network.fixtures.map(({ path }) => shown(path)))}`]
    : network.cache?.mode === "offline"
    ? ["kept answers only"]
    : [];
  if (asked.length === 0) return ["no host", ...other].join(": ");
  const proxy = network.proxy === null ? "" : ` through the proxy in ${network.proxy.fromEnv}`;
  const urls = [...new Set(asked.map(({ method, url }) => `${method} ${withRegistry(url)}`))];
  return [`${names(urls)}${proxy}`, ...other].join("; ");
}

function spendText({ budgets: { toolCalls, wallMs, artifactBytes, rssMb } }: Plan): string {
  return `${toolCalls} calls, ${duration(wallMs)}, ${size(artifactBytes)} of files, ${rssMb} MiB of memory`;
}

function size(bytes: number): string {
  if (bytes < KIB) return `${bytes} bytes`;
  const kib = bytes / KIB;
  return kib < KIB ? `${Math.floor(kib)} KiB` : `${Math.floor(kib / KIB)} MiB`;
}

/** A portable path as people write it: relative to the project where it lies in it. */
function shown(path: PortablePath): string {
  return path === "${project}" ? "." : path.startsWith("${project}/") ? path.slice("${project}/".length) : path;
}

function names(list: readonly string[]): string {
  const texts = list.slice(0, MAX_NAMES).map((name) => escapeText(name, { max: MAX_NAME * 4 }));
  const more = list.length - texts.length;
  return `${texts.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
