/**
 * Finds out by trying whether this machine can confine programs, and writes the wrappers that do.
 *
 * @module
 */
import { SECRET_PLACES } from "../authority/names.ts";
import { isInside, resolvePath } from "../authority/path.ts";
import { ControlError } from "../errors.ts";
import { absolute, backupOf, stateHome } from "../plan/plan.ts";
import type { ProcessPlan } from "../plan/process_plan.ts";
import type { FolderIdentity } from "../plan/program_setup.ts";
import { findProgram } from "./channels.ts";
import { confinedCommand, type ConfineForm, type ConfineSpec, hostNamespace, type Layout } from "./confine.ts";
import type { InsideRoots, PlacedPlan } from "./inside_roots.ts";
import { elfWrapper, scriptWrapper, type WrapperSpec } from "./wrapper.ts";

/** What a probe may take, in milliseconds. */
const PROBE_MS = 5_000;
/** Places of `/etc` that loaders, name look-ups and TLS need. */
const ETC = [
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/alternatives",
  "/etc/passwd",
  "/etc/group",
  "/etc/nsswitch.conf",
  "/etc/localtime",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/pki/tls",
  "/etc/pki/ca-trust",
  "/etc/ca-certificates",
];
const ROOT_LINKS = ["/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"];

/** A plan on this machine, with its write roots as confined programs have them. */
export interface SortedPlan extends PlacedPlan {
  readonly inside: InsideRoots;
}

/** What this machine can do. */
export type Confinement = { readonly form: ConfineForm } | { readonly missing: string };

/** Finds out by trying whether programs can be confined as the plan needs it. */
export async function findConfinement(
  request: SortedPlan,
  process: ProcessPlan,
  dir: string,
): Promise<Confinement> {
  if (Deno.build.os !== "linux") return { missing: `it needs the namespaces of Linux, this is ${Deno.build.os}` };
  const [bwrap, unshare, prlimit, socat] = await Promise.all(
    ["bwrap", "unshare", "prlimit", "socat"].map(findProgram),
  );
  if (bwrap === undefined) return { missing: "bwrap is missing; install bubblewrap" };
  if (process.egress.length > 0 && socat === undefined) return { missing: "socat is missing, which egress needs" };
  const tools = { bwrap, unshare, prlimit, socat };
  const layout = await readLayout();
  const { uid, gid } = { uid: Deno.uid() ?? 0, gid: Deno.gid() ?? 0 };
  let problem = "";
  for (const inFront of unshare === undefined ? [false] : [true, false]) {
    const form: ConfineForm = { tools, layout, uid, gid, inFront };
    const failed = await probe(request, process, { form, dir });
    if (failed === undefined) return { form };
    problem = failed;
  }
  return { missing: problem };
}

/**
 * What gives the host a pid namespace of its own where its programs are not confined: what they leave behind ends with the
 * run then. Empty where this machine has none.
 */
export async function plainNamespace(): Promise<readonly string[]> {
  if (Deno.build.os !== "linux") return [];
  const form = { tools: { unshare: await findProgram("unshare") }, uid: Deno.uid() ?? 0, inFront: true };
  const prefix = hostNamespace(form);
  const [program, ...args] = prefix;
  if (program === undefined) return [];
  return await tryRun(program, [...args, "/usr/bin/true"]) === undefined ? prefix : [];
}

/** Tries a wrapper as the run's own will be, and the namespace of the host. */
async function probe(
  sorted: SortedPlan,
  process: ProcessPlan,
  { form, dir }: { readonly form: ConfineForm; readonly dir: string },
): Promise<string | undefined> {
  const spec = specOf(sorted, process, { program: "/usr/bin/true", env: {}, withWords: false });
  const path = `${dir}/probe-${form.inFront ? "front" : "plain"}`;
  await writeWrapper(path, confinedCommand(form, spec));
  const [program = "", ...prefix] = hostNamespace(form);
  const runs = [tryRun(path, []), ...(program === "" ? [] : [tryRun(program, [...prefix, "/usr/bin/true"])])];
  const [failed] = (await Promise.all(runs)).filter((result) => result !== undefined);
  return failed;
}

