/**
 * What one plan grants beyond another. `covers` is the only rule that says whether a plan stays within another; `diff`,
 * the ceiling of a pull request and first sight are made from it.
 *
 * @module
 */
import { includes } from "../authority/path_language.ts";
import { admitsRepository } from "../authority/repository.ts";
import { canonical } from "../json.ts";
import { BUDGETS } from "./budgets.ts";
import { compareProcess } from "./compare_programs.ts";
import { readSet, writeSet } from "./path_sets.ts";
import type { Budgets, GateRule, Isolation, Plan } from "./plan.ts";

/** One difference between a base plan and a head plan. */
export interface Change {
  /**
   * `gained` and `lost` speak of authority; `narrowed` is a grant that became smaller; `changed` is a difference that
   * grants nothing.
   */
  readonly kind: "gained" | "lost" | "narrowed" | "changed";
  /** What the difference is about, as a slug: `tool`, `read`, `write`, `reach`, `budget` … */
  readonly subject: string;
  /** The difference in words, without the kind. */
  readonly text: string;
  /** JSON Pointer into the head's policy for what was gained or narrowed, else into the base's; `""` for the whole. */
  readonly rule: string;
  /** A path that proves it: admitted by one plan and not by the other. */
  readonly example?: string;
}

/** From the tightest to the loosest. */
const ISOLATIONS: readonly Isolation[] = ["process", "worker", "compartment"];

/** Whether the head plan may do nothing that the base plan may not. */
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
    ...compareGate(base, head),
    ...compareBudgets(base.budgets, head.budgets),
    ...compareIsolation(base.isolation, head.isolation),
    ...compareRedaction(base, head),
    ...compareSets({ subject: "unsafe", noun: "the accepted risk", rule: "/unsafe" }, unsafeOf(base), unsafeOf(head)),
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

function comparePaths(base: Plan, head: Plan): Change[] {
  return [
    ...compareSide({ subject: "read", verb: "read", rule: "/fs/read" }, base, head, readSet),
    ...compareSide({ subject: "write", verb: "create", rule: "/fs/write" }, base, head, writeSet),
  ];
}

function compareSide(
  side: { readonly subject: string; readonly verb: string; readonly rule: string },
  base: Plan,
  head: Plan,
  setOf: typeof readSet,
): Change[] {
  const changes: Change[] = [];
  const { subject, verb, rule } = side;
  for (const reach of ["allowed", "allowed_or_asked"] as const) {
    const was = setOf(base, reach);
    const is = setOf(head, reach);
    const grown = includes(was, is);
    const shrunk = includes(is, was);
    if (!grown.holds) changes.push(pathChange("gained", side, grown.witness));
    if (!shrunk.holds) {
      const kind = is.globs.length > 0 && !isEmpty(is) ? "narrowed" : "lost";
      changes.push(pathChange(kind, { subject, verb, rule }, shrunk.witness));
    }
    // Without any rule that asks, the two reaches are the same sets.
    if (![...base.gate, ...head.gate].some(({ effect }) => effect === "ask")) break;
    if (changes.length > 0) break;
  }
  return changes;
}

function isEmpty(set: ReturnType<typeof readSet>): boolean {
  return includes({ globs: [], has: () => false }, set).holds;
}

function pathChange(
  kind: Change["kind"],
  { subject, verb, rule }: { readonly subject: string; readonly verb: string; readonly rule: string },
  example: string | undefined,
): Change {
  const words = kind === "gained"
    ? `${verb} more files`
    : kind === "lost"
    ? `${verb} files at all`
    : `${verb} fewer files`;
  return {
    kind,
    subject,
    text: example === undefined ? `${words} (the patterns are too many to compare; taken for a gain)` : words,
    rule,
    ...(example === undefined ? {} : { example }),
  };
}

/** What the tools really ask: nothing where every answer is recorded, or the cache alone answers. */
function compareReach(base: Plan, head: Plan): Change[] {
  return compareSets({ subject: "reach", noun: "reach", rule: "/tools" }, reachOf(base), reachOf(head));
}

