/**
 * The changes that people ask for, as edits of the text: grants added and taken away, budgets, isolation, context. Pure.
 *
 * @module
 */
import { usesRoots } from "../authority/file_access.ts";
import { resolvePath } from "../authority/path.ts";
import type { Json, JsonObject } from "../json.ts";
import type { Budgets, Isolation } from "../plan/plan.ts";
import type { ToolManifests } from "../tool/manifest.ts";
import type { PolicyEdit } from "./edit.ts";
import type { Policy } from "./schema.ts";

/** One side of the files that a policy grants. */
export type Side = "read" | "write";

/** A root, and patterns that belong to it. */
export interface RootWords {
  /** As the policy writes it. */
  readonly root: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** Grants a tool, with a root where it needs one; nothing where it is granted. */
export function addTool(
  policy: Policy,
  name: string,
  roots: { readonly read?: string; readonly write?: string } = {},
): PolicyEdit[] {
  return [
    ...((policy.tools ?? []).includes(name) ? [] : [{ act: "append", path: ["tools"], value: name } as const]),
    ...(roots.read === undefined ? [] : addRoot(policy, "read", { root: roots.read })),
    ...(roots.write === undefined ? [] : addRoot(policy, "write", { root: roots.write })),
  ];
}

/**
 * Takes a tool away; nothing where it is not granted.
 *
 * @param options.manifests With them, also the blocks that no other granted tool uses.
 */
export function removeTool(
  policy: Policy,
  name: string,
  options: { readonly manifests?: ToolManifests } = {},
): PolicyEdit[] {
  const tools = policy.tools ?? [];
  const index = tools.indexOf(name);
  if (index < 0) return [];
  const edits: PolicyEdit[] = [{ act: "remove", path: ["tools", index] }];
  const asked = policy.approvals?.require?.indexOf(name) ?? -1;
  if (asked >= 0) {
    const isLast = policy.approvals?.require?.length === 1;
    const isAlone = isLast && (policy.gate?.ask ?? []).length === 0;
    edits.push({
      act: "remove",
      path: isAlone ? ["approvals"] : isLast ? ["approvals", "require"] : ["approvals", "require", asked],
    });
  }
  const { manifests } = options;
  if (manifests === undefined) return edits;
  const left = tools.filter((tool) => tool !== name).flatMap((tool) =>
    Object.hasOwn(manifests, tool) ? manifests[tool]?.authority ?? [] : []
  );
  const unused = (["read", "write"] as const).filter((side) =>
    policy.fs?.[side] !== undefined && !left.some(({ fs }) => usesRoots(fs, side))
  );
  if (unused.length > 0 && unused.length === Object.keys(policy.fs ?? {}).length) {
    edits.push({ act: "remove", path: ["fs"] });
  } else edits.push(...unused.map((side): PolicyEdit => ({ act: "remove", path: ["fs", side] })));
  if (policy.network !== undefined && !left.some(({ endpoints, model }) => (endpoints ?? model) !== undefined)) {
    edits.push({ act: "remove", path: ["network"] });
  }
  if (policy.github !== undefined && !left.some(({ service }) => service === "github")) {
    edits.push({ act: "remove", path: ["github"] });
  }
  if (policy.model !== undefined && !left.some(({ model }) => model !== undefined)) {
    edits.push({ act: "remove", path: ["model"] });
  }
  if (policy.skills !== undefined && !left.some(({ skills }) => skills === true)) {
    edits.push({ act: "remove", path: ["skills"] });
  }
  if (policy.secrets !== undefined && Object.hasOwn(policy.secrets, name)) {
    const isLast = Object.keys(policy.secrets).length === 1;
    edits.push({ act: "remove", path: isLast ? ["secrets"] : ["secrets", name] });
  }
  return edits;
}

/** Grants a root, or adds patterns to one that is granted; nothing where all of it is there. */
export function addRoot(policy: Policy, side: Side, { root, include = [], exclude = [] }: RootWords): PolicyEdit[] {
  const index = indexOfRoot(policy, side, root);
  if (index < 0) {
    const value: JsonObject = {
      root,
      ...(include.length > 0 ? { include } : {}),
      ...(exclude.length > 0 ? { exclude } : {}),
    };
    return [{ act: "append", path: ["fs", side], value }];
  }
  const entry = policy.fs?.read?.[index];
  if (side === "write" || entry === undefined) return [];
  const append = (key: "include" | "exclude", patterns: readonly string[]): PolicyEdit[] =>
    patterns.filter((pattern) => !(entry[key] ?? []).includes(pattern))
      .map((value) => ({ act: "append", path: ["fs", "read", index, key], value }));
  // A root without `include` admits everything already; a list would take away from it.
  return [...(entry.include === undefined ? [] : append("include", include)), ...append("exclude", exclude)];
}

/** Takes a root away, or patterns from it; nothing where none of it is there. */
export function removeRoot(policy: Policy, side: Side, { root, include = [], exclude = [] }: RootWords): PolicyEdit[] {
  const index = indexOfRoot(policy, side, root);
  if (index < 0) return [];
  const entry = policy.fs?.read?.[index];
  if (include.length + exclude.length > 0 && side === "read" && entry !== undefined) {
    return (["include", "exclude"] as const).flatMap((key) => {
      const gone = key === "include" ? include : exclude;
      // From the end, so that the indexes of the others stay true.
      return (entry[key] ?? []).flatMap((pattern, at): PolicyEdit[] =>
        gone.includes(pattern) ? [{ act: "remove", path: ["fs", "read", index, key, at] }] : []
      ).toReversed();
    });
  }
  const roots = policy.fs?.[side] ?? [];
  if (roots.length > 1) return [{ act: "remove", path: ["fs", side, index] }];
  return [{ act: "remove", path: Object.keys(policy.fs ?? {}).length > 1 ? ["fs", side] : ["fs"] }];
}

/** Sets budgets. */
export function setBudgets(budgets: ReadonlyMap<keyof Budgets, number>): PolicyEdit[] {
  return [...budgets].map(([name, value]) => ({ act: "set", path: ["budgets", name], value }));
}

/** Puts budgets back to their defaults. */
export function unsetBudgets(policy: Policy, names: readonly (keyof Budgets)[]): PolicyEdit[] {
  const set = Object.keys(policy.budgets ?? {});
  const gone = names.filter((name) => set.includes(name));
  if (gone.length > 0 && gone.length === set.length) return [{ act: "remove", path: ["budgets"] }];
  return gone.map((name) => ({ act: "remove", path: ["budgets", name] }));
}

/** Sets where agent code runs. */
export function setIsolation(isolation: Isolation): PolicyEdit[] {
  return [{ act: "set", path: ["isolation"], value: isolation }];
}

/** Sets what the agent sees as `context`. */
export function setContext(context: Json): PolicyEdit[] {
  return [{ act: "set", path: ["context"], value: context }];
}

/** Takes the context away; nothing where there is none. */
export function unsetContext(policy: Policy): PolicyEdit[] {
  return policy.context === undefined ? [] : [{ act: "remove", path: ["context"] }];
}

function indexOfRoot(policy: Policy, side: Side, root: string): number {
  // only compared: any folder will do as the one that both are seen from
  const seen = (path: string) => resolvePath("/a/b/c/d/e/f/g/h", path);
  return (policy.fs?.[side] ?? []).findIndex((entry) => seen(entry.root) === seen(root));
}
