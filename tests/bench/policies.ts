/**
 * Comparisons of the commands on policies, as whole processes.
 *
 * @module
 */
import type { Comparison, Side, Skipped } from "./comparison.ts";
import { makeProject } from "./project.ts";
import { READ_POLICY } from "./start.ts";
import { runProcess, twokey, type World } from "./world.ts";

const GIT = "/usr/bin/git";
const LONG = 1000;

/** What is measured of the commands on policies. */
export async function policyComparisons(world: World): Promise<(Comparison | Skipped)[]> {
  const dir = await makeProject(world, "policies", { agent: "agent_once.js", policy: READ_POLICY });
  const file = `${dir}/agent.policy.jsonc`;
  const narrower = `${dir}/narrower.policy.jsonc`;
  await writePolicy(narrower, [{ root: "docs", include: ["**/file_1k.txt"] }]);
  const long = await longPolicies(dir);
  const empty = `${world.dir}/empty_policies.mjs`;
  await Deno.writeTextFile(empty, "");
  const side = (label: string, args: readonly string[]): Side => ({
    label,
    sample: async () => (await runProcess("deno", args, { env: world.env, cwd: dir })).ms,
  });
  const policy = (label: string, ...words: readonly string[]) => side(label, twokey("policy", ...words));
  const emptyDeno = side("empty deno run", ["run", "--no-config", empty]);
  const short = policy("the same, short", "validate", file);
  const shortDiff = policy("the same, short", "diff", file, narrower);
  const found: (Comparison | Skipped)[] = [
    {
      name: "policy.validate",
      unit: "ms",
      product: policy("twokey policy validate", "validate", file),
      peer: emptyDeno,
      bound: 2,
    },
    {
      name: "policy.explain",
      unit: "ms",
      product: policy("twokey policy explain", "explain", file),
      peer: emptyDeno,
      bound: 2,
    },
    {
      name: "policy.diff_files",
      unit: "ms",
      product: policy("twokey policy diff, two files", "diff", file, narrower),
      peer: emptyDeno,
      bound: 2,
    },
    {
      name: "policy.validate_1000_lines",
      unit: "ms",
      product: policy(`twokey policy validate, ${LONG} lines`, "validate", long.all),
      peer: short,
      bound: 1.5,
    },
    {
      name: "policy.diff_1000_lines",
      unit: "ms",
      product: policy(`twokey policy diff, ${LONG} lines`, "diff", long.all, long.fewer),
      peer: shortDiff,
      bound: 1.5,
    },
  ];
  const name = "policy.diff_revisions";
  if (!await makeRepository(dir)) return [...found, { name, skipped: `git is not at ${GIT}` }];
  const revisions = policy("twokey policy diff, two revisions", "diff", "HEAD", "HEAD", `--policy=${file}`);
  return [...found, { name, unit: "ms", product: revisions, peer: emptyDeno, bound: 4 }];
}

/** Two policies of a thousand lines, of which the second grants one thing less. */
async function longPolicies(dir: string): Promise<{ readonly all: string; readonly fewer: string }> {
  const include = Array.from({ length: 250 }, (_, i) => `notes/**/note_${i}.txt`);
  const roots = Array.from({ length: 3 }, (_, i) => ({ root: `docs/${i}`, include }));
  for (const { root } of roots) await Deno.mkdir(`${dir}/${root}`, { recursive: true });
  const more = Array.from({ length: 240 }, (_, i) => `docs/more_${i}.txt`);
  for (const path of more) await Deno.writeTextFile(`${dir}/${path}`, "");
  const files = more.map((root) => ({ root }));
  const [all, fewer] = [`${dir}/long.policy.jsonc`, `${dir}/fewer.policy.jsonc`];
  await writePolicy(all, [...roots, ...files]);
  await writePolicy(fewer, [...roots, ...files.slice(1)]);
  return { all, fewer };
}

/** One root or pattern a line. */
async function writePolicy(file: string, read: readonly object[]): Promise<void> {
  const roots = read.map((root) => JSON.stringify(root).replaceAll('","', '",\n"')).join(",\n");
  await Deno.writeTextFile(
    file,
    `{\n"version": 1,\n"agent": "agent.js",\n"tools": ["readFile"],\n"fs": { "read": [\n${roots}\n] }\n}\n`,
  );
}

async function makeRepository(dir: string): Promise<boolean> {
  const identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "-c", "commit.gpgSign=false"];
  try {
    await Deno.stat(GIT);
  } catch {
    return false;
  }
  await runProcess(GIT, ["init", "--quiet"], { cwd: dir });
  await runProcess(GIT, ["add", "--all"], { cwd: dir });
  await runProcess(GIT, [...identity, "commit", "--quiet", "--message", "bench"], { cwd: dir });
  return true;
}
