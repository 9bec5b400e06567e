/**
 * `twokey run`: an agent under its policy, from the grants to the summary.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import type { RecordBody } from "../audit/record.ts";
import { AuthorityError, DataError, EXIT, type ExitCode, UsageError } from "../errors.ts";
import { type FinishedRun, type NamedRun, runPolicy } from "../launch/run_policy.ts";
import type { RunInputs } from "../launch/execute.ts";
import { parseRunInput } from "../launch/run_input.ts";
import { MANIFESTS } from "../launch/compile_policy.ts";
import type { PreparedRun } from "../launch/prepare.ts";
import { RECORDING_FILE } from "../audit/recording.ts";
import { parentOf } from "../authority/path.ts";
import { isDenialCode } from "../authority/denial_codes.ts";
import { findProject, type LoadedPolicy } from "../policy/load.ts";
import { escapeText, shellWord } from "../report/escape.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { approvalsOf } from "./approvals_of.ts";
import { DeclinedError } from "./confirm.ts";
import { err, errLines, out, outJson, styleFor } from "./io.ts";
import { findDefaultPolicy } from "./default_policy.ts";
import { loadNamed, type NamedPolicy, RUN_FLAGS, type RunFlags } from "./policy_flags.ts";
import { Progress } from "./progress.ts";
import { endFields, endLines } from "./run_end.ts";

interface Flags extends RunFlags {
  readonly json: boolean;
  readonly locked: boolean;
  readonly failOnDenial: boolean;
  readonly live: boolean;
  readonly record: boolean;
  readonly base?: string;
  readonly runId?: string;
  readonly contextJson?: string;
  readonly stateJson?: string;
}

/** Records of a run that its end is told with. */
interface Seen {
  /** The last that became of the session. */
  saved: RecordBody | undefined;
  /** What was not as the policy expects of events; one ends the run, so there are as many as it expects kinds. */
  readonly misfits: RecordBody[];
  /** Names of the budgets that were used up. */
  readonly over: Set<string>;
}

async function runAgent(flags: Flags, agent?: string): Promise<ExitCode> {
  const progress = new Progress({ quiet: flags.json });
  try {
    const seen: Seen = { saved: undefined, misfits: [], over: new Set() };
    const run = await runNamed(flags, agent, { progress, seen });
    progress.end();
    await report(flags, run, seen);
    return run.verdict.exit;
  } catch (error) {
    if (!(error instanceof DeclinedError)) throw error;
    err("nothing was run\n");
    return EXIT.ok;
  }
}

async function runNamed(
  flags: Flags,
  agent: string | undefined,
  { progress, seen }: { readonly progress: Progress; readonly seen: Seen },
): Promise<FinishedRun> {
  let isLoading = false;
  let project: string | undefined;
  return await runPolicy(() => nameRun(flags, agent), {
    ...(flags.runsDir === undefined ? {} : { runsDir: flags.runsDir }),
    failOnDenial: flags.failOnDenial,
    inputs: inputsOf(flags),
    record: flags.record,
    ...await approvalsOf(flags, { progress, mayPrompt: !flags.json, project: () => project }),
    onProgress: (line) => err(`${line}\n`),
    onNotice: errLines,
    onPrepared: async (prepared, locked) => {
      const { plan } = prepared;
      project = prepared.places.project;
      if (locked && flags.approveTool !== undefined) err("note: --approve-tool counts for nothing in a locked run\n");
      if (flags.base !== undefined) await assertBelowBase(flags.base, prepared);
      if (!flags.json) {
        const { grantLines } = await import("../report/grants.ts");
        out(`${grantLines(plan, { style: styleFor(Deno.stdout) }).join("\n")}\n\n`);
      }
      const { atFirstSight } = await import("./first_sight.ts");
      return await atFirstSight(prepared, { locked, json: flags.json });
    },
    onRecord: (body) => {
      // Loaded while the launcher has nothing to do but to wait for the agent.
      if (!isLoading) loadReporting();
      isLoading = true;
      if (body.type === "session_save") seen.saved = body;
      if (body.type === "schema_validation" && body.status === "fail") seen.misfits.push(body);
      if (body.type === "budget_exceeded") seen.over.add(String(body.budget));
      progress.saw(body);
    },
    onStderr: (source, line) => progress.print(`${source}| ${escapeText(line)}`),
  });
}

/** What the command line hands to the agent, and what it calls the run. */
function inputsOf({ runId, contextJson, stateJson }: Flags): RunInputs {
  return {
    ...(runId === undefined ? {} : { runId }),
    ...(contextJson === undefined ? {} : { context: parseRunInput(contextJson, "--context-json") }),
    ...(stateJson === undefined ? {} : { state: parseRunInput(stateJson, "--state-json") }),
  };
}

/** The policy that the command line names, and whether its lock holds. */
async function nameRun(flags: Flags, agent: string | undefined): Promise<NamedRun> {
  const named = await namePolicy(flags, agent);
  const locked = await isLocked(flags, named);
  if (!flags.live) return { ...named, locked };
  return { loaded: withoutFixtures(named.loaded), locked, added: [...named.added, "--live"] };
}

