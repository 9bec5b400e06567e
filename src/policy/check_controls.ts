/**
 * The compiler's step for what is expected of a run's events and for where its state is kept.
 *
 * @module
 */
import { makeNameFinder, PROTECTED_NAMES } from "../authority/names.ts";
import { isInside, relativeTo } from "../authority/path.ts";
import type { JsonObject } from "../json.ts";
import { backupOf, type Budgets, type ExpectedEvents, type SessionPlan } from "../plan/plan.ts";
import { type Check, quote } from "./check.ts";

/** Most bytes of a state that is kept: the host hands it over in one line, and the file is read as a whole. */
const MAX_SESSION_BYTES = 16 * 1_048_576;

/** Plans `expectEvents`. */
export function planExpectedEvents(check: Check): Readonly<Record<string, ExpectedEvents>> {
  const { expectEvents = {}, budgets } = check.loaded.policy;
  return Object.fromEntries(
    Object.entries(expectEvents).map(([kind, expected]): [string, ExpectedEvents] => {
      const at = `/expectEvents/${kind}`;
      const { min = 1, max, schema } = typeof expected === "number" ? { min: expected } : expected;
      if (max !== undefined && max < min) {
        const message = `Cannot use ${check.name(`${at}/max`)} of ${max}: at least ${min} of them are expected`;
        check.refuse({ at: `${at}/max`, code: "policy_bad_count", message, fix: `Write ${min} or more` });
      } else if (min === 0 && max === undefined && schema === undefined) {
        const message = `Cannot use ${check.name(at)}: it expects nothing`;
        check.refuse({ at, code: "policy_dead_rule", message, fix: 'Add "max" or "schema", or remove the entry' });
      }
      if (budgets?.events !== undefined && min > budgets.events) {
        const message = `Cannot expect ${min} events of kind ${quote(kind)}: "budgets.events" is ${budgets.events}`;
        check.refuse({ at, code: "policy_budget_order", message, fix: `Set "events" to ${min} or more` });
      }
      return [kind, {
        min,
        ...(max === undefined ? {} : { max }),
        ...(schema === undefined ? {} : planSchema(check, `${at}/schema`, schema)),
      }];
    }),
  );
}

function planSchema(check: Check, at: string, schema: string | JsonObject | object): Pick<ExpectedEvents, "schema"> {
  const fact = check.facts.eventSchemas.get(at);
  if (typeof schema !== "string") {
    check.issues.push(...fact?.issues ?? []);
    return { schema: { value: structuredClone(fact?.value ?? false) } };
  }
  const path = check.path(at, schema);
  if (path === undefined || !check.insideOrAccepted(at, path.path)) return {};
  if (path.kind !== "file" || fact === undefined || fact.sha256 === null) {
    const what = path.kind === "missing" ? "it does not exist" : "it is no regular file that can be read";
    const message = `Cannot use ${check.name(at)} ${quote(schema)}: ${what}`;
    check.refuse({ at, code: "policy_schema_missing", message, fix: "Name a JSON Schema, relative to the policy" });
    return {};
  }
  check.issues.push(...fact.issues);
  const file = { path: check.portable(path.path), sha256: fact.sha256 };
  return { schema: { value: structuredClone(fact.value), file } };
}

/** The real paths of the schema files that a policy names. */
export function schemaFiles({ loaded, facts }: Check): string[] {
  return Object.keys(loaded.policy.expectEvents ?? {}).flatMap((kind) =>
    facts.paths.get(`/expectEvents/${kind}/schema`)?.real ?? []
  );
}

/**
 * Plans `session`.
 *
 * @returns The plan, and the absolute paths of a session file outside the user's state folder and of the one that a reset sets
 * aside: no tool may touch them.
 */
export function planSession(
  check: Check,
  budgets: Budgets,
): { readonly plan: SessionPlan | undefined; readonly kept: readonly string[] } {
  const { session } = check.loaded.policy;
  if (session === undefined) return { plan: undefined, kept: [] };
  if (budgets.stateBytes > MAX_SESSION_BYTES) {
    const message = `Cannot keep a session: "budgets.stateBytes" is ${budgets.stateBytes}`;
    const fix = `Set "stateBytes" to ${MAX_SESSION_BYTES} or less, or remove "session"`;
    check.refuse({ at: "/session", code: "policy_session_size", message, fix });
  }
  const file = session === true ? undefined : session.file;
  return file === undefined ? planOwnSession(check) : planNamedSession(check, file);
}

/** One file for each policy of a project, in the user's state folder, under the policy's own path. */
function planOwnSession(check: Check): ReturnType<typeof planSession> {
  const { file, project } = check.loaded;
  if (file === null) {
    const message = "Cannot keep a session: a policy of flags alone has no name that it could be kept under";
    check.refuse({ at: "/session", code: "policy_session_nameless", message, fix: "Add --session-file" });
    return { plan: undefined, kept: [] };
  }
  const name = relativeTo(project, file);
  return { plan: { file: `\${state}/sessions/${name}.session.json`, rule: "/session" }, kept: [] };
}

function planNamedSession(check: Check, text: string): ReturnType<typeof planSession> {
  const at = "/session/file";
  const name = `${check.name(at)} ${quote(text)}`;
  const fact = check.path(at, text);
  if (fact === undefined || !check.insideOrAccepted(at, fact.path)) return { plan: undefined, kept: [] };
  const { project, state } = check.facts.places;
  const refuse = (code: string, what: string, fix: string) =>
    check.refuse({ at, code, message: `Cannot keep the session in ${name}: ${what}`, fix });
  if (fact.kind === "directory" || fact.kind === "other") {
    refuse("policy_session_kind", "it is no regular file", "Name a file; it may be missing");
  }
  if (!fact.path.endsWith(".json")) {
    refuse("policy_session_kind", "its name does not end in .json", "Name a file such as session.json");
  }
  if (check.facts.tracked.has(at)) {
    refuse("policy_tracked", "git tracks it", "Name a file that git ignores, or remove the key");
  }
  // the runner's own folder is protected from tools, and just the place for what the runner writes
  const others = PROTECTED_NAMES.filter((protectedName) => protectedName !== ".twokey");
  const parts = isInside(project, fact.path) ? relativeTo(project, fact.path).split("/") : [fact.path];
  const isKept = makeNameFinder(others)(parts) >= 0 ||
    isRunFile(fact.path, [`${project}/.twokey/runs`, `${state}/runs`]);
  if (isKept) {
    refuse("policy_protected", "the place is protected", 'Name a file of its own, such as ".twokey/session.json"');
  }
  for (const [index] of (check.loaded.policy.fs?.write ?? []).entries()) {
    const root = check.facts.paths.get(`/fs/write/${index}/root`)?.real;
    if (root === undefined || !isInside(root, fact.path)) continue;
    const what = `${check.name(`/fs/write/${index}/root`)} lets tools write there`;
    refuse("policy_protected", what, "Name a file outside of every write root");
  }
  const read = (check.loaded.policy.fs?.read ?? []).findIndex((_, index) =>
    check.facts.paths.get(`/fs/read/${index}/root`)?.real === fact.path
  );
  if (read >= 0) {
    const what = `${check.name(`/fs/read/${read}/root`)} names it as well`;
    refuse("policy_protected", what, "Remove the read root: an agent has its state as state");
  }
  return { plan: { file: check.portable(fact.path), rule: at }, kept: [fact.path, backupOf(fact.path)] };
}

function isRunFile(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isInside(folder, path));
}
