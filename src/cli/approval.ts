/**
 * `twokey approval`: what runs asked for, and the decisions of a person who was not there.
 *
 * @module
 */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { type ApprovalItem, approvalStatus } from "../audit/approval_entries.ts";
import { nearest } from "../authority/nearest.ts";
import { parentOf } from "../authority/path.ts";
import { DataError, EXIT, type ExitCode, InputError, UsageError } from "../errors.ts";
import { ApprovalLog, defaultApprovalLog } from "../launch/approval_log.ts";
import { isThere } from "../launch/look.ts";
import { approvalLogAt } from "../launch/open_approvals.ts";
import { findProject } from "../policy/load.ts";
import { placesOf } from "../policy/places.ts";
import { inboxJson, inboxLines, requestLines } from "../report/approval.ts";
import { escapeText } from "../report/escape.ts";
import { span } from "../report/units.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { columnsOf, out, outJson, styleFor } from "./io.ts";

/** Digits of an id that must be given, at least. */
const MIN_ID = 8;
/** Characters of a reason, at most. */
const MAX_REASON = 1000;

interface PlaceFlags {
  readonly json: boolean;
  readonly approvalLog?: string;
  readonly project?: string;
}

interface InboxFlags extends PlaceFlags {
  readonly all: boolean;
}

interface DecideFlags extends PlaceFlags {
  readonly reason?: string;
}

/** Opens the log of the project that the flags name. */
async function openLog({ approvalLog, project = "." }: PlaceFlags): Promise<{ log: ApprovalLog; project: string }> {
  const root = findProject(await folderOf(project));
  const { state } = await placesOf(root, (name) => Deno.env.get(name));
  const path = approvalLog === undefined ? defaultApprovalLog(state) : approvalLogAt(approvalLog);
  if (approvalLog !== undefined && !await isThere(path)) {
    throw new InputError("approval_log_missing", "Cannot read the approval log: there is no such file");
  }
  return { log: await ApprovalLog.open({ path, state }), project: root };
}

async function folderOf(word: string): Promise<string> {
  try {
    const path = await Deno.realPath(word);
    return (await Deno.stat(path)).isDirectory ? path : parentOf(path);
  } catch (cause) {
    throw new InputError("approval_no_project", `Cannot find the project "${escapeText(word)}": it does not exist`, {
      cause,
    });
  }
}

async function showInbox(flags: InboxFlags): Promise<ExitCode> {
  const { log, project } = await openLog(flags);
  const { items, foreign } = await log.read();
  const nowMs = Date.now();
  const all = [...items.values()];
  if (flags.json) {
    outJson(inboxJson(all, { path: log.path, foreign, nowMs }));
    return EXIT.ok;
  }
  const listed = flags.all
    ? all
    : all.filter((item) => item.open || ["pending", "allowed"].includes(approvalStatus(item, nowMs)));
  out(
    `${
      inboxLines(listed, { style: styleFor(Deno.stdout), project, columns: columnsOf(Deno.stdout), foreign, nowMs })
        .join("\n")
    }\n`,
  );
  if (listed.length < all.length) out(`and ${all.length - listed.length} decided before; --all lists them\n`);
  return EXIT.ok;
}

async function showRequest(flags: PlaceFlags, id: string): Promise<ExitCode> {
  const { log, project } = await openLog(flags);
  const { items, foreign } = await log.read();
  const item = findItem(items, id, "show");
  const nowMs = Date.now();
  if (flags.json) outJson(inboxJson([item], { path: log.path, foreign, nowMs }));
  else out(`${itemLines(item, project).join("\n")}\nstatus    ${approvalStatus(item, nowMs)}\n`);
  return EXIT.ok;
}

function decide(status: "allowed" | "denied"): (flags: DecideFlags, id: string) => Promise<ExitCode> {
  return async (flags, id) => {
    const { log, project } = await openLog(flags);
    const reason = flags.reason === undefined ? null : flags.reason.slice(0, MAX_REASON).toWellFormed();
    const { item, nowMs } = await log.change((book, nowMs) => {
      const item = findItem(book.items, id, status === "allowed" ? "allow" : "deny");
      const entry = status === "allowed"
        ? { kind: "allowed", id: item.id, grant: crypto.randomUUID(), reason } as const
        : { kind: "denied", id: item.id, reason } as const;
      return { add: [entry], result: { item, nowMs } };
    });
    const grants = status === "allowed" ? item.grants.length + 1 : 0;
    if (flags.json) {
      outJson({
        type: "agent_approval_decision",
        schema_version: 1,
        approval_log: log.path,
        id: item.id,
        status,
        decision: status,
        created_at_ms: nowMs,
        reason,
        unused_grants: grants,
      });
      return EXIT.ok;
    }
    const style = styleFor(Deno.stdout);
    out(`${itemLines(item, project).join("\n")}\n`);
    if (status === "denied") out(`${style.bad("denied")}    this call, in every run of this policy and agent\n`);
    else {
      const holds = item.max_age_ms === null ? "" : `, within ${span(item.max_age_ms)}`;
      const many = grants > 1 ? `; ${grants} such calls in all` : "";
      out(`${style.good("allowed")}   this one call, in the next run of this policy and agent${holds}${many}\n`);
    }
    return EXIT.ok;
  };
}

