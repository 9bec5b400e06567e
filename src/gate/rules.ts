/**
 * The gate's part for the rules that narrow: deny and ask.
 *
 * @module
 */
import { type Glob, makeGlob } from "../authority/glob.ts";
import { isInside, relativeTo } from "../authority/path.ts";
import type { Requirement } from "../authority/requirement.ts";
import { absolute, type GateRule, type Places, type Plan } from "../plan/plan.ts";
import { withRegistry } from "../tools/supply_chain/npm_registry.ts";

/** Finds the first rule that speaks of a requirement: its JSON Pointer, or `null`. */
export interface Rules {
  deny(tool: string, requirement: Requirement): string | null;
  ask(tool: string, requirement: Requirement): string | null;
}

/** Compiles the `gate` block of a plan. */
export function makeRules(plan: Plan, places: Places): Rules {
  const compiled = plan.gate.map((rule) => ({
    rule,
    glob: rule.kind === "command.execute" ? commandPattern(rule.match) : makeGlob(withRegistry(rule.match)),
  }));
  // the few roots outside the project have no relative path: their label stands in front
  const outside = [...plan.fs.read, ...plan.fs.write]
    .map(({ root, label }) => ({ path: absolute(root, places), label }))
    .filter(({ path }) => !isInside(places.project, path));
  const find = (effect: GateRule["effect"], tool: string, { kind, target }: Requirement): string | null => {
    if (compiled.length === 0) return null;
    let subjects: readonly string[] | undefined;
    for (const { rule, glob } of compiled) {
      if (rule.effect !== effect || rule.kind !== kind) continue;
      if (rule.tools.length > 0 && !rule.tools.includes(tool)) continue;
      subjects ??= subjectsOf(kind, target);
      if (matches(glob, rule.match, subjects)) return rule.rule;
    }
    return null;
  };

  /** What a pattern is held against: every relative spelling of a path, host and path of a URL, any other text itself. */
  const subjectsOf = (kind: Requirement["kind"], target: string): readonly string[] => {
    if (kind === "network") {
      const url = target.slice(target.indexOf("https://") + "https://".length);
      return [url, url.replace(/^([^/:]+):443(?=\/|$)/, "$1")];
    }
    if (!kind.startsWith("filesystem.")) return [target];
    const { project } = places;
    const relative = isInside(project, target) ? [relativeTo(project, target)] : [];
    const labelled = outside.filter(({ path }) => isInside(path, target));
    return [...relative, ...labelled.map(({ path, label }) => [label, relativeTo(path, target)].join("/"))];
  };

  return {
    deny: (tool, requirement) => find("deny", tool, requirement),
    ask: (tool, requirement) => find("ask", tool, requirement),
  };
}

/** A command is no path: `*` stands for any run of characters, spaces and slashes included, everything else for itself. */
function commandPattern(match: string): Glob {
  const [first = "", ...rest] = match.split("*");
  return (text) => {
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const [index, part] of rest.entries()) {
      const found = index === rest.length - 1 ? text.length - part.length : text.indexOf(part, at);
      if (found < at || !text.startsWith(part, found)) return false;
      at = found + part.length;
    }
    return at === text.length;
  };
}

function matches(glob: Glob, match: string, subjects: readonly string[]): boolean {
  return subjects.some((subject) => glob(subject) || subject === match);
}
