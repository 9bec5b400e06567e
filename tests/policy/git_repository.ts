/** Real git repositories in temporary folders. The tests that need them are skipped where git is missing. */
import { withoutGit } from "./without_git.ts";

/** Where the tests expect git. */
export const GIT = "/usr/bin/git";

/** A repository that exists. */
export interface GitRepository {
  /** Real path of the work tree. */
  readonly dir: string;
  /** Runs git in the work tree, or in another folder; returns what it printed. */
  git(args: readonly string[], options?: { readonly cwd?: string; readonly input?: string }): Promise<string>;
  write(path: string, text: string): Promise<void>;
  /** Adds everything and commits it; returns the commit's id. */
  commit(message: string): Promise<string>;
}

const ENVIRONMENT = {
  PATH: "/usr/bin:/bin",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.invalid",
  GIT_AUTHOR_DATE: "2030-01-01T00:00:00Z",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.invalid",
  GIT_COMMITTER_DATE: "2030-01-01T00:00:00Z",
  LC_ALL: "C",
};

/** Registers a test with a repository on branch `main` that has no commit yet. */
export function gitTest(name: string, body: (repository: GitRepository) => Promise<void>): void {
  Deno.test({
    name,
    ignore: withoutGit(GIT),
    fn: () => withRepository(body),
  });
}

/** Runs `body` in a fresh repository and removes it. */
export async function withRepository(
  body: (repository: GitRepository) => Promise<void>,
  init: readonly string[] = [],
): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-git-" }));
  const dir = `${root}/repository`;
  try {
    await Deno.mkdir(dir);
    const repository = repositoryIn(dir);
    await repository.git(["init", "--quiet", "--initial-branch=main", ...init]);
    await body(repository);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** The functions of a repository in a folder. */
export function repositoryIn(dir: string): GitRepository {
  const git: GitRepository["git"] = async (args, { cwd = dir, input = "" } = {}) => {
    const child = new Deno.Command(GIT, {
      args: [...args],
      cwd,
      clearEnv: true,
      env: ENVIRONMENT,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(input)).catch(() => {});
    await writer.close().catch(() => {});
    const { code, stdout, stderr } = await child.output();
    const decoder = new TextDecoder();
    if (code !== 0) throw new Error(`git ${args.join(" ")} ended with ${code}: ${decoder.decode(stderr)}`);
    return decoder.decode(stdout).trim();
  };
  return {
    dir,
    git,
    async write(path, text) {
      const slash = path.lastIndexOf("/");
      if (slash > 0) await Deno.mkdir(`${dir}/${path.slice(0, slash)}`, { recursive: true });
      await Deno.writeTextFile(`${dir}/${path}`, text);
    },
    async commit(message) {
      await git(["add", "--all"]);
      await git(["commit", "--quiet", "--allow-empty", "--message", message]);
      return await git(["rev-parse", "HEAD"]);
    },
  };
}
