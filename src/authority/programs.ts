/**
 * Programs that run whatever they are told to: a grant of one is a grant of everything.
 *
 * @module
 */
import { foldPath, nameOf } from "./path.ts";

/** Families of programs by what they do, with the names of their members; a name may carry a version (`python3.12`). */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  shell: [
    ..."sh bash rbash dash ash zsh ksh ksh93 mksh pdksh yash fish csh tcsh rc es nu elvish xonsh pwsh powershell".split(
      " ",
    ),
    ..."busybox toybox osh ysh sash posh".split(" "),
  ],
  runtime: [
    "deno",
    "node",
    "nodejs",
    "bun",
    "bunx",
    "npx",
    "npm",
    "pnpm",
    "pnpx",
    "yarn",
    "corepack",
    "tsx",
    "ts-node",
  ],
  interpreter: [
    ..."python pypy ipython perl ruby irb php lua luajit luatex tclsh wish expect awk gawk mawk nawk original-awk"
      .split(" "),
    ..."sed gsed ed ex vi vim nvim view emacs R Rscript julia java jshell groovy scala kotlin guile scheme racket"
      .split(" "),
    ..."ocaml ghci runghc erl escript elixir iex swift osascript gdb lldb dc bc m4 sqlite3 psql mysql tex pdftex".split(
      " ",
    ),
  ],
  wrapper: [
    ..."env xargs nice nohup timeout setsid stdbuf sudo su doas run0 runuser pkexec ssh sshpass scp rsync script".split(
      " ",
    ),
    ..."unshare nsenter chroot bwrap firejail setpriv prlimit strace ltrace time watch parallel flock ionice chrt"
      .split(" "),
    ..."taskset systemd-run docker podman nerdctl kubectl start-stop-daemon find fd entr git-shell socat nc ncat".split(
      " ",
    ),
    ..."ld ld-linux ld-linux-x86-64 ld-linux-aarch64 ld-musl-x86_64 ld-musl-aarch64 screen tmux dbus-run-session".split(
      " ",
    ),
  ],
  builder: [
    ..."make gmake bmake ninja cmake meson bazel buck just task rake gradle gradlew mvn ant sbt cargo rustc go".split(
      " ",
    ),
    ..."pip pipx uv poetry gem bundle composer gcc cc clang tsc esbuild vite webpack jest vitest".split(" "),
  ],
};

const FAMILY_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(FAMILIES).flatMap(([family, names]) => names.map((name) => [foldPath(name), family])),
);

/** A version behind a name. */
const VERSION = /[-_.]?\d[\d.]*[a-z]?$/;

/**
 * The family of a program that runs other code, by the last segment of its real path: `shell`, `runtime`, `interpreter`,
 * `wrapper` or `builder`; `undefined` for any other. Case and a version behind the name do not matter.
 */
export function codeRunnerFamily(path: string): string | undefined {
  const name = foldPath(nameOf(path)).replace(/\.(?:exe|bin|so(?:\.\d+)*|bat|cmd|com)$/, "");
  const plain = name.replace(/(?:-[\w.]+)+$/, "");
  for (const candidate of [name, plain, name.replace(VERSION, ""), plain.replace(VERSION, "")]) {
    const family = FAMILY_OF.get(candidate);
    if (family !== undefined) return family;
  }
  return undefined;
}
