/**
 * What files one plan admits beyond another, in the words of its patterns.
 *
 * @module
 */
import { contains, includes, type Inclusion } from "../authority/path_language.ts";
import { canonical } from "../json.ts";
import type { Change } from "./change.ts";
import { isPlace } from "./key1.ts";
import { type FilePlan, pathOf, type Reach, readSet, sharesSecrets, writeSet } from "./path_sets.ts";
import { type GateRule, isInProject, type Plan, type PortablePath } from "./plan.ts";

/** Patterns that one text names, at most. */
const MAX_NAMED = 3;

/** Reading, or creating. */
interface Side {
  readonly subject: "read" | "write";
  readonly verb: string;
  readonly kind: GateRule["kind"];
  readonly setOf: typeof readSet;
  rootsOf(plan: FilePlan): readonly Root[];
  /** Names and places that no root gives access to. */
  keptOf(plan: FilePlan): readonly string[];
}

interface Root {
  readonly root: PortablePath;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly file?: true;
  readonly rule: string;
}

const READ: Side = {
  subject: "read",
  verb: "read",
  kind: "filesystem.read",
  setOf: readSet,
  rootsOf: ({ fs }) => fs.read,
  keptOf: ({ fs }) => fs.secret,
};

const WRITE: Side = {
  subject: "write",
  verb: "create",
  kind: "filesystem.write",
  setOf: writeSet,
  rootsOf: ({ fs }) => fs.write,
  keptOf: ({ fs }) => fs.protected,
};

/** Compares the files that two plans let tools read and create. */
export function comparePaths(base: Plan, head: Plan): Change[] {
  return [READ, WRITE].flatMap((side) => compareSide(side, base, head));
}

/** Whether rules on files reach outside the project, where sets of paths do not know them. */
export function reachesOutside({ fs }: Plan): boolean {
  return [...fs.read, ...fs.write].some(({ root }) => !isInProject(root));
}

function compareSide(side: Side, base: Plan, head: Plan): Change[] {
  const [was, is] = withoutCommon(side, base, head);
  if (was === is) return [];
  const changes = new Map<Change["kind"], Change>();
  const asks = [...base.gate, ...head.gate].some(({ effect, kind }) => effect === "ask" && kind === side.kind);
  const reaches: readonly Reach[] = asks ? ["allowed", "allowed_or_asked"] : ["allowed"];
  const words = wordsOf(side, base, head);
  for (const reach of reaches) {
    const grown = compareSets(side, { held: was, needed: is, reach });
    const shrunk = compareSets(side, { held: is, needed: was, reach });
    const once = reach === "allowed" ? "" : "once approved, ";
    if (!grown.holds && !changes.has("gained")) {
      const { text, rule } = words.gained(shrunk.holds);
      changes.set("gained", change("gained", side, { text: `may now ${once}${text}`, rule, example: grown.witness }));
    }
    const kind = isNothing(side, is, head) ? "lost" : "narrowed";
    if (!shrunk.holds && !changes.has("lost") && !changes.has("narrowed")) {
      const { text, rule } = words.lost(grown.holds, kind);
      changes.set(kind, change(kind, side, { text: `may ${text}`, rule, example: shrunk.witness }));
    }
  }
  return [...changes.values(), ...lostOutside(side, base, head)];
}

/**
 * Whether the one plan holds what the other needs. Secrets are most of the patterns and seldom make the difference: where
 * both plans hide the same, the sets without them settle the question if one holds the other, or show a witness to try.
 */
function compareSets(
  { subject, setOf }: Side,
  { held, needed, reach }: { readonly held: FilePlan; readonly needed: FilePlan; readonly reach: Reach },
): Inclusion {
  const outer = (withSecrets: boolean) => setOf(held, { reach, folders: true, withSecrets });
  const inner = setOf(needed, { reach, folders: false });
  if (subject === "read" && sharesSecrets(held, needed)) {
    const bare = includes(outer(false), setOf(needed, { reach, folders: false, withSecrets: false }));
    if (bare.holds) return bare;
    // the outer set is no larger with its secrets than without
    if (bare.witness !== undefined && contains(inner, bare.witness)) return bare;
  }
  return includes(outer(true), inner);
}

