/**
 * What a bundle is made of, from what somebody typed: the log of a run, and policy, plan and lock as far as they are
 * still those of that run.
 *
 * @module
 */
import { readRecords } from "../audit/reader.ts";
import { makeRedactor, MIN_SECRET_BYTES, type Redactor } from "../audit/redact.ts";
import type { Record as AuditRecord } from "../audit/record.ts";
import { DEFAULT_POLICY, LOCK_FILE } from "../authority/names.ts";
import { parentOf } from "../authority/path.ts";
import { isSecretVariable } from "../authority/variables.ts";
import { InputError, TwokeyError, UsageError } from "../errors.ts";
import { PLAN_FILE } from "../evidence/manifest.ts";
import type { BundleText } from "../evidence/make_bundle.ts";
import type { LeftOut } from "../evidence/manifest.ts";
import { canonical, digest, isJsonObject, type Json, type JsonObject, utf8Length } from "../json.ts";
import { absolute } from "../plan/plan.ts";
import { editPolicy } from "../policy/edit.ts";
import { findProject, type LoadedPolicy, loadPolicy } from "../policy/load.ts";
import { parseLock } from "../policy/lock.ts";
import { placesOf } from "../policy/places.ts";
import { AUDIT_FILE, history } from "../replay/history.ts";
import { escapeText } from "../report/escape.ts";
import { findLog, runFolders } from "./run_log.ts";

/** Which run of a policy is meant; both absent: the newest. */
export interface RunChoice {
  readonly runId?: string;
  /** The newest that did not end well. */
  readonly failed: boolean;
}

/** What a bundle is made of. */
export interface BundleSource {
  /** Path of the log. */
  readonly log: string;
  readonly texts: readonly BundleText[];
  readonly leftOut: readonly LeftOut[];
  readonly redactor: Redactor;
}

/** Where a run was found. */
interface FoundRun {
  readonly log: string;
  /** Absolute real path of the project. */
  readonly project: string;
}

/**
 * Finds a run and what belongs to it.
 *
 * @param word A policy or the folder of one, of which a run is chosen; else a run, as the other commands name it.
 * @throws {InputError} If there is no such run. @throws {UsageError} If a choice is made where there is none.
 */
export async function bundleSource(word: string, choice: RunChoice): Promise<BundleSource> {
  const policy = await policyOf(word);
  if (policy === undefined && (choice.failed || choice.runId !== undefined)) {
    throw new UsageError("usage_conflict", "Cannot choose a run: --run-id and --failed choose among those of a policy");
  }
  if (choice.failed && choice.runId !== undefined) {
    throw new UsageError("usage_conflict", "Cannot use --failed with --run-id: name one of them");
  }
  const { log, project } = policy === undefined ? await runOf(word) : await chosenRun(policy, choice);
  const start = await firstRecord(log);
  const texts: BundleText[] = [];
  const leftOut: LeftOut[] = [];
  const loaded = await loadOf(start, project, leftOut);
  const redactor = redactorOf(loaded);
  if (loaded !== undefined) await addTexts(loaded, start, { redactor, texts, leftOut });
  return { log, texts, leftOut, redactor };
}

async function policyOf(word: string): Promise<string | undefined> {
  const info = await statOf(word);
  if (info?.isFile && /\.jsonc?$/.test(word)) return word;
  if (info?.isDirectory !== true) return undefined;
  const folder = word.replace(/\/+$/, "");
  if ((await statOf(`${folder}/${AUDIT_FILE}`))?.isFile) return undefined;
  return (await statOf(`${folder}/${DEFAULT_POLICY}`))?.isFile ? `${folder}/${DEFAULT_POLICY}` : undefined;
}

async function statOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch {
    return undefined;
  }
}

async function runOf(word: string): Promise<FoundRun> {
  const log = await findLog(word);
  const real = await Deno.realPath(log);
  const inProject = /^(.+)\/\.twokey\/runs\/[^/]+\/[^/]+$/.exec(real)?.[1];
  return { log, project: inProject ?? findProject(await Deno.realPath(Deno.cwd())) };
}

/** A run of a policy: its first record names the policy by its place in the project. */
async function chosenRun(policy: string, { runId, failed }: RunChoice): Promise<FoundRun> {
  const { file, project } = await loadPolicy(policy);
  const places = await placesOf(project, env);
  for (const { audit_log, run_id, status } of await history(await runFolders(parentOf(file ?? project)))) {
    if (status === "unreadable" || (runId !== undefined && run_id !== runId) || (failed && status !== "error")) {
      continue;
    }
    const path = policyField(await firstRecord(audit_log), "path");
    if (typeof path === "string" && absolute(path, places) === file) return { log: audit_log, project };
  }
  const which = runId === undefined ? (failed ? "no run that failed" : "no run") : `no run "${escapeText(runId)}"`;
  throw new InputError("run_missing", `Cannot bundle: there is ${which} of this policy; \`twokey history\` lists them`);
}