/** What the command line names: a policy file, a policy of flags, or the project's default policy. */
async function namePolicy(flags: Flags, agent: string | undefined): Promise<NamedPolicy> {
  if (agent !== undefined && /\.jsonc?$/.test(agent)) {
    throw new UsageError(
      "usage_policy_as_agent",
      `Cannot run "${escapeText(agent)}" as an agent: a policy is named with --policy`,
    );
  }
  const named = agent === undefined ? {} : { agent };
  if (flags.policy !== undefined || agent !== undefined || hasPolicyFlags(flags)) return await loadNamed(flags, named);
  const policy = findDefaultPolicy();
  if (policy === undefined) {
    throw new UsageError(
      "usage_no_policy",
      "Cannot run: there is no agent.policy.jsonc here; name a policy with --policy, or start with `twokey init`",
    );
  }
  return await loadNamed({ ...flags, policy });
}

function hasPolicyFlags({ tool, fsRead, fsWrite, osvFixture }: Flags): boolean {
  return [tool, fsRead, fsWrite, osvFixture].some((list) => list !== undefined && list.length > 0);
}

/** A lock holds where it is asked for, and in CI wherever one could stand: `CI` may only tighten. */
async function isLocked(flags: Flags, { loaded }: NamedPolicy): Promise<boolean> {
  const inCi = Deno.env.get("CI") === "true";
  if (!flags.locked && !inCi) return false;
  const { findLock } = await import("../policy/lock.ts");
  if (await findLock(loaded) === undefined) {
    const why = flags.locked ? "--locked was given" : "CI=true is set";
    if (loaded.file === null) {
      throw new DataError("lock_missing", `Cannot run: ${why} and a policy that is made of flags has no lock`, {
        fix: "Write the policy into a file, run `twokey policy lock` on it, and commit both",
      });
    }
    throw new DataError("lock_missing", `Cannot run: ${why} and there is no agent.lock.json beside the policy`, {
      fix: `Run \`twokey policy lock ${shellWord(relativePath(loaded.file))}\`, review agent.lock.json and commit it`,
    });
  }
  return true;
}

/** The base of a pull request is the ceiling of its head: what it did not grant does not run. */
async function assertBelowBase(revision: string, { loaded, plan }: PreparedRun): Promise<void> {
  const [{ compareWithBase, gainsOf }, { diffPolicyLines }] = await Promise.all([
    import("./policy_diff.ts"),
    import("../report/policy_diff.ts"),
  ]);
  const report = await compareWithBase(revision, { name: "the work tree", loaded, plan });
  if (gainsOf(report.changes).length === 0) return;
  throw new AuthorityError(
    "authority_gained",
    `Cannot run: the policy grants more than its base\n${diffPolicyLines(report).join("\n")}`,
  );
}

/**
 * The same policy, asking the pinned endpoints where it names recorded answers.
 *
 * @throws {DataError} `live_without_provider` where recorded answers are all that a model has.
 */
function withoutFixtures(loaded: LoadedPolicy): LoadedPolicy {
  const { network, model, ...policy } = loaded.policy;
  if (model?.fixture !== undefined && model.provider === undefined) {
    throw new DataError(
      "live_without_provider",
      `Cannot run --live: "${loaded.nameOf("/model")}" has recorded answers, and no provider that could be asked`,
      {
        position: loaded.positionOf("/model/fixture"),
        fix: 'Add "provider": "openai.responses", "apiKeyEnv": "VARIABLE" and "models": ["name"] beside it, or run ' +
          "without --live",
      },
    );
  }
  const { fixtures: _, ...asking } = network ?? {};
  const { fixture: _recorded, ...answering } = model ?? {};
  return {
    ...loaded,
    policy: {
      ...policy,
      ...(network === undefined ? {} : { network: asking }),
      ...(model === undefined ? {} : { model: answering }),
    },
  };
}

/** Loads what a report is made with. */
function loadReporting() {
  return Promise.all([
    import("../replay/replay.ts"),
    import("../report/summary.ts"),
    import("../gate/suggest.ts"),
    import("../report/expectation.ts"),
  ]);
}