function change(
  kind: Change["kind"],
  { subject }: Side,
  { text, rule, example }: { readonly text: string; readonly rule: string; readonly example: string | undefined },
): Change {
  if (example !== undefined) return { kind, subject, text, rule, example: pathOf(example) };
  const unsure = kind === "gained" ? " (the patterns are too many to compare, so this counts as gained)" : "";
  return { kind, subject, text: `${text}${unsure}`, rule };
}

/** Whether the head admits nothing at all; `is` is what comparing left of it. */
function isNothing({ setOf, rootsOf, kind }: Side, is: FilePlan, head: Plan): boolean {
  if (rootsOf(head).length === 0) return true;
  if (rootsOf(is).length < rootsOf(head).length) return false;
  const ruled = is.gate.some((rule) => rule.kind === kind);
  // the usual case, without walking: nothing takes everything from a root that nothing is taken from
  if (!ruled && rootsOf(is).some(({ exclude = [] }) => exclude.length === 0)) return false;
  return includes({ globs: [], has: () => false }, setOf(is, { reach: "allowed_or_asked", folders: false })).holds;
}

/**
 * An exclude pattern of a root outside the project also takes from the roots that lie inside of it, and the project may.
 * Where such a root goes away altogether, nothing else would tell.
 */
function lostOutside({ subject, verb, rootsOf }: Side, base: Plan, head: Plan): Change[] {
  if (rootsOf(head).length === 0) return [];
  return rootsOf(base)
    .filter(({ root, exclude = [] }) => !isInProject(root) && exclude.length > 0)
    .filter(({ root }) => !rootsOf(head).some((one) => one.root === root))
    .map(({ root, exclude = [] }) => ({
      kind: "gained",
      subject,
      text: `may now ${verb} what ${list(exclude.map(quote))} took away around ${root}`,
      rule: `/fs/${subject}`,
    }));
}

/** The words for a change: what was added or removed, root by root and pattern by pattern. */
function wordsOf(side: Side, base: Plan, head: Plan): {
  gained(only: boolean): { readonly text: string; readonly rule: string };
  lost(only: boolean, kind: "lost" | "narrowed"): { readonly text: string; readonly rule: string };
} {
  const { verb, subject, rootsOf, kind } = side;
  const named = (plan: Plan) => rootsOf(plan).flatMap(namesOf);
  const excluded = (plan: Plan) => rootsOf(plan).flatMap(excludesOf);
  const ruled = (plan: Plan) =>
    plan.gate.filter((rule) => rule.kind === kind && rule.tools.length === 0)
      .map(({ effect, match, rule }) => ({ key: `${effect} ${match}`, rule }));
  const added = beyond(named(head), named(base));
  const removed = beyond(named(base), named(head));
  const whole = `/fs/${subject}`;
  return {
    gained(only) {
      const [first] = added;
      if (first !== undefined) {
        const instead = only && removed.length > 0 ? ` instead of ${list(removed.map(textOf))}` : "";
        return { text: `${verb} ${list(added.map(textOf))}${instead}`, rule: first.rule };
      }
      const freed = beyond(excluded(base), excluded(head));
      if (freed.length > 0) {
        return { text: `${verb} what ${list(freed.map((one) => quote(textOf(one))))} excluded`, rule: whole };
      }
      const dropped = beyond(ruled(base), ruled(head));
      if (dropped.length > 0) {
        const what = list(dropped.map(({ key }) => quote(key)));
        return { text: `${verb} what the rule ${what} took away`, rule: "/gate" };
      }
      return { text: `${verb} more files`, rule: whole };
    },
    lost(only, kind) {
      if (kind === "lost") {
        return { text: `no longer ${verb} ${list(named(base).map(textOf)) || "files"}`, rule: whole };
      }
      if (removed.length > 0) {
        const gone = list(removed.map(textOf));
        return only && added.length > 0
          ? { text: `${verb} ${list(added.map(textOf))} instead of ${gone}`, rule: added[0]?.rule ?? whole }
          : { text: `no longer ${verb} ${gone}`, rule: whole };
      }
      const [out] = beyond(excluded(head), excluded(base));
      if (out !== undefined) {
        return { text: `no longer ${verb} what ${quote(textOf(out))} excludes`, rule: out.rule };
      }
      const [rule] = beyond(ruled(head), ruled(base));
      if (rule !== undefined) {
        const asked = rule.key.startsWith("ask ");
        const text = asked
          ? `${verb} what the rule ${quote(rule.key)} names only once approved`
          : `no longer ${verb} ` +
            `what the rule ${quote(rule.key)} takes away`;
        return { text, rule: rule.rule };
      }
      return { text: `${verb} fewer files`, rule: whole };
    },
  };
}