function itemLines({ id, request }: ApprovalItem, project: string): readonly string[] {
  if (request === null) return [`approval  ${id}`];
  return requestLines(request, { style: styleFor(Deno.stdout), project, whole: true, columns: columnsOf(Deno.stdout) })
    .lines;
}

/** The one request that an id, or the beginning of one, names. */
function findItem(items: ReadonlyMap<string, ApprovalItem>, word: string, verb: string): ApprovalItem {
  const id = word.toLowerCase();
  const shown = escapeText(word, { max: 80 });
  if (!/^[0-9a-f]+$/.test(id) || id.length < MIN_ID || id.length > 64) {
    throw new UsageError(
      "usage_approval_id",
      `Cannot ${verb} "${shown}": an id is 64 hexadecimal digits, of which the first ${MIN_ID} or more are given`,
    );
  }
  const found = [...items.values()].filter((item) => item.id.startsWith(id));
  const [item] = found;
  if (item !== undefined && found.length === 1) return item;
  const meant = nearest(id, [...items.keys()].map((known) => known.slice(0, id.length)));
  const fix = item !== undefined
    ? "Give more digits"
    : meant === undefined
    ? "See what was asked for with: twokey approval inbox --all"
    : `Did you mean ${meant}?`;
  const what = item === undefined ? "nothing with that id was asked for" : `${found.length} requests begin like that`;
  throw new DataError("approval_unknown", `Cannot ${verb} "${shown}": ${what}`, { fix });
}

const PLACE_FLAGS = {
  ...JSON_FLAG,
  approvalLog: {
    kind: "parsed",
    parse: String,
    brief: "File that was given to run with --approval-log",
    placeholder: "file",
    optional: true,
  },
  project: {
    kind: "parsed",
    parse: String,
    brief: "Folder or policy of the project; default: this folder",
    placeholder: "project",
    optional: true,
  },
} as const;

const ID = {
  kind: "tuple",
  parameters: [{ parse: String, brief: "Id of the request, or its first digits", placeholder: "id" }],
} as const;

const REASON_FLAG = {
  reason: { kind: "parsed", parse: String, brief: "Why, for the log", placeholder: "text", optional: true },
} as const;

const inboxCommand = buildCommand<InboxFlags, [], Context>({
  docs: {
    brief: "List what waits for an approval",
    fullDescription: [
      "Lists the calls at which runs of this project stopped because nobody was there to approve them, and the approvals",
      "that no run has used yet.",
      "",
      "EXAMPLES",
      "  twokey approval inbox",
      "  twokey approval inbox --all --json",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...PLACE_FLAGS,
      all: { kind: "boolean", brief: "Also what was decided and used", default: false, withNegated: false },
    },
  },
  func: command(showInbox),
});

const showCommand = buildCommand<PlaceFlags, [string], Context>({
  docs: { brief: "Print one request whole" },
  parameters: { flags: PLACE_FLAGS, positional: ID },
  func: command(showRequest),
});

const allowCommand = buildCommand<DecideFlags, [string], Context>({
  docs: {
    brief: "Let one call run, once",
    fullDescription: [
      "Lets one call run: this tool with these arguments, under this policy, by this agent, once. It is used when the next",
      "run comes to the call. A second `allow` of the same id lets it run a second time.",
      "",
      "EXAMPLES",
      "  twokey approval allow 3f9a0c21d4e8",
      '  twokey approval allow 3f9a0c21d4e8 --reason="read the report"',
    ].join("\n"),
  },
  parameters: { flags: { ...PLACE_FLAGS, ...REASON_FLAG }, positional: ID },
  func: command(decide("allowed")),
});

const denyCommand = buildCommand<DecideFlags, [string], Context>({
  docs: {
    brief: "Deny one call, and take its approvals back",
    fullDescription: [
      "Denies one call in every run of this policy and agent, until it is allowed or the denial is older than the policy's",
      "maxAgeMs. Approvals of it that no run has used are taken back.",
      "",
      "EXAMPLES",
      "  twokey approval deny 3f9a0c21d4e8",
    ].join("\n"),
  },
  parameters: { flags: { ...PLACE_FLAGS, ...REASON_FLAG }, positional: ID },
  func: command(decide("denied")),
});

/** The commands below `approval`. */
export const approvalRoutes = buildRouteMap({
  routes: { inbox: inboxCommand, show: showCommand, allow: allowCommand, deny: denyCommand },
  docs: { brief: "Approve or deny the calls at which runs stopped" },
});
