/**
 * From a policy to everything that a run needs: the compiled plan, the agent's bundle, the inputs that the launcher
 * reads for the host.
 *
 * @module
 */
import { DataError, InputError } from "../errors.ts";
import { sha256 } from "../json.ts";
import type { Places, Plan } from "../plan/plan.ts";
import { absolute } from "../plan/plan.ts";
import { compile } from "../policy/compile.ts";
import { inspect, MAX_INPUT_BYTES, programsOf } from "../policy/inspect.ts";
import type { LoadedPolicy } from "../policy/load.ts";
import { denoDirOf } from "../authority/deno_dir.ts";
import { placesOf } from "../policy/places.ts";
import { type CompiledPolicy, MANIFESTS } from "./compile_policy.ts";
import { makePrivateDir } from "./state_dir.ts";

/** A compiled policy with its agent. */
export interface PreparedRun extends CompiledPolicy {
  /** The agent's bundle. */
  readonly code: string;
}

/** Options of {@linkcode prepareRun}. */
export interface PrepareOptions {
  /** Agent code of twokey's own, in place of the policy's agent. */
  readonly code?: string;
  /** Bundles anew, whatever the cache of finished bundles holds. */
  readonly fresh?: boolean;
  /** Hears one line when something takes long. */
  readonly onProgress?: (line: string) => void;
}

function env(name: string): string | undefined {
  return Deno.env.get(name);
}

/** Compiles a policy and bundles its agent. */
export async function prepareRun(loaded: LoadedPolicy, options: PrepareOptions = {}): Promise<PreparedRun> {
  const places = await placesOf(loaded.project, env);
  const { agent } = loaded.policy;
  const factsLater = inspect(loaded, { places, denoDir: denoDirOf(env), nowMs: Date.now() });
  if (options.code !== undefined) {
    const facts = await factsLater;
    const plan = compile({ loaded, manifests: MANIFESTS, facts, modules: [] });
    return { loaded, places, plan, programs: programsOf(facts), code: options.code };
  }
  if (agent === undefined) {
    throw new DataError("agent_missing", "Cannot run: the policy names no agent", {
      ...(loaded.file === null ? {} : { position: loaded.positionOf("") }),
      fix: 'Add "agent": "agent.ts"',
    });
  }
  const { bundleAgent } = await import("./bundle.ts");
  const bundle = await bundleAgent({
    entry: agent.startsWith("/") ? agent : `${loaded.base}/${agent}`,
    project: loaded.project,
    packages: loaded.policy.packages,
    denoDir: denoDirOf(env) ?? undefined,
    cacheDir: options.fresh === true ? undefined : await bundleDir(places),
    onProgress: options.onProgress,
  });
  const facts = await factsLater;
  const plan = compile({ loaded, manifests: MANIFESTS, facts, modules: bundle.modules });
  return { loaded, places, plan, programs: programsOf(facts), code: bundle.code };
}

/** The folder of finished bundles; `undefined` where it cannot be made, which costs time only. */
async function bundleDir({ state }: Places): Promise<string | undefined> {
  const dir = `${state}/bundles`;
  try {
    await makePrivateDir(dir);
    return dir;
  } catch {
    return undefined;
  }
}

/**
 * Reads what a plan names for its host to have as data: recorded answers, whose form is checked, and skills.
 *
 * @throws {DataError} If one is wrong, or is not what the plan was made from.
 */
export async function readFixtures(
  { network, model, skills = {} }: Plan,
  places: Places,
): Promise<Record<string, string>> {
  const texts: Record<string, string> = Object.create(null);
  if (model !== undefined && model.fixture !== null) {
    const { parseModelFixture } = await import("../plan/model_fixture.ts");
    const { path } = model.fixture;
    texts[path] = await readPlanned(model.fixture, places);
    parseModelFixture(texts[path], path);
  }
  for (const skill of Object.values(skills)) texts[skill.path] = await readPlanned(skill, places);
  if (network.fixtures.length === 0) return texts;
  const { loadFixtures } = await import("../plan/fixtures.ts");
  const files: { file: string; text: string }[] = [];
  for (const { path, sha256 } of network.fixtures) {
    const text = await readPlanned({ path, sha256 }, places);
    files.push({ file: path, text });
    texts[path] = text;
  }
  loadFixtures(files);
  return texts;
}

/** Text of the certificate authority that a plan names: a file, or a variable that holds its path or the text itself. */
export async function readCa({ network: { ca } }: Plan, places: Places): Promise<string | undefined> {
  if (ca === null) return undefined;
  if ("file" in ca) return await readPlanned({ path: ca.file, sha256: ca.sha256 }, places);
  const value = Deno.env.get(ca.fromEnv);
  if (value === undefined || value === "") {
    throw new InputError("ca_unset", `Cannot use the certificate authority: the variable "${ca.fromEnv}" is not set`);
  }
  return value.startsWith("-----BEGIN") ? value : textOf(await readInput(value, `$${ca.fromEnv}`), `$${ca.fromEnv}`);
}

/** Reads a file whose digest stands in the plan, so that what was reviewed, asked for and locked is what is used. */
async function readPlanned(
  { path, sha256: planned }: { readonly path: string; readonly sha256: string },
  places: Places,
): Promise<string> {
  const bytes = await readInput(absolute(path, places), path);
  if (await sha256(bytes) !== planned) {
    throw new DataError("input_changed", `Cannot use "${path}": it has changed since the policy was compiled`, {
      fix: "Run again",
    });
  }
  return textOf(bytes, path);
}

function textOf(bytes: Uint8Array<ArrayBuffer>, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new DataError("input_kind", `Cannot use "${name}": it is not UTF-8 text`, { cause });
  }
}

/** Reads a regular file: a FIFO would hang the launcher, a device need not end. */
async function readInput(path: string, name: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { isFile, size } = await Deno.stat(path);
    if (!isFile || size > MAX_INPUT_BYTES) {
      throw new DataError("input_kind", `Cannot use "${name}": it is no regular file of at most 64 MiB`);
    }
    return await Deno.readFile(path);
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new InputError("input_unreadable", `Cannot read "${name}": it is missing or not readable`, { cause });
  }
}