interface Named {
  /** The pattern behind its folder; a pattern alone holds anywhere in the project. */
  readonly key: string;
  readonly rule: string;
}

function namesOf({ root, include = [], file, rule }: Root): readonly Named[] {
  if (include.length === 0) return [{ key: file === true ? below(root, "") : below(root, "/**"), rule }];
  return include.map((glob, i) => ({ key: below(root, glob), rule: `${rule}/include/${i}` }));
}

function excludesOf({ root, exclude = [], rule }: Root): readonly Named[] {
  return exclude.map((glob, i) => ({ key: below(root, glob), rule: `${rule}/exclude/${i}` }));
}

/** A pattern without a slash inside holds at any depth: `*.md` in `docs` is `docs/.../*.md` with two stars. */
function below(root: PortablePath, glob: string): string {
  if (glob === "") return root;
  const body = glob.replace(/^\//, "");
  const anchored = glob.startsWith("/") || glob.replace(/\/$/, "").includes("/") || glob === "**";
  if (anchored) return `${root}/${body}`;
  return root === "${project}" ? glob : `${root}/**/${glob}`;
}

/**
 * As a reader of the project would write it; outside of it a path stays absolute. A pattern for the top of the project
 * keeps its slash: without it it would hold at any depth.
 */
function textOf({ key }: Named): string {
  const text = key.replace(/^\$\{project\}\//, "");
  const isTop = text !== key && /[*?[]/.test(text) && !text.replace(/\/$/, "").includes("/") && text !== "**";
  return isTop ? `/${text}` : text;
}

function beyond(these: readonly Named[], those: readonly Named[]): readonly Named[] {
  return these.filter(({ key }) => !those.some((other) => other.key === key));
}

function list(items: readonly string[]): string {
  const more = items.length - MAX_NAMED;
  const named = items.slice(0, more > 0 ? MAX_NAMED : items.length);
  return more > 0 ? `${named.join(", ")} and ${more} more` : named.join(", ");
}

function quote(text: string): string {
  return `"${text}"`;
}

/**
 * Leaves out the roots that both plans have and that no difference touches: below them the plans admit the same. So the
 * work is that of the differences, not of the policies. Two equal sides come back as one and the same object.
 */
function withoutCommon(side: Side, base: Plan, head: Plan): readonly [FilePlan, FilePlan] {
  const { rootsOf, keptOf, kind, subject } = side;
  const rules = (plan: Plan) =>
    canonical(plan.gate.filter((rule) => rule.kind === kind).map(({ rule: _, ...one }) => one));
  const names = (plan: Plan) => canonical(keptOf(plan).filter((entry) => !isPlace(entry)));
  const sameNames = names(base) === names(head) || rootsOf(base).length === 0 || rootsOf(head).length === 0;
  if (rules(base) !== rules(head) || !sameNames) return [base, head];
  const keyOf = ({ root, include, exclude, file }: Root) => JSON.stringify([root, include, exclude, file]);
  const keys = [new Set(rootsOf(base).map(keyOf)), new Set(rootsOf(head).map(keyOf))] as const;
  const differing = [
    ...rootsOf(base).filter((root) => !keys[1].has(keyOf(root))),
    ...rootsOf(head).filter((root) => !keys[0].has(keyOf(root))),
  ].map(({ root }) => root);
  if (differing.some((root) => !isInProject(root))) return [base, head];
  const places = [new Set(keptOf(base).filter(isPlace)), new Set(keptOf(head).filter(isPlace))] as const;
  const moved = [...places[0].symmetricDifference(places[1])];
  const isTouched = ({ root }: Root) =>
    [...differing, ...moved].some((other) => holds(root, other) || holds(other, root));
  const keep = (root: Root) => !keys[0].has(keyOf(root)) || !keys[1].has(keyOf(root)) || isTouched(root);
  const [was, is] = [base, head].map((plan) => ({
    gate: plan.gate,
    fs: { ...plan.fs, [subject]: rootsOf(plan).filter(keep) },
  }));
  if (was === undefined || is === undefined) return [base, head];
  return rootsOf(was).length === 0 && rootsOf(is).length === 0 ? [was, was] : [was, is];
}

function holds(folder: PortablePath, path: PortablePath): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
