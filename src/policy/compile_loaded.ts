/**
 * From a loaded policy to a plan in one step: looks at the machine, then compiles.
 *
 * @module
 */
import type { Places, Plan } from "../plan/plan.ts";
import type { ToolManifests } from "../tool/manifest.ts";
import { type AgentModule, compile } from "./compile.ts";
import { type Facts, type FileView, inspect } from "./inspect.ts";
import type { LoadedPolicy } from "./load.ts";
import { placesOf } from "./places.ts";
import { denoDirOf } from "../authority/deno_dir.ts";

/** Options of {@linkcode compileLoaded}. */
export interface CompileOptions {
  readonly manifests: ToolManifests;
  /** Every module of the agent; absent or `null` where only the policy is checked. */
  readonly modules?: readonly AgentModule[] | null;
  /** Default: the places of the policy's project, with `env`. */
  readonly places?: Places;
  /** Reads a variable of the launcher; default: none is set. */
  readonly env?: (name: string) => string | undefined;
  /** Milliseconds since the Unix epoch; default: now. */
  readonly nowMs?: number;
  /** Where files are looked at; default: the disk. */
  readonly view?: FileView;
}

/** A compiled policy with what it was compiled from. */
export interface Compiled {
  readonly loaded: LoadedPolicy;
  readonly facts: Facts;
  readonly plan: Plan;
}

/** Compiles a loaded policy. @throws {PolicyError} With every refusal. */
export async function compileLoaded(loaded: LoadedPolicy, options: CompileOptions): Promise<Compiled> {
  const env = options.env ?? (() => undefined);
  const facts = await inspect(loaded, {
    places: options.places ?? await placesOf(loaded.project, env),
    denoDir: denoDirOf(env),
    nowMs: options.nowMs ?? Date.now(),
    ...(options.view === undefined ? {} : { view: options.view }),
  });
  const plan = compile({ loaded, manifests: options.manifests, facts, modules: options.modules ?? null });
  return { loaded, facts, plan };
}
