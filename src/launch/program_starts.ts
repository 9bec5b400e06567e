/**
 * Decides how the programs of a run are started: confined, where the policy asks for it and this machine can, else as
 * they are; writes the wrappers, and says what holds.
 *
 * @module
 */
import { isInside } from "../authority/path.ts";
import { ControlError, InputError } from "../errors.ts";
import { programEnv } from "../gate/program_env.ts";
import { isSecretVariable } from "../authority/variables.ts";
import { MIN_SECRET_BYTES } from "../audit/redact.ts";
import { type JsonObject, utf8Length } from "../json.ts";
import { absolute, type Places, type Plan, portable, type PortablePath } from "../plan/plan.ts";
import type { ProcessPlan } from "../plan/process_plan.ts";
import type { ProgramSetup, ProgramStart } from "../plan/program_setup.ts";
import type { ProgramFact } from "../policy/program_fact.ts";
import { confinedCommand, hostNamespace } from "./confine.ts";
import {
  type Confinement,
  findConfinement,
  hasOwnSession,
  mountedFolders,
  plainNamespace,
  specOf,
  tryRun,
  writeWrapper,
} from "./confinement.ts";
import { type Egress, startEgress } from "./egress.ts";
import { findProtected, type InsideRoots, insideRoots } from "./inside_roots.ts";
import { makePrivateDir } from "./state_dir.ts";

/** What the programs of a run need. */
export interface StartRequest {
  readonly plan: Plan;
  readonly places: Places;
  readonly programs: Readonly<Record<string, ProgramFact>>;
  /** Whether the run refuses whatever its lock does not say: then nothing is left to the machine. */
  readonly locked: boolean;
  /** Value of a variable of the caller. */
  env(name: string): string | undefined;
  /** Takes what the egress process let through or refused. */
  onEgress(record: JsonObject): void;
}

/** How the programs of a run are started. */
export interface ProgramStarts {
  readonly setup: ProgramSetup;
  /** What is put before the host's own command. */
  readonly prefix: readonly string[];
  /** What `run_start` says. */
  readonly record: JsonObject;
  /** What a confined program wrote that no tool may write. To be asked when no program is left. */
  findWritten(): PortablePath | undefined;
  /** Ends the way out of programs: what it counted is handed over before this returns. */
  endEgress(): Promise<void>;
  /** Ends what was started for it and removes what was written. */
  close(): Promise<void>;
}

/**
 * Prepares the programs of a plan.
 *
 * @returns `undefined` for a plan without programs.
 * @throws {ControlError} `control_sandbox`, if a program must be confined and cannot be. Nothing was started then.
 */
export async function prepareStarts(request: StartRequest): Promise<ProgramStarts | undefined> {
  const { plan: { process }, locked } = request;
  if (process === undefined) return undefined;
  const dir = await makeWrapperDir(request);
  const inside: InsideRoots = process.sandbox === "off" ? { write: [], readOnly: [] } : insideRoots(request);
  let egress: Egress | undefined;
  let guard: DirGuard | undefined;
  try {
    const found: Confinement = process.sandbox === "off"
      ? { missing: "the policy turns it off" }
      : await findConfinement({ ...request, inside }, process, dir);
    const mustConfine = process.sandbox === "required" || (process.sandbox === "auto" && locked);
    if ("missing" in found && mustConfine) {
      throw new ControlError("control_sandbox", `Cannot confine the programs of the policy: ${found.missing}`);
    }
    if ("form" in found && process.egress.length > 0) {
      egress = await startEgress({ hosts: process.egress, twokey: request.places.twokey, onRecord: request.onEgress });
    }
    const passed = passedValues(process, request.env);
    const prefix = "form" in found ? hostNamespace(found.form) : await plainNamespace();
    if ("form" in found && Object.keys(passed).length > 0) guard = guardDir(dir);
    const isNamespace = prefix.length > 0;
    const egressSocket = egress?.socket;
    const setup = await writeStarts(request, { process, dir, inside, found, passed, egressSocket, isNamespace });
    return {
      setup,
      prefix,
      record: recordOf(request, process, { found, inside, isNamespace }),
      findWritten: () => {
        const path = "form" in found ? findProtected(inside.write, request) : undefined;
        return path === undefined ? undefined : portable(path, request.places);
      },
      endEgress: async () => await egress?.close(),
      close: async () => {
        await egress?.close();
        await removeDir(dir);
        await guard?.close();
      },
    };
  } catch (error) {
    await egress?.close();
    await removeDir(dir);
    await guard?.close();
    throw error;
  }
}

/** Values of the variables that the caller passes on. @throws {InputError} If a secret is too short to be kept out of texts. */
function passedValues({ env }: ProcessPlan, valueOf: (name: string) => string | undefined): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of env.pass) {
    const value = valueOf(name);
    if (value === undefined) continue;
    if (isSecretVariable(name) && value !== "" && utf8Length(value) < MIN_SECRET_BYTES) {
      throw new InputError(
        "secret_short",
        `Cannot pass the variable "${name}" to programs: it goes by the name of a secret and is under ` +
          `${MIN_SECRET_BYTES} bytes, which cannot be told from harmless text`,
      );
    }
    passed[name] = value;
  }
  return passed;
}

