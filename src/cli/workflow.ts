/**
 * The workflow that `init` writes for GitHub Actions. Pure.
 *
 * @module
 */

/** The workflow's path in its repository. */
export const WORKFLOW_FILE = ".github/workflows/agent.yml";

/** Where the workflow checks twokey out that is no part of the repository: below the runner's own folder, which no agent sees. */
const RUNNER_FOLDER = ".twokey/runner";

/** Stands for what only the project's owner knows. */
const PLACEHOLDERS = { repository: "OWNER/twokey", ref: "COMMIT" } as const;

/** What the workflow is about. */
export interface WorkflowOptions {
  /** Policy file, relative to the repository. */
  readonly policy: string;
  /** Folder of twokey, relative to the repository, `""` for the repository itself; `null` where it is no part of it. */
  readonly twokey: string | null;
}

/** A workflow, and what a person has to fill in. */
export interface Workflow {
  readonly text: string;
  readonly todo: readonly string[];
}

/**
 * Makes the workflow. It runs on the head of a pull request, with nothing but the right to read, no credential on the
 * disk, and the policy of the base as the ceiling.
 */
export function workflowFor({ policy, twokey }: WorkflowOptions): Workflow {
  const folder = twokey ?? RUNNER_FOLDER;
  const action = `./${folder === "" ? "" : `${folder}/`}.github/actions/agent`;
  const checkout = twokey === null ? checkoutLines() : [];
  const lines = [
    "# Runs the agent under its committed policy. A pull request whose policy grants more than that of its base ends with",
    "# exit 3 and the difference in words. A pull request can change this file as well: let CODEOWNERS guard .github, the",
    "# policy, agent.lock.json and the folder of twokey.",
    "name: agent",
    "",
    "on:",
    "  push:",
    "    branches: [main]",
    "  pull_request:",
    "",
    "permissions:",
    "  contents: read",
    "",
    "jobs:",
    "  agent:",
    "    runs-on: ubuntu-latest",
    "    timeout-minutes: 30",
    "    steps:",
    "      - uses: actions/checkout@v4",
    "        with:",
    "          fetch-depth: 0 # the base of a pull request is compared with",
    "          persist-credentials: false",
    ...(twokey === null || twokey === "" ? [] : ["          submodules: true"]),
    ...checkout,
    "      - uses: actions/setup-node@v4",
    "        with:",
    "          node-version: 22",
    `      - uses: ${yamlText(action)}`,
    "        with:",
    `          policy: ${yamlText(policy)}`,
    "          base: ${{ github.event.pull_request.base.sha }} # empty on a push",
  ];
  const { repository, ref } = PLACEHOLDERS;
  return {
    text: `${lines.join("\n")}\n`,
    todo: twokey === null
      ? [`name twokey's repository and a commit of it in ${WORKFLOW_FILE}, in place of ${repository} and ${ref}`]
      : [],
  };
}

function checkoutLines(): string[] {
  return [
    "      - uses: actions/checkout@v4",
    "        with:",
    `          repository: ${PLACEHOLDERS.repository} # where your twokey comes from`,
    `          ref: ${PLACEHOLDERS.ref} # a commit that you reviewed, in full: a branch would move`,
    `          path: ${RUNNER_FOLDER}`,
    "          persist-credentials: false",
  ];
}

/** A text as YAML reads it back: as it is where it is plain, else in the quotes of JSON, which YAML knows. */
function yamlText(text: string): string {
  return /^[\w./][\w./-]*$/.test(text) ? text : JSON.stringify(text);
}
