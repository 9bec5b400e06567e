/** The runner of GitHub Actions as a step sees it: its variables, its files, no network, and a project that is a git repository. */
import { cleanEnv } from "../e2e/run_project.ts";

const ROOT = new URL("../../", import.meta.url);

/** The composite action's own folder. */
export const ACTION_PATH = new URL(".github/actions/agent", ROOT).pathname;

/** What a step left. */
export interface StepResult {
  readonly code: number;
  /** Standard output and standard error of the step, as its log shows them. */
  readonly log: string;
  readonly summary: string;
  readonly output: string;
  /** What was written to the file behind `GITHUB_ENV`: it must stay empty. */
  readonly env: string;
  /** Where `npx` was started, and with which words. */
  readonly npx: string;
}

/** A checkout on a runner. */
export interface Checkout {
  readonly dir: string;
  /** Commits everything and returns the commit's name. */
  commit(message: string): Promise<string>;
  write(path: string, text: string): Promise<void>;
  policy(policy: Readonly<Record<string, unknown>>): Promise<void>;
  lock(): Promise<void>;
  git(...args: string[]): Promise<string>;
  /** Runs the action's script. */
  step(inputs?: { readonly policy?: string; readonly base?: string; readonly args?: string }): Promise<StepResult>;
}

/** The text of the action's file. */
export function actionText(): Promise<string> {
  return Deno.readTextFile(new URL(".github/actions/agent/action.yml", ROOT));
}

/** The blocks of shell in a workflow or an action, as they are run. */
export function runBlocks(text: string): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const match = /^(\s*)(?:- )?run: (.*)$/.exec(line);
    if (match === null) return [];
    const [, indent = "", rest = ""] = match;
    if (rest !== "|") return [rest];
    const block = [];
    for (const inner of lines.slice(at + 1)) {
      if (inner.trim() !== "" && !inner.startsWith(`${indent}  `)) break;
      block.push(inner.slice(indent.length + 2));
    }
    return [block.join("\n")];
  });
}

/** Runs `body` on a fresh runner and removes it. */
export async function onRunner(body: (checkout: Checkout) => Promise<void>): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-ci-" }));
  try {
    for (const name of ["project", "temp", "bin", "state", "tmp"]) await Deno.mkdir(`${root}/${name}`, { mode: 0o700 });
    await Deno.writeTextFile(
      `${root}/bin/npx`,
      `#!/bin/sh\nprintf '%s\\n' "$PWD" "$*" >> '${root}/npx.txt'\n[ "$1 $2" = "-y deno@2.9.6" ] || exit 99\nshift 2\nexec '${Deno.execPath()}' "$@"\n`,
      { mode: 0o755 },
    );
    const checkout = new RunnerCheckout(root);
    await checkout.git("init", "-q", "-b", "main");
    await checkout.write("deno.json", "{}");
    await checkout.write(".gitignore", ".twokey/\n");
    await body({
      dir: checkout.dir,
      commit: (message) => checkout.commit(message),
      write: (path, text) => checkout.write(path, text),
      policy: (policy) => checkout.policy(policy),
      lock: () => checkout.lock(),
      git: (...args) => checkout.git(...args),
      step: (inputs) => checkout.step(inputs),
    });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

class RunnerCheckout {
  readonly #root: string;
  readonly dir: string;

  constructor(root: string) {
    this.#root = root;
    this.dir = `${root}/project`;
  }

  async write(path: string, text: string): Promise<void> {
    await Deno.mkdir(`${this.dir}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${this.dir}/${path}`, text);
  }

  async policy(policy: Readonly<Record<string, unknown>>): Promise<void> {
    await this.write("agent.policy.jsonc", JSON.stringify({ version: 1, agent: "agent.ts", ...policy }, null, 2));
  }

  async lock(): Promise<void> {
    const main = new URL("src/cli/main.ts", ROOT).pathname;
    await this.#run(Deno.execPath(), ["run", "-A", "--no-prompt", "--quiet", main, "policy", "lock"]);
  }

  async git(...args: string[]): Promise<string> {
    return (await this.#run("/usr/bin/git", ["-c", "user.name=x", "-c", "user.email=x@example.com", ...args])).trim();
  }

  async commit(message: string): Promise<string> {
    await this.git("add", "-A");
    await this.git("commit", "-q", "-m", message);
    return await this.git("rev-parse", "HEAD");
  }

  async step(
    { policy = "agent.policy.jsonc", base = "", args = "" }: {
      readonly policy?: string;
      readonly base?: string;
      readonly args?: string;
    } = {},
  ): Promise<StepResult> {
    const files = ["summary", "output", "env"].map((name) => `${this.#root}/temp/${name}`);
    for (const file of files) await Deno.writeTextFile(file, "");
    const [summary = "", output = "", env = ""] = files;
    const script = `${this.#root}/temp/step.sh`;
    await Deno.writeTextFile(script, runBlocks(await actionText())[0] ?? "");
    const { code, stdout, stderr } = await new Deno.Command("/bin/bash", {
      args: ["--noprofile", "--norc", "-euo", "pipefail", script],
      cwd: this.dir,
      clearEnv: true,
      env: {
        ...cleanEnv(this.#root),
        PATH: `${this.#root}/bin:/usr/bin:/bin`,
        CI: "true",
        GITHUB_ACTIONS: "true",
        GITHUB_ACTION_PATH: ACTION_PATH,
        GITHUB_WORKSPACE: this.dir,
        GITHUB_STEP_SUMMARY: summary,
        GITHUB_OUTPUT: output,
        GITHUB_ENV: env,
        RUNNER_TEMP: `${this.#root}/temp`,
        POLICY: policy,
        BASE: base,
        ARGS: args,
      },
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return {
      code,
      log: text(stdout) + text(stderr),
      summary: await Deno.readTextFile(summary),
      output: await Deno.readTextFile(output),
      env: await Deno.readTextFile(env),
      npx: await Deno.readTextFile(`${this.#root}/npx.txt`),
    };
  }

  async #run(program: string, args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      cwd: this.dir,
      clearEnv: true,
      env: { ...cleanEnv(this.#root), GIT_CONFIG_NOSYSTEM: "1" },
      stdin: "null",
    }).output();
    if (code !== 0) throw new Error(`${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout);
  }
}

/** Reads the file behind `GITHUB_OUTPUT` the way the runner does. */
export function outputsOf(text: string): Record<string, string> {
  const outputs: Record<string, string> = {};
  const lines = text.split("\n");
  for (let at = 0; at < lines.length && lines[at] !== "";) {
    const [name = "", delimiter] = (lines[at] ?? "").split("<<");
    if (delimiter === undefined) {
      const [key = "", value = ""] = name.split("=");
      outputs[key] = value;
      at++;
      continue;
    }
    const end = lines.indexOf(delimiter, at + 1);
    outputs[name] = lines.slice(at + 1, end).join("\n");
    at = end + 1;
  }
  return outputs;
}
