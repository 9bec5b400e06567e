/**
 * `twokey report github`: what `run --json` printed, for the pages of GitHub Actions. It runs nothing.
 *
 * @module
 */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { isDenialCode } from "../authority/denial_codes.ts";
import { AuditError, DataError, EXIT, type ExitCode, InputError, type Position, UsageError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { suggest } from "../gate/suggest.ts";
import { type CompiledPolicy, compilePolicy, MANIFESTS } from "../launch/prepare.ts";
import { loadPolicy } from "../policy/load.ts";
import { numberField, objectField, own, textField } from "../replay/fields.ts";
import {
  annotationLines,
  annotationsOf,
  type CiDenial,
  type CiError,
  type CiReport,
  jobSummary,
  outputText,
} from "../report/github_actions.ts";
import { escapeText } from "../report/escape.ts";
import { withoutProject } from "../report/reasons.ts";
import { CALL_WORDS } from "../report/summary.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, outJson } from "./io.ts";

/** Largest result that is read, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Denials that are reported one by one, at most. */
const MAX_DENIALS = 40;

interface Flags {
  readonly json: boolean;
  readonly policy?: string;
  readonly base?: string;
  readonly exit?: number;
}

async function reportGithub(flags: Flags, path: string): Promise<ExitCode> {
  const [summaryFile, outputFile] = [variable("GITHUB_STEP_SUMMARY"), variable("GITHUB_OUTPUT")];
  const report = await readReport(flags, path);
  const { exit, reason, gained, head, audit, denials, moreDenials } = report;
  const outputs: readonly (readonly [name: string, value: string])[] = [
    ["exit", String(exit)],
    ["reason", reason ?? ""],
    ["denied", String(denials.length + moreDenials)],
    ["gained", String(gained?.length ?? 0)],
    ["head", head ?? ""],
    ["audit", audit ?? ""],
  ];
  await append(summaryFile, jobSummary(report));
  await append(outputFile, outputs.map(([name, value]) => outputText(name, value, delimiter())).join(""));
  const annotations = annotationsOf(report);
  if (flags.json) outJson({ outputs: Object.fromEntries(outputs), annotations });
  else for (const line of annotationLines(annotations)) out(`${line}\n`);
  return EXIT.ok;
}

function variable(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined || value === "") {
    throw new UsageError("usage_no_actions", `Cannot report: ${name} is not set; GitHub Actions sets it for each step`);
  }
  return value;
}

function delimiter(): string {
  return `twokey_${crypto.getRandomValues(new Uint8Array(16)).toHex()}`;
}

async function append(file: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(file, text, { append: true });
  } catch (cause) {
    throw new AuditError("report_not_written", "Cannot report: a file of the step cannot be written", { cause });
  }
}

async function readReport(flags: Flags, path: string): Promise<CiReport> {
  const result = await readResult(path);
  const compiled = flags.policy === undefined ? undefined : await compileOrNothing(flags.policy);
  const summary = objectField(result, "summary");
  const error = errorOf(objectField(result, "error"), own(result, "reason") !== null);
  const all = listOf(own(summary, "denials"));
  const count = numberField(summary, "tool_denials") ?? all.length;
  const denials = all.slice(0, MAX_DENIALS).map((denial) => denialOf(denial, compiled));
  const gained = await gainedOver(flags.base, compiled);
  return {
    exit: flags.exit ?? numberField(result, "exit") ?? numberField(objectField(result, "error"), "exit") ?? EXIT.ended,
    error,
    reason: textField(result, "reason"),
    faults: faultsOf(result),
    calls: CALL_WORDS.map(([word, counter]) => [word, numberField(summary, counter) ?? 0]),
    denials,
    moreDenials: Math.max(0, count - denials.length),
    gained,
    base: gained === null ? null : flags.base ?? null,
    budgets: listOf(own(summary, "budgets")).map((row) => ({
      budget: textField(row, "budget") ?? "",
      used: numberField(row, "used") ?? 0,
      limit: numberField(row, "limit"),
    })),
    audit: shown(textField(result, "audit"), compiled),
    head: textField(result, "head"),
  };
}

async function readResult(path: string): Promise<JsonObject> {
  let text: string;
  try {
    if ((await Deno.stat(path)).size > MAX_BYTES) throw new TypeError("too large");
    text = await Deno.readTextFile(path);
  } catch (cause) {
    throw new InputError("report_unreadable", `Cannot report: "${escapeText(path)}" cannot be read`, { cause });
  }
  try {
    const value: Json = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // said below
  }
  throw new DataError(
    "report_no_result",
    `Cannot report: "${escapeText(path)}" is not what \`twokey run --json\` prints`,
  );
}

/** The policy, for positions and advice; a report of a policy that is wrong goes without. */
async function compileOrNothing(path: string): Promise<CompiledPolicy | undefined> {
  try {
    return await compilePolicy(await loadPolicy(path));
  } catch (error) {
    if (error instanceof DataError || error instanceof InputError) return undefined;
    throw error;
  }
}

