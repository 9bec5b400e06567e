/**
 * The environment of a program, before an agent chooses anything. Pure: launcher and host make the same one.
 *
 * @module
 */
import { parentOf } from "../authority/path.ts";
import { absolute, type Places } from "../plan/plan.ts";
import type { CommandGrammar, ProcessPlan } from "../plan/process_plan.ts";
import { GIT_ENV } from "./git_grammar.ts";

/** Variables that a grammar sets; nothing else gives them another value. */
export function grammarEnv(grammar: CommandGrammar, process: ProcessPlan, places: Places): Record<string, string> {
  if (grammar.kind !== "git") return {};
  // git looks for its repository upwards: never above a folder that the policy names
  const above = process.cwd.map(({ root }) => parentOf(absolute(root, places))).filter((path) => !path.includes(":"));
  return { ...GIT_ENV, GIT_CEILING_DIRECTORIES: [...new Set(above)].join(":") };
}

/** The whole environment of a program: fixed values, the caller's, then what its grammar sets. */
export function programEnv(
  grammar: CommandGrammar,
  process: ProcessPlan,
  { places, passed }: { readonly places: Places; readonly passed: Readonly<Record<string, string>> },
): Record<string, string> {
  return { ...process.env.set, ...passed, ...grammarEnv(grammar, process, places) };
}