/** A folder that no tool can write into or replace. */
async function makeWrapperDir({ plan, places }: StartRequest): Promise<string> {
  const dir = `${places.state}/wrappers/${Deno.pid}-${crypto.getRandomValues(new Uint8Array(6)).toHex()}`;
  for (const { root } of plan.fs.write) {
    if (!isInside(absolute(root, places), dir)) continue;
    throw new ControlError(
      "control_wrapper_dir",
      "Cannot start programs safely: the user's state folder lies below a root that tools may write",
    );
  }
  await makePrivateDir(dir);
  await sweep(`${places.state}/wrappers`);
  return dir;
}

/** Removes the folders of launchers that are gone. */
async function sweep(folder: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const pid = Number(/^(\d+)-[0-9a-f]{12}$/.exec(name)?.[1]);
    if (!isDirectory || !Number.isSafeInteger(pid) || pid === Deno.pid || await isAlive(pid)) continue;
    await removeDir(`${folder}/${name}`);
  }
}

async function isAlive(pid: number): Promise<boolean> {
  try {
    await Deno.lstat(`/proc/${pid}`);
    return true;
  } catch {
    // where there is no /proc nothing is known, and nothing is removed
    return Deno.build.os !== "linux";
  }
}

async function removeDir(dir: string): Promise<void> {
  try {
    await Deno.remove(dir, { recursive: true });
  } catch {
    // it is gone, or the next run sweeps it
  }
}

/** Removes a folder even if the launcher is killed. */
interface DirGuard {
  /** Lets it go; the folder is removed. */
  close(): Promise<void>;
}

/**
 * Has a process of its own wait for the launcher's end and remove the folder then: wrappers hold values of the caller, and
 * a launcher that is killed removes nothing.
 */
function guardDir(dir: string): DirGuard {
  const child = new Deno.Command("/bin/sh", {
    // the pipe ends with the launcher, whatever ends it
    args: ["-c", 'read -r _; exec rm -rf -- "$1"', "sh", dir],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    detached: true,
  }).spawn();
  child.unref();
  return {
    close: async () => {
      await child.stdin.close();
      await child.status;
    },
  };
}

interface Writing {
  readonly process: ProcessPlan;
  readonly dir: string;
  readonly inside: InsideRoots;
  readonly found: Confinement;
  readonly passed: Readonly<Record<string, string>>;
  readonly egressSocket: string | undefined;
  readonly isNamespace: boolean;
}

/** Writes a wrapper for each command, two where an agent may give variables other values. */
async function writeStarts(request: StartRequest, writing: Writing): Promise<ProgramSetup> {
  const { process, dir, inside, found, passed, egressSocket, isNamespace } = writing;
  const { plan, places, programs } = request;
  const started: [string, ProgramStart][] = [];
  const hasVariables = process.env.pass.length + Object.keys(process.env.set).length > 0;
  for (const [name, command] of Object.entries(process.commands)) {
    const path = absolute(command.path, places);
    const fact = programs[name];
    if (fact === undefined) throw new ControlError("control_program", `Cannot start "${name}": nobody looked at it`);
    const { identity } = fact;
    if ("missing" in found) {
      const run = await plainRun(`${dir}/${name}`, path);
      started.push([name, { run, runWithEnv: null, ownSession: run !== path, path, identity }]);
      continue;
    }
    const env = programEnv(command.args, process, { places, passed });
    const confine = async (file: string, withWords: boolean): Promise<string> => {
      const spec = { ...specOf({ plan, places, inside }, process, { program: path, env, withWords }), egressSocket };
      await writeWrapper(file, confinedCommand(found.form, spec));
      return file;
    };
    const run = await confine(`${dir}/${name}`, false);
    // the environment is the launcher's alone: without variables to choose there is nothing else to run
    const runWithEnv = hasVariables ? await confine(`${dir}/${name}~env`, true) : run;
    started.push([name, { run, runWithEnv, ownSession: hasOwnSession(), path, identity }]);
  }
  return {
    programs: Object.fromEntries(started),
    passed,
    folders: "form" in found ? mountedFolders({ plan, places, inside }, process) : [],
    confined: "form" in found,
    namespaced: isNamespace,
  };
}

/** Without confinement a wrapper still closes what leaks, and dies with the host. */
async function plainRun(file: string, path: string): Promise<string> {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") return path;
  await writeWrapper(file, { path, fixed: [], env: "pass" });
  return await tryExec(file) ? file : path;
}

/** Whether the system starts files of this folder at all. */
async function tryExec(file: string): Promise<boolean> {
  const probe = `${file}~probe`;
  await writeWrapper(probe, { path: "/usr/bin/true", fixed: [], env: {} });
  return await tryRun(probe, []) === undefined;
}

function recordOf(
  { places, programs }: StartRequest,
  process: ProcessPlan,
  { found, inside, isNamespace }: {
    readonly found: Confinement;
    readonly inside: InsideRoots;
    readonly isNamespace: boolean;
  },
): JsonObject {
  const confined = "form" in found;
  const readOnly = inside.readOnly.map((path) => portable(path, places));
  return {
    programs: Object.fromEntries(
      Object.entries(process.commands).map((
        [name, { path }],
      ) => [name, { path, sha256: programs[name]?.sha256 ?? null }]),
    ),
    confinement: {
      sandbox: process.sandbox,
      confined,
      ...(confined
        ? {
          host_pid_namespace: isNamespace,
          limits: found.form.tools.prlimit !== undefined,
          egress: process.egress,
          ...(readOnly.length === 0 ? {} : { read_only_inside: readOnly }),
        }
        : {
          host_pid_namespace: isNamespace,
          why: found.missing,
          means: `programs can do what this user can; what leaves its session outlives its call${
            isNamespace ? "" : " and the run"
          }; the log is only as safe as the programs granted`,
        }),
    },
  };
}