/** Runs something that does nothing; says why it failed, or `undefined`. */
export async function tryRun(path: string, args: readonly string[]): Promise<string | undefined> {
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(path, {
      args: [...args],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      clearEnv: true,
      cwd: "/",
    }).spawn();
  } catch {
    return "a wrapper in the user's state folder cannot be started (a file system without exec?)";
  }
  const timer = setTimeout(() => child.kill("SIGKILL"), PROBE_MS);
  const { success, code, stderr } = await child.output();
  clearTimeout(timer);
  if (success) return undefined;
  const [line = ""] = new TextDecoder().decode(stderr).split("\n");
  const words = line.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200);
  return words === "" ? `the probe ended with code ${code}` : words;
}

async function readLayout(): Promise<Layout> {
  const links: Record<string, string | null> = {};
  for (const path of ROOT_LINKS) {
    try {
      const info = await Deno.lstat(path);
      if (info.isSymlink) links[path] = await Deno.readLink(path);
      else if (info.isDirectory) links[path] = null;
    } catch {
      // not on this system
    }
  }
  const etc: string[] = [];
  for (const path of ETC) if (await exists(path)) etc.push(path);
  return { links, etc };
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}

/** What one program of a plan is confined to. */
export function specOf(
  { plan, places, inside }: SortedPlan,
  process: ProcessPlan,
  { program, env, withWords }: Pick<ConfineSpec, "program" | "env" | "withWords">,
): ConfineSpec {
  const folders = process.cwd.map(({ root }) => absolute(root, places));
  const roots = [...folders, ...inside.write, ...inside.readOnly];
  const isSeen = (place: string) => roots.some((root) => isInside(root, place));
  const hidden = [resolvePath(places.project, ".twokey"), stateHome(places)].filter(isSeen);
  const session = plan.session === undefined ? [] : [absolute(plan.session.file, places)];
  const secret = [
    ...folders.flatMap((root) =>
      SECRET_PLACES.filter((name) => name !== ".git/config").map((name) => `${root}/${name}`)
    ),
    ...session.flatMap((file) => [file, backupOf(file)]).filter(isSeen),
  ].filter(isFile);
  const { write, readOnly } = inside;
  // what lies in a folder that can be written is there already; a mount of its own would follow what a program put in
  // the place of a folder above it
  const outer = (root: string) => !write.some((other) => other !== root && isInside(other, root));
  return {
    program,
    env,
    withWords,
    // what cannot be kept from being written inside is not made writable at all
    read: [...new Set([...folders, ...readOnly])].filter((root) => outer(root) && !write.includes(root)),
    write: write.filter(outer),
    hiddenFolders: hidden.filter(isFolder),
    hiddenFiles: [...new Set(secret)].filter((file) => !hidden.some((folder) => isInside(folder, file))),
    timeoutMs: Math.max(...Object.values(plan.tools).map(({ timeoutMs }) => timeoutMs), 0),
  };
}

/**
 * What the folders are now that are mounted for confined programs: a mount follows whatever stands at its path later.
 *
 * @throws {ControlError} If one of them is not where the policy was compiled for.
 */
export function mountedFolders(sorted: SortedPlan, process: ProcessPlan): FolderIdentity[] {
  const { read, write } = specOf(sorted, process, { program: "/usr/bin/true", env: {}, withWords: false });
  return [...read, ...write].map((path) => {
    const info = Deno.realPathSync(path) === path ? Deno.lstatSync(path) : undefined;
    if (info?.isDirectory === true) return { path, dev: info.dev, ino: info.ino ?? 0 };
    throw new ControlError("control_sandbox", "Cannot confine programs: a folder of the policy was moved");
  });
}

function isFolder(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return false;
  }
}

function isFile(path: string): boolean {
  try {
    return Deno.lstatSync(path).isFile;
  } catch {
    return false;
  }
}

/** Writes a wrapper that nobody can change: the user may run and read it, nothing else. */
export async function writeWrapper(path: string, spec: WrapperSpec): Promise<void> {
  const bytes = hasOwnSession() ? elfWrapper(spec) : await scriptBytes(spec);
  await Deno.writeFile(path, bytes, { createNew: true, mode: 0o500 });
}

/** Whether wrappers of this machine begin a session of their own: the ones that are machine code do. */
export function hasOwnSession(): boolean {
  return Deno.build.arch === "x86_64";
}

async function scriptBytes(spec: WrapperSpec): Promise<Uint8Array<ArrayBuffer>> {
  const dash = await findProgram("dash");
  const bash = await findProgram("bash");
  const shell = dash ?? (bash === undefined ? undefined : `${bash} -p`);
  if (shell === undefined) {
    throw new ControlError("control_sandbox", "Cannot write a wrapper: neither dash nor bash is here");
  }
  return new TextEncoder().encode(scriptWrapper(shell, spec));
}
