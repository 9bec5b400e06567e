/**
 * The ready grammar for git: subcommands that only read, with the settings under which no configuration makes them start
 * a program, fetch, page, or follow a submodule.
 *
 * Settings of the repository itself that name programs are not for this module: whoever runs git looks at them first.
 *
 * @module
 */
import type { ArgumentRules, ValueKind } from "../plan/process_plan.ts";
import {
  type CheckedArguments,
  type Invocation,
  parseArguments,
  positionalsProblem,
  refused,
} from "./argument_parser.ts";

/** One subcommand. */
interface Subcommand {
  readonly options: ArgumentRules["options"];
  /** Revisions before `--`, at most; 0: what stands before `--` are paths. */
  readonly revisions: number;
  /** Paths, at most. */
  readonly paths: number;
  /** Arguments that are always added, behind the subcommand's name. */
  readonly forced: readonly string[];
  /** Whether git reads `--end-of-options` there. */
  readonly endOfOptions: boolean;
}

const MAX_PATHS = 64;

const flags = (words: string): Record<string, "flag"> =>
  Object.fromEntries(words.split(" ").filter((word) => word !== "").map((word) => [word, "flag"]));

const DIFF: Readonly<Record<string, "flag" | ValueKind>> = {
  ...flags(
    "-p -u --patch -s --no-patch --raw --stat --shortstat --numstat --summary --name-only --name-status --compact-summary " +
      "--minimal --patience --histogram -w -b --ignore-all-space --ignore-space-change --ignore-space-at-eol " +
      "--ignore-blank-lines --no-renames -z --full-index --binary --check -R -a --text --word-diff --function-context " +
      "--find-renames --find-copies --exit-code --quiet --no-prefix --dirstat --pickaxe-all",
  ),
  "--unified": "number",
  "--diff-filter": "text",
  "--diff-algorithm": ["default", "myers", "minimal", "patience", "histogram"],
  "--abbrev=": "number",
  "--stat=": "text",
  "--inter-hunk-context": "number",
  "-S": "text",
  "-G": "text",
};

const LOG: Readonly<Record<string, "flag" | ValueKind>> = {
  ...DIFF,
  ...flags(
    "--oneline --graph --decorate --no-decorate --all --branches --tags --remotes --reverse --merges --no-merges " +
      "--first-parent --follow --topo-order --date-order --author-date-order --abbrev-commit --no-abbrev-commit --parents " +
      "--children --left-right --cherry-pick --boundary --full-history --simplify-merges --ancestry-path -m -i " +
      "--regexp-ignore-case --fixed-strings --extended-regexp --all-match --invert-grep --no-notes --relative-date " +
      "--abbrev -# --name-rev --count",
  ),
  "-n": "number",
  "--max-count": "number",
  "--skip": "number",
  "--since": "text",
  "--after": "text",
  "--until": "text",
  "--before": "text",
  "--author": "pattern",
  "--committer": "pattern",
  "--grep": "pattern",
  "--format": "pattern",
  "--pretty": "pattern",
  "--date": "text",
  "--min-parents": "number",
  "--max-parents": "number",
};

const FORCED_DIFF = ["--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color"];

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  status: {
    options: {
      ...flags(
        "-s --short -b --branch --porcelain --long -z --ignored --ahead-behind --no-ahead-behind --no-renames -v",
      ),
      "--porcelain=": ["v1", "v2"],
      "--untracked-files": ["no", "normal", "all"],
    },
    revisions: 0,
    paths: MAX_PATHS,
    forced: ["--ignore-submodules=all"],
    endOfOptions: false,
  },
  log: { options: LOG, revisions: 16, paths: MAX_PATHS, forced: FORCED_DIFF, endOfOptions: true },
  show: { options: LOG, revisions: 16, paths: MAX_PATHS, forced: FORCED_DIFF, endOfOptions: true },
  diff: {
    options: { ...DIFF, ...flags("--cached --staged --merge-base") },
    revisions: 2,
    paths: MAX_PATHS,
    forced: FORCED_DIFF,
    endOfOptions: true,
  },
  "rev-list": {
    options: { ...LOG, ...flags("--objects --timestamp") },
    revisions: 16,
    paths: MAX_PATHS,
    forced: [],
    endOfOptions: true,
  },
  shortlog: {
    options: {
      ...flags("-s --summary -n --numbered -e --email --no-merges --all"),
      "--since": "text",
      "--until": "text",
    },
    revisions: 16,
    paths: MAX_PATHS,
    forced: [],
    endOfOptions: false,
  },
  blame: {
    options: {
      ...flags("-w -e -n -s -l -t -f --show-name --show-number --show-email --porcelain --line-porcelain --root"),
      "-L": "text",
      "--since": "text",
    },
    revisions: 1,
    paths: 1,
    forced: ["--no-progress"],
    endOfOptions: false,
  },
  "ls-files": {
    options: flags(
      "-c --cached -d --deleted -m --modified -o --others -s --stage -t -z --exclude-standard --full-name --error-unmatch " +
        "--directory --deduplicate --eol",
    ),
    revisions: 0,
    paths: MAX_PATHS,
    forced: [],
    endOfOptions: false,
  },
  "ls-tree": {
    options: flags("-r -d -t -l -z --long --name-only --name-status --full-name --full-tree"),
    revisions: 1,
    paths: MAX_PATHS,
    forced: [],
    endOfOptions: false,
  },
  "rev-parse": {
    options: {
      ...flags(
        "--verify -q --quiet --short --abbrev-ref --symbolic --symbolic-full-name --show-prefix --all --branches",
      ),
      ...flags("--is-inside-work-tree --is-bare-repository --is-shallow-repository"),
      "--short=": "number",
    },
    revisions: 16,
    paths: 0,
    forced: [],
    endOfOptions: false,
  },
  "cat-file": { options: flags("-t -s -p -e"), revisions: 1, paths: 0, forced: [], endOfOptions: false },
  describe: {
    options: {
      ...flags("--tags --all --always --long --exact-match --contains --first-parent"),
      "--abbrev": "number",
      "--match": "pattern",
      "--exclude": "pattern",
    },
    revisions: 1,
    paths: 0,
    forced: [],
    endOfOptions: false,
  },
  "merge-base": {
    options: flags("--all --is-ancestor --fork-point --independent --octopus"),
    revisions: 8,
    paths: 0,
    forced: [],
    endOfOptions: false,
  },
  "for-each-ref": {
    options: { "--format": "pattern", "--sort": "text", "--count": "number", "--merged": "revision" },
    revisions: 8,
    paths: 0,
    forced: [],
    endOfOptions: false,
  },
  "show-ref": {
    options: flags("--head --heads --tags -d --dereference -s --hash --verify -q --quiet"),
    revisions: 8,
    paths: 0,
    forced: [],
    endOfOptions: false,
  },
  branch: {
    options: { ...flags("-a --all -r --remotes -v --verbose"), "--sort": "text", "--format": "pattern" },
    revisions: 0,
    paths: 0,
    forced: ["--list", "--no-color"],
    endOfOptions: false,
  },
  tag: {
    options: { "--sort": "text", "--format": "pattern", "--contains": "revision", "--points-at": "revision" },
    revisions: 0,
    paths: 0,
    forced: ["--list", "--no-color"],
    endOfOptions: false,
  },
  version: { options: {}, revisions: 0, paths: 0, forced: [], endOfOptions: false },
};

