/**
 * The skills of a plan in words.
 *
 * @module
 */
import type { Plan } from "../plan/plan.ts";
import type { Explained } from "./explain.ts";

/** Says which skills may be loaded, by whom, and what each is for. */
export function explainSkills({ skills = {}, tools }: Plan, at: (pointer: string) => string): Explained[] {
  const loaders = Object.entries(tools).filter(([, { skills }]) => skills === true).map(([name]) => name);
  return Object.entries(skills).map(([name, { source, path, sha256, description, rule }]) => ({
    what: `${name} (${source}): ${path} (sha256 ${sha256.slice(0, 12)}…)`,
    at: at(rule),
    tools: loaders,
    beyond: `${source === "workspace" ? "untrusted text" : "text"}, never run: ${description.replaceAll(/\s+/g, " ")}`,
  }));
}
