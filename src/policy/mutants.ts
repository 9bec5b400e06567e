/**
 * Small changes to a policy, each of which its tests should notice: a line dropped, a line widened. Pure.
 *
 * @module
 */
import { type FileAccess, usesRoots } from "../authority/file_access.ts";
import type { Policy } from "./schema.ts";

/** A changed policy. */
export interface Mutant {
  /** What was changed, for people. */
  readonly what: string;
  /** JSON Pointer of the line that was changed. */
  readonly rule: string;
  readonly kind: "dropped" | "widened";
  readonly policy: Policy;
}

/** What mutants need to know of the tools. */
export interface MutantTools {
  /** Tools that the policy could grant and does not. */
  readonly others: readonly string[];
  /** Which roots a tool needs. */
  fsOf(tool: string): FileAccess | undefined;
}

/** Every mutant of a policy, in the order of its lines. */
export function mutantsOf(policy: Policy, tools: MutantTools): readonly Mutant[] {
  return [
    ...ofTools(policy, tools),
    ...ofReads(policy),
    ...ofWrites(policy),
    ...ofRepositories(policy),
    ...ofModels(policy),
    ...ofSkills(policy),
    ...ofRules(policy),
    ...ofApprovals(policy),
  ];
}

function ofTools(policy: Policy, { others, fsOf }: MutantTools): Mutant[] {
  const tools = policy.tools ?? [];
  const dropped = tools.map((tool, i): Mutant => ({
    what: `the tool "${tool}"`,
    rule: `/tools/${i}`,
    kind: "dropped",
    policy: withoutTool(policy, tool, fsOf),
  }));
  if (others.length === 0) return dropped;
  const widened: Mutant = {
    what: `the list of tools, by ${others.map((tool) => `"${tool}"`).join(", ")}`,
    rule: "/tools",
    kind: "widened",
    policy: { ...policy, tools: [...tools, ...others] },
  };
  return [...dropped, widened];
}

/** A tool goes with the roots and the rules that no other tool needs: without it they would be no policy. */
function withoutTool(policy: Policy, tool: string, fsOf: MutantTools["fsOf"]): Policy {
  const tools = (policy.tools ?? []).filter((name) => name !== tool);
  const lost = (["read", "write"] as const).filter((kind) =>
    usesRoots(fsOf(tool), kind) && !tools.some((name) => usesRoots(fsOf(name), kind))
  );
  const { fs, gate, approvals: asked, ...rest } = policy;
  const { read, write } = fs ?? {};
  const kept = {
    ...(read === undefined || lost.includes("read") ? {} : { read }),
    ...(write === undefined || lost.includes("write") ? {} : { write }),
  };
  const rulesOf = (effect: "deny" | "ask") =>
    (gate?.[effect] ?? []).flatMap((rule) => {
      if (lost.some((kind) => rule.kind === `filesystem.${kind}`)) return [];
      if (rule.tools === undefined || !rule.tools.includes(tool)) return [rule];
      const left = rule.tools.filter((name) => name !== tool);
      return left.length === 0 ? [] : [{ ...rule, tools: left }];
    });
  const approvals = asked === undefined ? undefined : withoutApproval({ ...policy, approvals: asked }, tool).approvals;
  return {
    ...rest,
    ...(approvals === undefined ? {} : { approvals }),
    tools,
    ...(Object.keys(kept).length > 0 ? { fs: kept } : {}),
    ...(gate === undefined ? {} : { gate: { deny: rulesOf("deny"), ask: rulesOf("ask") } }),
  };
}

type ReadRoots = NonNullable<NonNullable<Policy["fs"]>["read"]>;

function ofReads(policy: Policy): Mutant[] {
  const roots = policy.fs?.read ?? [];
  const withRoots = (read: ReadRoots): Policy => ({ ...policy, fs: { ...policy.fs, read } });
  return roots.flatMap((entry, i) => {
    const rule = `/fs/read/${i}`;
    const replaced = (next: ReadRoots[number]) => withRoots(roots.map((one, at) => at === i ? next : one));
    const { include = [], exclude = [], ...rest } = entry;
    const mutants: Mutant[] = [
      { what: `the read root "${entry.root}"`, rule, kind: "dropped", policy: withRoots(without(roots, i)) },
    ];
    if (include.length > 0) {
      mutants.push({
        what: `"include" of the read root "${entry.root}"`,
        rule: `${rule}/include`,
        kind: "widened",
        policy: replaced({ ...rest, ...(exclude.length > 0 ? { exclude } : {}) }),
      });
    }
    if (include.length > 1) {
      for (const [at, pattern] of include.entries()) {
        mutants.push({
          what: `the include pattern "${pattern}"`,
          rule: `${rule}/include/${at}`,
          kind: "dropped",
          policy: replaced({ ...entry, include: without(include, at) }),
        });
      }
    }
    for (const [at, pattern] of exclude.entries()) {
      const left = without(exclude, at);
      const { exclude: _, ...unexcluded } = entry;
      mutants.push({
        what: `the exclude pattern "${pattern}"`,
        rule: `${rule}/exclude/${at}`,
        kind: "dropped",
        policy: replaced(left.length === 0 ? unexcluded : { ...entry, exclude: left }),
      });
    }
    const parent = widerRoot(entry.root);
    if (parent !== undefined) {
      mutants.push({
        what: `the read root "${entry.root}" to "${parent}"`,
        rule: `${rule}/root`,
        kind: "widened",
        policy: replaced({ ...entry, root: parent }),
      });
    }
    return mutants;
  });
}

