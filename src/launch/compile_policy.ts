/**
 * From a policy to its plan, with the tools that this program has.
 *
 * @module
 */
import type { Places, Plan } from "../plan/plan.ts";
import { compileLoaded } from "../policy/compile_loaded.ts";
import { programsOf } from "../policy/inspect.ts";
import type { LoadedPolicy } from "../policy/load.ts";
import type { ProgramFact } from "../policy/program_fact.ts";
import type { ToolManifests } from "../tool/manifest.ts";
import manifestsJson from "../tools/manifests.json" with { type: "json" };

/** The manifests of every shipped tool. */
export const MANIFESTS: ToolManifests = manifestsJson as unknown as ToolManifests;

/** A policy with the plan it compiles to. */
export interface CompiledPolicy {
  /** The policy it was compiled from. */
  readonly loaded: LoadedPolicy;
  /** What the plan's portable paths stand for here. */
  readonly places: Places;
  /** Frozen; all that a run knows of the policy. */
  readonly plan: Plan;
  /** What each granted program was when it was looked at, by its name. */
  readonly programs: Readonly<Record<string, ProgramFact>>;
}

/** Compiles a policy without its agent: what `validate` and `explain` need. */
export async function compilePolicy(loaded: LoadedPolicy): Promise<CompiledPolicy> {
  const { facts, plan } = await compileLoaded(loaded, {
    manifests: MANIFESTS,
    env: (name) => Deno.env.get(name),
  });
  return { loaded, places: facts.places, plan, programs: programsOf(facts) };
}