async function gainedOver(base: string | undefined, compiled: CompiledPolicy | undefined): Promise<CiReport["gained"]> {
  if (base === undefined || base === "" || compiled === undefined) return null;
  const { compareWithBase, gainsOf } = await import("./policy_diff.ts");
  try {
    const { changes } = await compareWithBase(base, { name: "the work tree", ...compiled });
    return gainsOf(changes).map((change) => ({ ...change, position: compiled.loaded.positionOf(change.rule) }));
  } catch (error) {
    // The run said so already, as its own error.
    if (error instanceof DataError || error instanceof InputError) return null;
    throw error;
  }
}

/** An error that kept a run from beginning; the agent's own error is not one. */
function errorOf(error: JsonObject, ran: boolean): CiError | null {
  const message = textField(error, "message");
  if (message === null || ran) return null;
  const fix = textField(error, "fix");
  const issues = listOf(own(error, "issues")).map((issue) => ({
    message: textField(issue, "message") ?? "",
    fix: textField(issue, "fix") ?? "",
    position: positionOf(objectField(issue, "position")),
  }));
  const position = positionOf(error);
  const alone = issues.length === 0 && position !== null ? [{ message, fix: fix ?? "", position }] : issues;
  return { code: textField(error, "code") ?? "", message, issues: alone, fix };
}

/** What a run that began was blamed for, beside its denials. */
function faultsOf(result: JsonObject): string[] {
  if (own(result, "reason") === null) return [];
  const agent = objectField(result, "error");
  const control = objectField(result, "control");
  const thrown = textField(agent, "message");
  const missing = listOf(own(result, "missing_denials")).map((row) => {
    const code = textField(row, "code");
    return `the policy expects a denial of ${textField(row, "tool") ?? ""}${code === null ? "" : ` (${code})`}`;
  });
  return [
    ...(thrown === null ? [] : [`the agent threw ${textField(agent, "name") ?? "Error"}: ${thrown}`]),
    ...[textField(control, "message")].filter((text) => text !== null),
    ...missing,
    ...textsOf(own(result, "unmet_events")),
    ...(own(result, "did_nothing") === true ? ["no call succeeded and no event was emitted"] : []),
  ];
}

function positionOf(object: JsonObject): Position | null {
  const [file, line, column] = [textField(object, "file"), numberField(object, "line"), numberField(object, "column")];
  return file === null || line === null ? null : { file, line, column: column ?? 1 };
}

function denialOf(row: JsonObject, compiled: CompiledPolicy | undefined): CiDenial {
  const tool = textField(row, "tool") ?? "";
  const [reason, target, rule] = [textField(row, "reason"), textField(row, "target"), textField(row, "rule")];
  const expected = own(row, "expected") === true;
  const common = { tool, reason, expected, target: target === null ? null : shown(target, compiled) };
  if (compiled === undefined) return { ...common, allow: null, position: null };
  const { loaded, plan, places } = compiled;
  const id = textField(row, "approval_id");
  const allow = reason === "approval_pending" && id !== null
    ? `twokey approval allow ${id.slice(0, 12)}`
    : reason !== null && isDenialCode(reason)
    ? suggest({ tool, code: reason, rule, target }, plan, { places, toolNames: Object.keys(MANIFESTS) })
    : null;
  return { ...common, allow, position: loaded.positionOf(rule ?? (reason === "tool_not_granted" ? "/tools" : "/fs")) };
}

function shown(path: string, compiled: CompiledPolicy | undefined): string;
function shown(path: string | null, compiled: CompiledPolicy | undefined): string | null;
function shown(path: string | null, compiled: CompiledPolicy | undefined): string | null {
  return path === null ? null : withoutProject(path, compiled?.places.project ?? null);
}

function textsOf(value: Json): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

function listOf(value: Json): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function exitCode(text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw new TypeError("an exit code is needed");
  return Number(text);
}

/** The commands below `report`. */
export const reportRoutes = buildRouteMap<string, Context>({
  routes: {
    github: buildCommand<Flags, [string], Context>({
      docs: {
        brief: "Report a run to GitHub Actions",
        fullDescription: [
          "Takes what `twokey run --json` printed, and writes the job summary, annotations on the policy's lines and the",
          "outputs of the step. The composite action in .github/actions/agent calls it; it runs nothing.",
        ].join("\n"),
      },
      parameters: {
        flags: {
          ...JSON_FLAG,
          policy: {
            kind: "parsed",
            parse: String,
            brief: "Policy file of the run, for lines and advice",
            placeholder: "file",
            optional: true,
          },
          base: {
            kind: "parsed",
            parse: String,
            brief: "Git revision that the run was compared with",
            placeholder: "revision",
            optional: true,
          },
          exit: {
            kind: "parsed",
            parse: exitCode,
            brief: "Exit code of the run",
            placeholder: "code",
            optional: true,
          },
        },
        positional: {
          kind: "tuple",
          parameters: [{ parse: String, brief: "File with what the run printed", placeholder: "result" }],
        },
      },
      func: command(reportGithub),
    }),
  },
  docs: { brief: "Report a run to the service it ran on" },
});
