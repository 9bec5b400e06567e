/**
 * What a confined program is started with: namespaces of its own, no capability, no network, only the files that the plan
 * names, and limits that hold inside. Pure: the launcher finds out what there is and writes the result into wrappers.
 *
 * @module
 */
import { isInside } from "../authority/path.ts";
import { isLoaderVariable, isSecretVariable } from "../authority/variables.ts";
import type { WrapperSpec } from "./wrapper.ts";

/** Bytes of `/tmp` inside, which is memory. */
const TMP_BYTES = 268_435_456;
/** Limits of each process inside: bytes of data, of one file; processes, open files. */
const LIMITS = { data: 4_294_967_296, fsize: 1_073_741_824, nproc: 512, nofile: 1024 };
/** Processor seconds of each process beyond the deadline of its call. */
const CPU_SLACK = 5;
/** Port of the forwarder inside. */
const PROXY_PORT = 3128;
/** Where the socket of the egress process is inside. */
const PROXY_SOCKET = "/run/egress.sock";

/** The helpers of the base system, by absolute path. */
export interface ConfineTools {
  readonly bwrap: string;
  readonly unshare: string | undefined;
  readonly prlimit: string | undefined;
  readonly socat: string | undefined;
}

/** What this machine's root folder looks like. */
export interface Layout {
  /** `/bin`, `/lib` …: where each leads to, or `null` for a real folder. */
  readonly links: Readonly<Record<string, string | null>>;
  /** Files and folders of `/etc` that exist and that programs need. */
  readonly etc: readonly string[];
}

/** One program to confine. */
export interface ConfineSpec {
  /** Absolute path of the program. */
  readonly program: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Folders that can be read. */
  readonly read: readonly string[];
  /** Folders that can be written. */
  readonly write: readonly string[];
  /** Places below those folders that are not there: folders, and files that are empty. */
  readonly hiddenFolders: readonly string[];
  readonly hiddenFiles: readonly string[];
  /** Deadline of a call in milliseconds. */
  readonly timeoutMs: number;
  /** Socket of the egress process; absent: no network. */
  readonly egressSocket?: string | undefined;
  /** Whether words `NAME=value` and `--` come before the arguments. */
  readonly withWords: boolean;
}

/** How far this machine goes. */
export interface ConfineForm {
  readonly tools: ConfineTools;
  readonly layout: Layout;
  readonly uid: number;
  readonly gid: number;
  /** Whether `unshare` stands in front, so that nothing outlives a kill during the set-up. */
  readonly inFront: boolean;
}

/** What the host's namespace depends on. */
export type NamespaceForm = Pick<ConfineForm, "uid" | "inFront"> & { readonly tools: Pick<ConfineTools, "unshare"> };

/** Variables that a shell adds on its way. */
const SHELL_VARIABLES = ["OLDPWD", "SHLVL", "_"];

/**
 * What a wrapper that confines starts. Its environment is that of the helpers, outside of the confinement: the values
 * of the caller are in it, because everybody on the machine can read arguments; nothing that loads code.
 */
export function confinedCommand(form: ConfineForm, spec: ConfineSpec): WrapperSpec {
  const { tools, inFront } = form;
  const confined = [...bwrapArgs(form, spec), "--", ...insideCommand(form, spec)];
  const env = Object.fromEntries(Object.entries(spec.env).filter(([name]) => isInherited(name)));
  if (!inFront || tools.unshare === undefined) return { path: tools.bwrap, fixed: confined, env };
  return {
    path: tools.unshare,
    env,
    fixed: ["--user", "--map-current-user", "--pid", "--fork", "--kill-child=KILL", "--", tools.bwrap, ...confined],
  };
}

/** Whether a variable goes through the helpers' environment. One that makes them load code stands in the arguments. */
function isInherited(name: string): boolean {
  return isSecretVariable(name) || !isLoaderVariable(name);
}

/** What starts the host in a pid namespace of its own, so that nothing it started outlives it; empty where not possible. */
export function hostNamespace({ tools, uid, inFront }: NamespaceForm): readonly string[] {
  if (!inFront || tools.unshare === undefined) return [];
  const user = uid === 0 ? [] : ["--user", "--map-current-user"];
  return [tools.unshare, ...user, "--pid", "--mount", "--fork", "--mount-proc", "--kill-child=KILL", "--"];
}