function reachOf(plan: Plan): string[] {
  if (plan.network.fixtures.length > 0 || plan.network.cache?.mode === "offline") return [];
  return Object.entries(plan.tools).flatMap(([tool, { endpoints }]) =>
    Object.values(endpoints).map(({ method, url }) => `${method} ${url} by ${tool}`)
  );
}

function compareNetwork({ network: was }: Plan, { network: is }: Plan): Change[] {
  const answers = (network: typeof was) =>
    network.fixtures.map(({ path, sha256 }) => `${path} (sha256 ${sha256.slice(0, 12)})`);
  const at = (subject: string, noun: string, key: string) => ({ subject, noun, rule: `/network/${key}` });
  const cacheOf = (network: typeof was) =>
    network.cache === null ? [] : [`${network.cache.dir}, ${network.cache.mode}`];
  const routeOf = (network: typeof was) => network.proxy === null ? [] : [network.proxy.fromEnv];
  const caOf = ({ ca }: typeof was) => ca === null ? [] : ["file" in ca ? ca.file : `$${ca.fromEnv}`];
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
    ...compareNumber(
      { subject: "cache", text: "the age of a kept answer in ms", rule: "/network/cache" },
      was.cache === null ? 0 : was.cache.maxAgeMs ?? Infinity,
      is.cache === null ? 0 : is.cache.maxAgeMs ?? Infinity,
    ),
  ];
}

/** A repository is gained where no entry of the base admits it, in whatever case it is written. */
function compareRepositories(base: Plan, head: Plan): Change[] {
  const beyond = (kind: Change["kind"], from: Plan, to: Plan): Change[] =>
    to.github.repos.filter(({ match }) => !from.github.repos.some((entry) => admitsRepository(entry.match, match)))
      .map(({ match, rule }) => ({ kind, subject: "repository", text: `the repository ${match}`, rule }));
  return [...beyond("gained", base, head), ...beyond("lost", head, base)];
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
  const rulesOf = ({ gate }: Plan) => gate.filter((rule) => !isInSets(rule)).map(sentence);
  const was = rulesOf(base);
  const is = rulesOf(head);
  const change = (kind: Change["kind"], text: string): Change => ({ kind, subject: "gate", text, rule: "/gate" });
  return [
    ...was.filter((rule) => !is.includes(rule)).map((rule) => change("gained", `what the rule "${rule}" took away`)),
    ...is.filter((rule) => !was.includes(rule)).map((rule) => change("narrowed", `a new rule "${rule}"`)),
  ];
}

/** A field that is no longer redacted is read by whoever reads the log. */
function compareRedaction({ redact: was }: Plan, { redact: is }: Plan): Change[] {
  const change = (kind: Change["kind"], text: string): Change => ({ kind, subject: "redact", text, rule: "/redact" });
  return [
    ...was.filter((name) => !is.includes(name)).map((name) => change("gained", `the field "${name}" in the log`)),
    ...is.filter((name) => !was.includes(name)).map((name) => change("narrowed", `the field "${name}" is redacted`)),
  ];
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

function unsafeOf(plan: Plan): string[] {
  return plan.unsafe.map(({ key, path, expires }) => `${key} ${path}${expires === null ? "" : ` until ${expires}`}`);
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

function compareSets(
  { subject, noun, rule }: { readonly subject: string; readonly noun: string; readonly rule: string },
  was: readonly string[],
  is: readonly string[],
): Change[] {
  const change = (kind: Change["kind"], name: string): Change => ({
    kind,
    subject,
    text: `${noun} ${name}`.trim(),
    rule,
  });
  return [
    ...is.filter((name) => !was.includes(name)).map((name) => change("gained", name)),
    ...was.filter((name) => !is.includes(name)).map((name) => change("lost", name)),
  ];
}

function compareNumber(
  { subject, text, rule }: { readonly subject: string; readonly text: string; readonly rule: string },
  was: number,
  is: number,
): Change[] {
  if (was === is) return [];
  const words = (value: number) => value === Infinity ? "without bound" : String(value);
  return [{
    kind: is > was ? "gained" : "narrowed",
    subject,
    text: `${text}: ${words(is)} instead of ${words(was)}`,
    rule,
  }];
}

function namesOf(...maps: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  return [...new Set(maps.flatMap((map) => Object.keys(map)))].toSorted();
}

function own<T>(map: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}
