/**
 * What one plan grants beyond another. `covers` is the only rule that says whether a plan stays within another; `diff`,
 * the ceiling of a pull request and first sight are made from it.
 *
 * @module
 */
import { admitsRepository } from "../authority/repository.ts";
import { canonical } from "../json.ts";
import { approvalTerms, mayAsk } from "./approval_terms.ts";
import { BUDGETS } from "./budgets.ts";
import type { Change } from "./change.ts";
import { compareModel } from "./compare_model.ts";
import { comparePaths, reachesOutside } from "./compare_paths.ts";
import { compareProcess } from "./compare_programs.ts";
import { compareNumber, compareSets } from "./compare_values.ts";
import {
  askedEndpoints,
  type Budgets,
  type GateRule,
  type Isolation,
  ISOLATIONS,
  type Plan,
  type PlannedPackage,
  type UnsafeGrant,
} from "./plan.ts";

/**
 * Whether the head plan may do nothing that the base plan may not. What cannot be decided counts as more. A partial
 * order, but for a path that is a folder for one plan and a file for another, which may count as more once too often.
 */
export function covers(base: Plan, head: Plan): boolean {
  return !comparePlans(base, head).some(({ kind }) => kind === "gained");
}

/** Compares two plans. Sorted: what is gained first. The agent's own code is free to change and is not compared. */
export function comparePlans(base: Plan, head: Plan): readonly Change[] {
  const changes = [
    ...compareTools(base, head),
    ...comparePaths(base, head),
    ...compareReach(base, head),
    ...compareNetwork(base, head),
    ...compareRepositories(base, head),
    ...compareCredentials(base, head),
    ...compareSets({ subject: "variable", noun: "the variable", rule: "/network" }, base.env, head.env),
    ...compareProcess(base, head),
    ...comparePackages(base, head),
    ...compareModel(base, head),
    ...compareGate(base, head),
    ...compareApprovals(base, head),
    ...compareBudgets(base.budgets, head.budgets),
    ...compareIsolation(base.isolation, head.isolation),
    ...compareRedaction(base, head),
    ...compareSession(base, head),
    ...compareUnsafe(base.unsafe, head.unsafe),
    ...compareFree(base, head),
  ];
  const order = ["gained", "lost", "narrowed", "changed"];
  return changes.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

function compareTools(base: Plan, head: Plan): Change[] {
  const changes: Change[] = [];
  for (const name of namesOf(base.tools, head.tools)) {
    const was = own(base.tools, name);
    const is = own(head.tools, name);
    if (was === undefined && is !== undefined) {
      changes.push({ kind: "gained", subject: "tool", text: `the tool ${name}`, rule: is.rule });
    } else if (was !== undefined && is === undefined) {
      changes.push({ kind: "lost", subject: "tool", text: `the tool ${name}`, rule: was.rule });
    } else if (was !== undefined && is !== undefined) {
      if (was.manifest !== is.manifest) {
        changes.push({
          kind: "gained",
          subject: "tool",
          text: `another definition of the tool ${name}`,
          rule: is.rule,
        });
      }
      changes.push(
        ...compareNumber(
          { subject: "budget", text: `the deadline of ${name} in ms`, rule: is.rule },
          was.timeoutMs,
          is.timeoutMs,
        ),
      );
    }
  }
  return changes;
}

/** What the tools really ask: nothing where every answer is recorded, or the cache alone answers. */
function compareReach(base: Plan, head: Plan): Change[] {
  return compareSets({ subject: "reach", noun: "the network:", rule: "/tools" }, reachOf(base), reachOf(head));
}

function reachOf(plan: Plan): string[] {
  return askedEndpoints(plan).map(({ tool, method, url }) => `${method} ${url} by ${tool}`);
}

function compareNetwork({ network: was }: Plan, { network: is }: Plan): Change[] {
  const answers = (network: typeof was) =>
    network.fixtures.map(({ path, sha256 }) => `${path} (sha256 ${sha256.slice(0, 12)})`);
  const at = (subject: string, noun: string, key: string) => ({ subject, noun, rule: `/network/${key}` });
  const cacheOf = (network: typeof was) =>
    network.cache === null ? [] : [`${network.cache.dir}, ${network.cache.mode}`];
  const routeOf = (network: typeof was) => network.proxy === null ? [] : [network.proxy.fromEnv];
  const caOf = ({ ca }: typeof was) => {
    if (ca === null) return [];
    return ["file" in ca ? `${ca.file} (sha256 ${ca.sha256.slice(0, 12)})` : `$${ca.fromEnv}`];
  };
  return [
    ...compareSets(at("fixture", "the recorded answers", "fixtures"), answers(was), answers(is)),
    ...compareSets(at("cache", "the cache", "cache"), cacheOf(was), cacheOf(is)),
    ...compareSets(at("proxy", "the proxy in", "proxy"), routeOf(was), routeOf(is)),
    ...compareSets(at("ca", "the certificate authority in", "ca"), caOf(was), caOf(is)),
    ...compareSets(at("ipv6", "IPv6 addresses, unchecked", "ipv6"), was.ipv6 ? [""] : [], is.ipv6 ? [""] : []),
    ...compareNumber(
      { subject: "budget", text: "retries of a request", rule: "/network/retry" },
      was.retryAttempts,
      is.retryAttempts,
    ),
    ...compareCache(was.cache, is.cache),
  ];
}

/** An answer that is older, and entries that are more, are more; a cache of its own is compared as a whole. */
function compareCache(was: Plan["network"]["cache"], is: Plan["network"]["cache"]): Change[] {
  if (was === null || is === null) return [];
  const at = (text: string, key: string) => ({ subject: "cache", text, rule: `/network/cache/${key}` });
  return [
    ...compareNumber(
      at("the age of a kept answer in ms", "maxAgeMs"),
      was.maxAgeMs ?? Infinity,
      is.maxAgeMs ?? Infinity,
    ),
    ...compareNumber(at("kept answers", "maxEntries"), was.maxEntries ?? Infinity, is.maxEntries ?? Infinity),
  ];
}

/** A repository is gained where no entry of the base admits it, in whatever case it is written. */
function compareRepositories(base: Plan, head: Plan): Change[] {
  const beyond = (kind: Change["kind"], from: Plan, to: Plan): Change[] =>
    to.github.repos.filter(({ match }) => !from.github.repos.some((entry) => admitsRepository(entry.match, match)))
      .map(({ match, rule }) => ({ kind, subject: "repository", text: `the repository ${match}`, rule }));
  return [...beyond("gained", base, head), ...beyond("lost", head, base)];
}

/** Code of others that becomes part of the agent: another version, or another archive of the same, is another package. */
function comparePackages({ packages: was = [] }: Plan, { packages: is = [] }: Plan): Change[] {
  const same = (a: PlannedPackage) => (b: PlannedPackage) =>
    a.name === b.name && a.version === b.version && a.integrity === b.integrity;
  const text = ({ name, version, integrity }: PlannedPackage, others: readonly PlannedPackage[]) => {
    const versions = others.filter((other) => other.name === name).map((other) => other.version);
    const instead = versions.length === 0 || versions.includes(version) ? "" : ` instead of ${versions.join(", ")}`;
    return `the package ${name} ${version}${instead} (${integrity.slice(0, 19)}…)`;
  };
  const beyond = (kind: Change["kind"], from: readonly PlannedPackage[], to: readonly PlannedPackage[]): Change[] =>
    to.filter((one) => !from.some(same(one)))
      .map((one) => ({ kind, subject: "package", text: text(one, from), rule: one.rule }));
  return [...beyond("gained", was, is), ...beyond("lost", is, was)];
}

/** Another variable is another credential: who asks decides what is answered. */
function compareCredentials(base: Plan, head: Plan): Change[] {
  const beyond = (kind: Change["kind"], from: Plan, to: Plan): Change[] =>
    Object.entries(to.credentials).filter(([tool, { env }]) => own(from.credentials, tool)?.env !== env)
      .map(([tool, { env, rule }]) => ({
        kind,
        subject: "credential",
        text: `the credential $${env} for ${tool}`,
        rule,
      }));
  return [...beyond("gained", base, head), ...beyond("lost", head, base)];
}

/** Rules only ever take away: one that is gone is a gain. Rules on paths for every tool are part of the sets. */
function compareGate(base: Plan, head: Plan): Change[] {
  const outside = reachesOutside(base) || reachesOutside(head);
  const rulesOf = ({ gate }: Plan) => gate.filter((rule) => outside || !isInSets(rule));
  const change = (kind: Change["kind"], text: string, rule: string): Change => ({ kind, subject: "gate", text, rule });
  // outside the project a rule on files speaks of labels: the same rule means something else where they moved
  const moved = outsideOf(base).some(({ root, label }) =>
    outsideOf(head).some((other) => other.root === root && other.label !== label)
  );
  const isKept = (rule: GateRule, rules: readonly GateRule[]) =>
    !(moved && rule.kind.startsWith("filesystem.")) && rules.some((other) => isWithin(rule, other));
  return [
    ...rulesOf(base).filter((rule) => !isKept(rule, head.gate))
      .map((rule) => change("gained", `what the rule "${sentence(rule)}" took away`, "/gate")),
    ...rulesOf(head).filter((rule) => !base.gate.some((other) => isWithin(rule, other)))
      .map((rule) => change("narrowed", `by the rule "${sentence(rule)}"`, rule.rule)),
  ];
}

/** A call that no longer asks is a gain, where the base let it run at all; so is an approval that holds longer. */
function compareApprovals(base: Plan, head: Plan): Change[] {
  const [was, is] = [approvalTerms(base), approvalTerms(head)];
  const beyond = (these: typeof was, those: typeof was) =>
    these.require.filter(({ tool }) => !those.require.some((other) => other.tool === tool));
  const change = (kind: Change["kind"], text: string, rule: string): Change => ({
    kind,
    subject: "approval",
    text,
    rule,
  });
  const changes = [
    ...beyond(was, is).filter(({ tool }) => own(head.tools, tool) !== undefined)
      .map(({ tool }) => change("gained", `calls of ${tool} without an approval`, "/approvals/require")),
    ...beyond(is, was).filter(({ tool }) => own(base.tools, tool) !== undefined)
      .map(({ tool, rule }) => change("narrowed", `every call of ${tool} asks`, rule)),
  ];
  if (!mayAsk(base) || !mayAsk(head)) return changes;
  const number = (text: string, key: "maxAgeMs" | "waitMs") =>
    compareNumber({ subject: "approval", text, rule: `/approvals/${key}` }, was[key], is[key]);
  return [
    ...changes,
    ...number("ms that an unused approval holds", "maxAgeMs"),
    ...number("ms that a question waits", "waitMs"),
  ];
}

/** Whether another rule takes at least what the first one takes. */
function isWithin({ effect, kind, tools, match }: GateRule, other: GateRule): boolean {
  const { tools: others } = other;
  return other.kind === kind && other.match === match && (other.effect === effect || other.effect === "deny") &&
    (others.length === 0 || (tools.length > 0 && tools.every((tool) => others.includes(tool))));
}

function outsideOf({ fs }: Plan): readonly { readonly root: string; readonly label: string }[] {
  return [...fs.read, ...fs.write].filter(({ root }) => !root.startsWith("${project}"));
}

/** A field that is no longer redacted is read by whoever reads the log. */
function compareRedaction({ redact: was }: Plan, { redact: is }: Plan): Change[] {
  const change = (kind: Change["kind"], text: string): Change => ({ kind, subject: "redact", text, rule: "/redact" });
  return [
    ...was.filter((name) => !is.includes(name)).map((name) => change("gained", `the field "${name}" in the log`)),
    ...is.filter((name) => !was.includes(name)).map((name) => change("narrowed", `the field "${name}" is redacted`)),
  ];
}

/** What is kept between runs is what one run can tell the next one. */
function compareSession(base: Plan, head: Plan): Change[] {
  const fileOf = ({ session }: Plan) => session === undefined ? [] : [session.file];
  return compareSets(
    { subject: "session", noun: "state kept between runs in", rule: head.session?.rule ?? "/session" },
    fileOf(base),
    fileOf(head),
  );
}

function isInSets({ kind, tools }: GateRule): boolean {
  return kind.startsWith("filesystem.") && tools.length === 0;
}

function sentence({ effect, kind, tools, match }: GateRule): string {
  return `${effect} ${kind} ${match}${tools.length === 0 ? "" : ` by ${tools.join(", ")}`}`;
}

function compareBudgets(was: Budgets, is: Budgets): Change[] {
  return (Object.keys(BUDGETS) as (keyof Budgets)[]).flatMap((name) =>
    compareNumber({ subject: "budget", text: name, rule: `/budgets/${name}` }, was[name], is[name])
  );
}

function compareIsolation(was: Isolation, is: Isolation): Change[] {
  if (was === is) return [];
  const kind = ISOLATIONS.indexOf(is) > ISOLATIONS.indexOf(was) ? "gained" : "narrowed";
  return [{ kind, subject: "isolation", text: `isolation ${is} instead of ${was}`, rule: "/isolation" }];
}

/** What an accepted risk is called. */
const RISKS: Readonly<Record<UnsafeGrant["key"], (path: string) => string>> = {
  outside: (path) => `the accepted root ${path} outside the project`,
  interpreter: (path) => `the accepted command ${path}, which runs what it is told to`,
  environment: (path) => `the accepted variable ${path}, which makes programs load code`,
  unconfined: () => "programs without confinement",
};

/** What is accepted in spite of a refusal; a later last day is more, an earlier one less. */
function compareUnsafe(was: readonly UnsafeGrant[], is: readonly UnsafeGrant[]): Change[] {
  const text = ({ key, path, expires }: UnsafeGrant) =>
    `${RISKS[key](path)}${expires === null ? "" : `, until ${expires}`}`;
  const change = (kind: Change["kind"], key: UnsafeGrant["key"], words: string): Change => ({
    kind,
    subject: "unsafe",
    text: words,
    rule: `/unsafe/${key}`,
  });
  const last = (grants: readonly UnsafeGrant[], { key, path }: UnsafeGrant) =>
    grants.filter((grant) => grant.key === key && grant.path === path)
      .map(({ expires }) => expires ?? "9999-12-31").toSorted().at(-1);
  return [
    ...is.flatMap((grant) => {
      const before = last(was, grant);
      const now = last(is, grant) ?? "";
      if (before === now) return [];
      if (before === undefined || now > before) return [change("gained", grant.key, text(grant))];
      return [change("narrowed", grant.key, `${text(grant)} instead of ${before}`)];
    }),
    ...was.filter((grant) => last(is, grant) === undefined).map((grant) => change("lost", grant.key, text(grant))),
  ];
}

/** Differences that grant nothing, for a reader who wonders. */
function compareFree(base: Plan, head: Plan): Change[] {
  const changes: Change[] = [];
  const expectations = ({ expectDenials, expectEvents }: Plan) =>
    canonical({ expectDenials: expectDenials.map(({ tool, code }) => ({ tool, code })), expectEvents });
  if (expectations(base) !== expectations(head)) {
    changes.push({ kind: "changed", subject: "expectation", text: "what is expected of a run", rule: "" });
  }
  if (canonical(base.context) !== canonical(head.context)) {
    changes.push({ kind: "changed", subject: "context", text: "the context handed to the agent", rule: "/context" });
  }
  const modules = ({ agent }: Plan) => (agent?.modules ?? []).map(({ path, sha256 }) => `${path} ${sha256}`);
  const known = modules(base).length > 0 && modules(head).length > 0;
  if (known && canonical(modules(base)) !== canonical(modules(head))) {
    changes.push({ kind: "changed", subject: "agent", text: "the agent's code", rule: "/agent" });
  }
  return changes;
}

function namesOf(...maps: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  return [...new Set(maps.flatMap((map) => Object.keys(map)))].toSorted();
}

function own<T>(map: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}