function bwrapArgs({ layout, uid, gid }: ConfineForm, spec: ConfineSpec): string[] {
  const own = { PATH: "/usr/bin:/bin", HOME: "/tmp", LANG: "C.UTF-8", ...proxyEnv(spec) };
  const shown = [
    ...Object.entries(own).filter(([name]) => !Object.hasOwn(spec.env, name)),
    ...Object.entries(spec.env).filter(([name]) => !isInherited(name)),
  ];
  const inherits = Object.keys(spec.env).some(isInherited);
  return [
    "--unshare-user",
    "--uid",
    String(uid),
    "--gid",
    String(gid),
    ...["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...["--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--hostname", "sandbox"],
    ...(inherits ? SHELL_VARIABLES.flatMap((name) => ["--unsetenv", name]) : ["--clearenv"]),
    ...shown.flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--ro-bind", "/usr", "/usr"],
    ...Object.entries(layout.links).flatMap(([path, target]) =>
      target === null ? ["--ro-bind", path, path] : ["--symlink", target, path]
    ),
    ...layout.etc.flatMap((path) => ["--ro-bind", path, path]),
    ...["--proc", "/proc", "--dev", "/dev", "--size", String(TMP_BYTES), "--tmpfs", "/tmp"],
    ...mounts(spec),
    ...["--remount-ro", "/"],
  ];
}

/** Outer folders first, so that an inner one is not covered again; what is hidden comes last of all. */
function mounts(spec: ConfineSpec): string[] {
  const program = isInside("/usr", spec.program) ? [] : [[spec.program, "--ro-bind"] as const];
  const folders = [
    ...spec.read.map((path) => [path, "--ro-bind"] as const),
    ...spec.write.map((path) => [path, "--bind"] as const),
  ];
  return [
    ...folders.toSorted(([a], [b]) => a.length - b.length).flatMap(([path, how]) => [how, path, path]),
    ...program.flatMap(([path, how]) => [how, path, path]),
    ...spec.hiddenFolders.flatMap((path) => ["--tmpfs", path, "--remount-ro", path]),
    ...spec.hiddenFiles.flatMap((path) => ["--ro-bind", "/dev/null", path]),
    ...(spec.egressSocket === undefined ? [] : ["--ro-bind", spec.egressSocket, PROXY_SOCKET]),
  ];
}

function proxyEnv({ egressSocket }: ConfineSpec): Record<string, string> {
  if (egressSocket === undefined) return {};
  const url = `http://127.0.0.1:${PROXY_PORT}`;
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
  return { ...Object.fromEntries(names.map((name) => [name, url])), NO_PROXY: "", no_proxy: "" };
}

/** What runs inside: the forwarder where there is one, chosen variables, limits, the program. */
function insideCommand({ tools }: ConfineForm, spec: ConfineSpec): string[] {
  const { program, timeoutMs, egressSocket, withWords } = spec;
  const limited = tools.prlimit === undefined ? [program] : [
    tools.prlimit,
    `--data=${LIMITS.data}`,
    `--cpu=${Math.ceil(timeoutMs / 1000) + CPU_SLACK}`,
    `--fsize=${LIMITS.fsize}`,
    `--nproc=${LIMITS.nproc}`,
    `--nofile=${LIMITS.nofile}`,
    "--core=0",
    "--",
    program,
  ];
  const chosen = withWords ? ["/bin/sh", "-c", EXPORT_WORDS, "sh", String(limited.length), ...limited] : limited;
  if (egressSocket === undefined || tools.socat === undefined) return chosen;
  return ["/bin/sh", "-c", FORWARD, "sh", tools.socat, ...chosen];
}

/**
 * Exports the words before `--` and runs the fixed command with what is behind it. The fixed command comes first, with
 * its length, so that no word can be taken for a part of it.
 */
const EXPORT_WORDS = [
  "_twokey_n=$1; shift; _twokey_i=0; _twokey_run=",
  'while [ "$_twokey_i" -lt "$_twokey_n" ]; do',
  '  eval "_twokey_$_twokey_i=\\$1"; _twokey_run="$_twokey_run \\"\\$_twokey_$_twokey_i\\""',
  "  shift; _twokey_i=$((_twokey_i+1))",
  "done",
  'while [ "$1" != -- ]; do export "$1"; shift; done; shift',
  'eval "exec $_twokey_run \\"\\$@\\""',
].join("\n");

/** Starts the forwarder, waits until it listens, at most some two seconds, and becomes the command. */
const FORWARD = [
  "s=$1; shift",
  `"$s" TCP-LISTEN:${PROXY_PORT},bind=127.0.0.1,reuseaddr,fork UNIX-CONNECT:${PROXY_SOCKET} </dev/null >/dev/null 2>&1 &`,
  "i=0",
  `while [ "$i" -lt 2000 ]; do`,
  "  while read -r _ a _ st _; do",
  `    case "$a $st" in "0100007F:${PROXY_PORT.toString(16).toUpperCase().padStart(4, "0")} 0A") i=9999; break;; esac`,
  "  done </proc/net/tcp",
  "  i=$((i+1))",
  "done",
  'exec "$@"',
].join("\n");