async function firstRecord(log: string): Promise<AuditRecord | undefined> {
  for await (const record of readRecords(log)) return record.type === "run_start" ? record : undefined;
  return undefined;
}

function policyField(start: AuditRecord | undefined, name: "path" | "sha256"): Json {
  const policy = start?.policy;
  return isJsonObject(policy) ? policy[name] ?? null : null;
}

/** The policy that a run names, whatever it says now; `undefined` where there is none. */
async function loadOf(
  start: AuditRecord | undefined,
  project: string,
  leftOut: LeftOut[],
): Promise<LoadedPolicy | undefined> {
  const path = policyField(start, "path");
  const why = (reason: string) => leftOut.push({ what: "policy, plan and lock", why: reason });
  if (typeof path !== "string") {
    why("the run had no policy file: its flags were the policy");
    return undefined;
  }
  try {
    return await loadPolicy(absolute(path, await placesOf(project, env)));
  } catch (error) {
    if (!(error instanceof TwokeyError)) throw error;
    why(`the policy cannot be loaded any more (${error.code})`);
    return undefined;
  }
}

/** What of a run's policy goes into its bundle, and what does not. */
interface Gathered {
  readonly redactor: Redactor;
  readonly texts: BundleText[];
  readonly leftOut: LeftOut[];
}

async function addTexts(loaded: LoadedPolicy, start: AuditRecord | undefined, gathered: Gathered): Promise<void> {
  const { redactor, texts, leftOut } = gathered;
  if (loaded.file === null) return;
  if (loaded.sha256 !== policyField(start, "sha256")) {
    const why = "the policy is not the one that ran: it was changed since, or flags were added to it";
    leftOut.push({ what: "policy, plan and lock", why });
    return;
  }
  const context = (loaded.policy.context ?? {}) as JsonObject;
  const shown = redactor.redact(context);
  const isRedacted = shown !== context;
  const text = await Deno.readTextFile(loaded.file);
  texts.push({
    path: "policy.jsonc",
    text: isRedacted ? editPolicy(text, [{ act: "set", path: ["context"], value: shown }]) : text,
    isRedacted,
  });
  const { prepareRun } = await import("../launch/prepare.ts");
  try {
    const { plan } = await prepareRun(loaded);
    // without a line end: its SHA-256 is the plan's digest
    if (await digest(plan) === start?.plan) {
      texts.push({ path: PLAN_FILE, text: canonical(isRedacted ? { ...plan, context: shown } : plan), isRedacted });
    } else {
      leftOut.push({ what: "plan", why: "the project is not what it was: agent, fixtures or packages changed since" });
    }
  } catch (error) {
    if (!(error instanceof TwokeyError)) throw error;
    leftOut.push({ what: "plan", why: `the policy does not compile any more (${error.code})` });
  }
  await addLock(loaded, start, gathered);
}

async function addLock(
  { base }: LoadedPolicy,
  start: AuditRecord | undefined,
  { texts, leftOut }: Gathered,
): Promise<void> {
  let text: string;
  try {
    text = await Deno.readTextFile(`${base}/${LOCK_FILE}`);
  } catch {
    leftOut.push({ what: "lock", why: `there is no ${LOCK_FILE}` });
    return;
  }
  try {
    if (parseLock(text).plan === start?.plan) texts.push({ path: LOCK_FILE, text });
    else leftOut.push({ what: "lock", why: `${LOCK_FILE} is not of the plan that ran` });
  } catch (error) {
    if (!(error instanceof TwokeyError)) throw error;
    leftOut.push({ what: "lock", why: `${LOCK_FILE} is none` });
  }
}

/** Knows the policy's fields, and the value of every variable whose name is that of a secret or stands in the policy. */
function redactorOf(loaded: LoadedPolicy | undefined): Redactor {
  const { redact = [], secrets = {}, github, model, process } = loaded?.policy ?? {};
  const named = new Set([...Object.values(secrets), github?.tokenEnv, model?.apiKeyEnv, ...(process?.env?.pass ?? [])]);
  const known = Object.entries(Deno.env.toObject()).filter(([name, value]) =>
    (named.has(name) || isSecretVariable(name)) && utf8Length(value) >= MIN_SECRET_BYTES
  );
  return makeRedactor({ fields: redact, secrets: new Map(known) });
}

function env(name: string): string | undefined {
  return Deno.env.get(name);
}