async function report(
  flags: Flags,
  { prepared, end, runId, auditPath, verdict }: FinishedRun,
  { saved, misfits, over }: Seen,
): Promise<void> {
  const [{ replayAudit }, { summaryLines }, { suggest }, { expectationText }] = await loadReporting();
  const summary = await replayAudit(auditPath, { head: end.head });
  if (flags.json) {
    const { status, reason, error, head, inFlight, control } = end;
    outJson({
      run_id: runId,
      status,
      reason,
      exit: verdict.exit,
      error,
      control,
      ...endFields({ prepared, end, over }),
      audit: auditPath,
      ...(flags.record ? { recording: recordingBeside(auditPath) } : {}),
      head,
      in_flight: inFlight,
      ...(saved === undefined ? {} : { session: { status: saved.status, turn_id: saved.turn_id, path: saved.path } }),
      unexpected_denials: verdict.unexpected,
      missing_denials: verdict.missing.map(({ tool, code }) => ({ tool, code })),
      did_nothing: verdict.didNothing,
      unmet_events: misfits.map((record) => expectationText(record)),
      summary,
    });
    return;
  }
  const style = styleFor(Deno.stdout);
  const { plan, places } = prepared;
  const where = [
    ...(findProject(await Deno.realPath(Deno.cwd())) === places.project
      ? []
      : [`--project=${shellWord(places.project)}`]),
    ...(flags.approvalLog === undefined ? [] : [`--approval-log=${shellWord(flags.approvalLog)}`]),
  ].map((word) => ` ${word}`).join("");
  const twokey = `deno run -A ${shellWord(relativePath(`${places.twokey}/src/cli/main.ts`))}`;
  const lines = summaryLines(summary, {
    style,
    project: places.project,
    replayCommand: `${twokey} replay`,
    allow: ({ tool, reason, rule, target, approval_id: id }) =>
      reason === "approval_pending" && id !== null
        ? `${twokey} approval allow ${id.slice(0, 12)}${where}`
        : reason !== null && isDenialCode(reason)
        ? suggest({ tool, code: reason, rule, target }, plan, { places, toolNames: Object.keys(MANIFESTS) })
        : null,
  });
  if (flags.record) {
    const recording = escapeText(relativePath(recordingBeside(auditPath)));
    lines.push(
      `recorded  ${recording}`,
      style.dim(`again     twokey replay --rerun ${shellWord(relativePath(auditPath))}`),
    );
  }
  out(`${lines.join("\n")}\n`);
  for (const record of misfits) out(`${style.bad("expected")}  ${expectationText(record)}\n`);
  if (saved !== undefined) {
    const { status, turn_id, path } = saved;
    const what = status === "saved" ? "saved" : status === "failed" ? "not saved, kept as it was" : "kept as it was";
    out(`session   ${what}, turn ${turn_id}: ${escapeText(String(path))}\n`);
  }
  for (const { tool, code } of verdict.missing) {
    out(
      `${style.bad("missing")}   the policy expects a denial of ${escapeText(tool)}${
        code === null ? "" : ` (${code})`
      }\n`,
    );
  }
  for (const line of endLines({ prepared, end, over }, { style, shown: relativePath })) out(`${line}\n`);
}

function recordingBeside(auditPath: string): string {
  return `${parentOf(auditPath)}/${RECORDING_FILE}`;
}

/** A path as a shell in this folder would name it: relative where it lies below, absolute elsewhere. */
function relativePath(path: string): string {
  const here = `${Deno.cwd()}/`;
  return path.startsWith(here) ? path.slice(here.length) : path;
}

/** The command. */
export const runCommand = buildCommand<Flags, [string?], Context>({
  docs: {
    brief: "Run an agent under its policy",
    fullDescription: [
      "Runs an agent under its policy: `agent.policy.jsonc` of this project, the file that --policy names, or a policy",
      "made of the flags. Prints what the policy grants, what was denied and the line that would allow it, and a summary.",
      "",
      "EXAMPLES",
      "  twokey run",
      "  twokey run --record",
      "  twokey run --policy policies/demo/agent.policy.jsonc",
      "  twokey run agent.ts --tool=listFiles --tool=readFile --fs-read=docs",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...RUN_FLAGS,
      ...JSON_FLAG,
      locked: {
        kind: "boolean",
        brief: "Refuse anything that differs from agent.lock.json; on where CI=true",
        default: false,
        withNegated: false,
      },
      failOnDenial: {
        kind: "boolean",
        brief: "Exit 77 where a call was denied that the policy does not expect; on when locked",
        default: false,
        withNegated: false,
      },
      runId: {
        kind: "parsed",
        parse: String,
        brief: "Name of the run and its folder: letters, digits and . _ : -",
        placeholder: "id",
        optional: true,
      },
      contextJson: {
        kind: "parsed",
        parse: String,
        brief: "JSON object that the agent sees as context, in place of the policy's",
        placeholder: "json",
        optional: true,
      },
      stateJson: {
        kind: "parsed",
        parse: String,
        brief: "JSON object that the agent's state starts with where no session holds one",
        placeholder: "json",
        optional: true,
      },
      base: {
        kind: "parsed",
        parse: String,
        brief: "Git revision whose policy is the ceiling: exit 3 where this one grants more",
        placeholder: "revision",
        optional: true,
      },
      record: {
        kind: "boolean",
        brief: "Keep what the agent asks and receives beside the log, for `twokey replay --rerun`",
        default: false,
        withNegated: false,
      },
      live: {
        kind: "boolean",
        brief: "Ask the pinned endpoints where the policy names recorded answers",
        default: false,
        withNegated: false,
      },
    },
    positional: {
      kind: "tuple",
      parameters: [{
        parse: String,
        brief: "Agent module, in place of the policy's",
        placeholder: "agent",
        optional: true,
      }],
    },
  },
  func: command(runAgent),
});