/** Settings that win over every file. */
const SETTINGS = Object.entries({
  "core.fsmonitor": "false",
  "core.hooksPath": "/dev/null",
  "core.pager": "cat",
  "core.editor": "false",
  "core.askPass": "false",
  "core.sshCommand": "false",
  "core.attributesFile": "/dev/null",
  "core.excludesFile": "/dev/null",
  "core.gitProxy": "",
  "credential.helper": "",
  "diff.external": "",
  "diff.ignoreSubmodules": "all",
  "diff.submodule": "short",
  "fetch.recurseSubmodules": "false",
  "gpg.program": "false",
  "gpg.ssh.program": "false",
  "gpg.x509.program": "false",
  "log.showSignature": "false",
  "protocol.allow": "never",
  "status.submoduleSummary": "false",
  "submodule.recurse": "false",
}).flatMap(([key, value]) => ["-c", `${key}=${value}`]);

/** The first arguments of every call of git. */
export const GIT_PREFIX: readonly string[] = Object.freeze(["--no-pager", "--no-optional-locks", ...SETTINGS]);

/** Variables of every call of git: no settings of the user or the system, no network, no questions. */
export const GIT_ENV: Readonly<Record<string, string>> = Object.freeze({
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_NO_LAZY_FETCH: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_PROTOCOL_FROM_USER: "0",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_PAGER: "cat",
});

/** Checks arguments of git. The canonical form is `subcommand options revisions -- paths`. */
export function checkGit([name = "", ...args]: readonly string[]): CheckedArguments {
  const subcommand = find(name);
  if (subcommand === undefined) {
    return refused(`the first argument must be one of ${Object.keys(SUBCOMMANDS).join(", ")}`);
  }
  const { options, revisions, paths } = subcommand;
  const parsed = parseArguments({ options, positionals: [], maxPositionals: 0 }, args, true);
  if (!parsed.ok) return parsed;
  // `%G…` asks a program for the signature of each commit
  if (parsed.options.some((option) => /^--(?:format|pretty)=.*(?:%G|%\(signature)/s.test(option))) {
    return refused("a format asks for signatures");
  }
  // one word of `blame` is its file, of every other subcommand with revisions a revision
  const isFile = name === "blame" && parsed.after.length === 0;
  const revs = isFile ? parsed.before.slice(0, -1) : revisions === 0 ? [] : parsed.before;
  const files = isFile ? parsed.before.slice(-1) : revisions === 0 ? [...parsed.before, ...parsed.after] : parsed.after;
  const problem = positionalsProblem({ positionals: ["revision"], maxPositionals: revisions }, revs) ??
    positionalsProblem({ positionals: ["path"], maxPositionals: paths }, files);
  if (problem !== null) return refused(problem);
  return { ok: true, args: [name, ...parsed.options, ...revs, ...(files.length === 0 ? [] : ["--", ...files])] };
}

/** What is run for arguments that {@linkcode checkGit} gave. */
export function gitInvocation([name = "", ...args]: readonly string[]): Invocation {
  const subcommand = find(name);
  if (subcommand === undefined) return { argv: [...GIT_PREFIX, "version"], env: GIT_ENV };
  const end = args.indexOf("--");
  const words = end < 0 ? args : args.slice(0, end);
  const paths = end < 0 ? [] : args.slice(end);
  const parsed = parseArguments({ options: subcommand.options, positionals: [], maxPositionals: 0 }, words, true);
  const [options, revisions] = parsed.ok ? [parsed.options, parsed.before] : [[], []];
  const guard = subcommand.endOfOptions && revisions.length > 0 ? ["--end-of-options"] : [];
  // a revision is never taken for a file
  const separator = subcommand.paths > 0 && paths.length === 0 && subcommand.revisions > 0 ? ["--"] : paths;
  return {
    argv: [...GIT_PREFIX, name, ...subcommand.forced, ...options, ...guard, ...revisions, ...separator],
    env: GIT_ENV,
  };
}

function find(name: string): Subcommand | undefined {
  return Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
}
