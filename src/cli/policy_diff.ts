/**
 * `twokey policy diff` and the ceiling of `run --base`: what a policy grants beyond another.
 *
 * @module
 */
import { LOCK_FILE } from "../authority/names.ts";
import { isInside, parentOf } from "../authority/path.ts";
import { DataError, EXIT, type ExitCode, InputError, UsageError } from "../errors.ts";
import { compilePolicy, MANIFESTS } from "../launch/compile_policy.ts";
import type { Change } from "../plan/change.ts";
import { comparePlans } from "../plan/compare.ts";
import type { Plan } from "../plan/plan.ts";
import { compileLoaded } from "../policy/compile_loaded.ts";
import { openRevision } from "../policy/git_revision.ts";
import { type LoadedPolicy, loadPolicy } from "../policy/load.ts";
import { loadAt } from "../policy/load_at.ts";
import { parseLock } from "../policy/lock.ts";
import { diffPolicyLines, diffPolicyMarkdown, type DiffReport } from "../report/policy_diff.ts";
import { out, outJson, styleFor } from "./io.ts";
import { findDefaultPolicy } from "./default_policy.ts";

/** Flags of `policy diff`. */
export interface DiffFlags {
  readonly json: boolean;
  readonly markdown: boolean;
  readonly policy?: string;
}

/** One side of a comparison. */
export interface Side {
  readonly name: string;
  readonly loaded: LoadedPolicy;
  readonly plan: Plan;
}

/** Runs the command. */
export async function diff(flags: DiffFlags, base: string, head?: string): Promise<ExitCode> {
  const policy = policyPath(flags.policy, head);
  const [was, is] = [
    await sideOf(base, policy),
    head === undefined ? await workTree(policy) : await sideOf(head, policy),
  ];
  const report = reportOf(was, is);
  if (flags.json) {
    outJson({ base: was.name, head: is.name, changes: report.changes, gained: gainsOf(report.changes).length });
  } else if (flags.markdown) out(diffPolicyMarkdown(report));
  else out(`${diffPolicyLines(report, { style: styleFor(Deno.stdout) }).join("\n")}\n`);
  return gainsOf(report.changes).length > 0 ? EXIT.authorityGained : EXIT.ok;
}

/** Compares a policy in the work tree with the same policy in a revision. */
export async function compareWithBase(revision: string, head: Side): Promise<DiffReport> {
  if (head.loaded.file === null) {
    throw new UsageError("usage_no_file", "Cannot compare with a base: a policy made of flags stands in no revision");
  }
  return reportOf(await atRevision(revision, head.loaded.file), head);
}

/** The changes that gain authority. */
export function gainsOf(changes: readonly Change[]): readonly Change[] {
  return changes.filter(({ kind }) => kind === "gained");
}

function reportOf(base: Side, head: Side): DiffReport {
  return {
    base: base.name,
    head: head.name,
    changes: comparePlans(base.plan, head.plan),
    positionOf: ({ kind, rule }) => (kind === "lost" ? base : head).loaded.positionOf(rule),
  };
}

function policyPath(named: string | undefined, head: string | undefined): string {
  const path = named ?? (head !== undefined && isFile(head) ? head : findDefaultPolicy());
  if (path === undefined) {
    throw new UsageError(
      "usage_no_policy",
      "Cannot compare: there is no agent.policy.jsonc here; name it with --policy",
    );
  }
  return path;
}

async function sideOf(name: string, policy: string): Promise<Side> {
  return isFile(name) ? { ...await workTree(name), name } : await atRevision(name, await realPolicy(policy));
}

async function workTree(path: string): Promise<Side> {
  const { loaded, plan } = await compilePolicy(await loadPolicy(path));
  return { name: "the work tree", loaded, plan };
}

/** Path of a policy that need not exist any more in the work tree; its folder does. */
async function realPolicy(path: string): Promise<string> {
  const slash = path.lastIndexOf("/");
  const folder = slash < 0 ? "." : path.slice(0, slash) || "/";
  try {
    return `${await Deno.realPath(folder)}/${path.slice(slash + 1)}`;
  } catch (cause) {
    throw new InputError("policy_missing", `Cannot compare "${path}": there is no such folder`, { cause });
  }
}

async function atRevision(name: string, file: string): Promise<Side> {
  const revision = await openRevision(parentOf(file), name);
  try {
    if (!isInside(revision.top, file)) {
      throw new DataError("git_outside", `Cannot read "${name}": the policy lies outside of the repository`);
    }
    const loaded = await loadAt(revision, file);
    // What has expired since must not keep a pull request that removes it from being compared.
    const { plan } = await compileLoaded(loaded, {
      manifests: MANIFESTS,
      env: (variable) => Deno.env.get(variable),
      view: revision.view,
      nowMs: 0,
    });
    return { name, loaded, plan: await withLockedTools(plan, () => revision.readText(`${loaded.base}/${LOCK_FILE}`)) };
  } finally {
    revision.close();
  }
}

/** The tools as they were when the revision was locked: this twokey may be another one, with other definitions. */
async function withLockedTools(plan: Plan, readText: () => Promise<string | undefined>): Promise<Plan> {
  const text = await readText();
  if (text === undefined) return plan;
  const { tools: locked } = parseLock(text);
  const tools = Object.entries(plan.tools).map(([name, tool]) => {
    const manifest = Object.hasOwn(locked, name) ? locked[name] : undefined;
    return [name, manifest === undefined ? tool : { ...tool, manifest }] as const;
  });
  return { ...plan, tools: Object.fromEntries(tools) };
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