function ofWrites(policy: Policy): Mutant[] {
  const roots = policy.fs?.write ?? [];
  const withRoots = (write: typeof roots): Policy => ({ ...policy, fs: { ...policy.fs, write } });
  return roots.flatMap(({ root }, i) => {
    const rule = `/fs/write/${i}`;
    const parent = widerRoot(root);
    const dropped: Mutant = {
      what: `the write root "${root}"`,
      rule,
      kind: "dropped",
      policy: withRoots(without(roots, i)),
    };
    if (parent === undefined) return [dropped];
    const widened: Mutant = {
      what: `the write root "${root}" to "${parent}"`,
      rule: `${rule}/root`,
      kind: "widened",
      policy: withRoots(roots.map((one, at) => at === i ? { ...one, root: parent } : one)),
    };
    return [dropped, widened];
  });
}

/** A repository that is not named any more, and an owner of whom one is named, whole. */
function ofRepositories(policy: Policy): Mutant[] {
  const { github } = policy;
  if (github === undefined) return [];
  const { repos } = github;
  const withRepos = (left: readonly string[]): Policy => ({ ...policy, github: { ...github, repos: [...left] } });
  return repos.flatMap((repo, i) => {
    const rule = `/github/repos/${i}`;
    const whole = `${repo.split("/")[0]}/*`;
    const mutants: Mutant[] = [];
    // A policy of no repository does not compile
    if (repos.length > 1) {
      mutants.push({ what: `the repository "${repo}"`, rule, kind: "dropped", policy: withRepos(without(repos, i)) });
    }
    if (!repos.some((one) => one.toLowerCase() === whole.toLowerCase())) {
      mutants.push({
        what: `the repository "${repo}" to "${whole}"`,
        rule,
        kind: "widened",
        policy: withRepos(repos.map((one, at) => at === i ? whole : one)),
      });
    }
    return mutants;
  });
}

/** A model that is not named any more; a policy of no model does not compile. */
function ofModels(policy: Policy): Mutant[] {
  const { model } = policy;
  const { models = [] } = model ?? {};
  if (model === undefined || models.length < 2) return [];
  return models.map((name, i): Mutant => ({
    what: `the model "${name}"`,
    rule: `/model/models/${i}`,
    kind: "dropped",
    policy: { ...policy, model: { ...model, models: without(models, i) } },
  }));
}

/** A skill that is not named any more; a policy of no skill does not compile. */
function ofSkills(policy: Policy): Mutant[] {
  const { skills } = policy;
  if (skills === undefined) return [];
  const { embedded = {}, workspace = [] } = skills;
  const dropped = (name: string, rule: string, left: Policy["skills"]): Mutant => ({
    what: `the skill "${name}"`,
    rule,
    kind: "dropped",
    policy: { ...policy, skills: left },
  });
  if (Object.keys(embedded).length + workspace.length < 2) return [];
  return [
    ...Object.keys(embedded).map((name) => {
      const left = Object.fromEntries(Object.entries(embedded).filter(([other]) => other !== name));
      return dropped(name, `/skills/embedded/${name}`, { ...skills, embedded: left });
    }),
    ...workspace.map((name, i) => {
      const left = without(workspace, i);
      const { workspace: _, ...others } = skills;
      return dropped(name, `/skills/workspace/${i}`, left.length === 0 ? others : { ...skills, workspace: left });
    }),
  ];
}

function ofRules(policy: Policy): Mutant[] {
  return (["deny", "ask"] as const).flatMap((effect) => {
    const rules = policy.gate?.[effect] ?? [];
    return rules.map(({ kind, match }, i): Mutant => {
      const left = without(rules, i);
      const { [effect]: _, ...others } = policy.gate ?? {};
      return {
        what: `the ${effect} rule for ${kind} "${match}"`,
        rule: `/gate/${effect}/${i}`,
        kind: "dropped",
        policy: { ...policy, gate: left.length === 0 ? others : { ...others, [effect]: left } },
      };
    });
  });
}

/** A tool that asks no more. Nothing else of the block can be widened by a line that is gone. */
function ofApprovals(policy: Policy): Mutant[] {
  return (policy.approvals?.require ?? []).map((tool, i): Mutant => ({
    what: `the approval that "${tool}" needs`,
    rule: `/approvals/require/${i}`,
    kind: "dropped",
    policy: withoutApproval(policy, tool),
  }));
}

/** A block in which nothing asks any more would be refused, so it goes as well. */
function withoutApproval({ approvals, ...policy }: Policy, tool: string): Policy {
  const { require = [], ...terms } = approvals ?? {};
  const left = require.filter((name) => name !== tool);
  if (left.length === 0 && (policy.gate?.ask ?? []).length === 0) return policy;
  return { ...policy, approvals: { ...terms, ...(left.length === 0 ? {} : { require: left }) } };
}

/** The folder around a relative root; `undefined` at the top and for paths that lead upwards. */
function widerRoot(root: string): string | undefined {
  const parts = root.split("/").filter((part) => part !== "" && part !== ".");
  if (root.startsWith("/") || parts.length === 0 || parts[0] === "..") return undefined;
  return parts.slice(0, -1).join("/") || ".";
}

function without<T>(items: readonly T[], index: number): T[] {
  return items.filter((_, at) => at !== index);
}
