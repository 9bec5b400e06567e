/**
 * The compiler's step for repositories and credentials: which of them the policy grants, to which tools.
 *
 * @module
 */
import type { Plan } from "../plan/plan.ts";
import { type Check, quote } from "./check.ts";
import { asksModels, planModelKey } from "./check_model.ts";

/** Plans the repositories that the GitHub tools may read. A tool without any is refused, and so are they without one. */
export function planGitHub(check: Check): Plan["github"] {
  const { github, tools = [] } = check.loaded.policy;
  const readers = check.granted().filter(({ authority }) => authority.service === "github");
  if (github === undefined) {
    for (const { name } of readers) {
      check.refuse({
        at: `/tools/${tools.indexOf(name)}`,
        code: "policy_tool_without_authority",
        message: `Cannot grant ${quote(name)}: the policy has no "github.repos" for it`,
        fix: 'Add "github": { "repos": ["owner/name"] }, or remove the tool',
      });
    }
    return { repos: [] };
  }
  if (readers.length === 0) {
    const all = Object.values(check.manifests).filter(({ authority }) => authority.service === "github");
    check.refuse({
      at: "/github",
      code: "policy_unused_authority",
      message: `Cannot grant ${check.name("/github")}: no granted tool reads a repository`,
      fix: check.removeOrGrant("/github", all),
    });
  }
  const seen = new Set<string>();
  for (const [index, match] of github.repos.entries()) {
    const folded = match.toLowerCase();
    if (seen.has(folded)) {
      const at = `/github/repos/${index}`;
      const message = `Cannot use ${check.name(at)} ${quote(match)}: it is listed twice, case does not matter`;
      check.refuse({ at, code: "policy_duplicate_repository", message, fix: "Keep one of the two" });
    }
    seen.add(folded);
  }
  return { repos: github.repos.map((match, index) => ({ match, rule: `/github/repos/${index}` })) };
}

/**
 * Plans which variable holds the credential of which tool: `secrets` names one tool each, `github.tokenEnv` serves the
 * GitHub tools that `secrets` does not name, `model.apiKeyEnv` the tools that ask models.
 */
export function planCredentials(check: Check): Plan["credentials"] {
  const { github, model, secrets = {} } = check.loaded.policy;
  const planned: [string, Plan["credentials"][string]][] = [];
  for (const manifest of check.granted()) {
    const { name, authority: { credential, service } } = manifest;
    if (asksModels(manifest)) {
      const own = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
      const isAsked = model?.provider !== undefined && model.fixture === undefined;
      const key = own === undefined ? planModelKey(check, manifest) : { env: own, rule: pointerOf(name) };
      if (isAsked && key !== undefined) planned.push([name, key]);
      continue;
    }
    if (credential === undefined) continue;
    if (Object.hasOwn(secrets, name) && secrets[name] !== undefined) {
      planned.push([name, { env: secrets[name], rule: pointerOf(name) }]);
    } else if (service === "github" && github?.tokenEnv !== undefined) {
      planned.push([name, { env: github.tokenEnv, rule: "/github/tokenEnv" }]);
    } else if (!credential.optional && (check.loaded.policy.network?.fixtures ?? []).length === 0) {
      check.refuse({
        at: `/tools/${(check.loaded.policy.tools ?? []).indexOf(name)}`,
        code: "policy_tool_without_authority",
        message: `Cannot grant ${quote(name)}: the policy names no variable that holds its credential`,
        fix: `Add "secrets": { ${quote(name)}: "VARIABLE" }, or remove the tool`,
      });
    }
  }
  for (const name of Object.keys(secrets)) refuseUseless(check, name);
  if (github?.tokenEnv !== undefined && !planned.some(([, { rule }]) => rule === "/github/tokenEnv")) {
    check.refuse({
      at: "/github/tokenEnv",
      code: "policy_unused_authority",
      message: `Cannot grant ${check.name("/github/tokenEnv")}: no granted tool uses it`,
      fix: 'Remove it: "secrets" names a variable for each granted github tool, or none is granted',
    });
  }
  if (
    model?.apiKeyEnv !== undefined && planned.some(([name]) => Object.hasOwn(secrets, name) && isModel(check, name))
  ) {
    check.refuse({
      at: "/model/apiKeyEnv",
      code: "policy_unused_authority",
      message: `Cannot grant ${check.name("/model/apiKeyEnv")}: no granted tool uses it`,
      fix: 'Remove it: "secrets" names a variable for the tool',
    });
  }
  refuseSharedWithHost(check, planned);
  planned.sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(planned);
}

function isModel(check: Check, name: string): boolean {
  const manifest = check.manifest(name);
  return manifest !== undefined && asksModels(manifest);
}

function refuseUseless(check: Check, name: string): void {
  const at = pointerOf(name);
  const manifest = check.granted().find((tool) => tool.name === name);
  if (manifest?.authority.credential !== undefined || manifest?.authority.model !== undefined) return;
  const what = manifest === undefined ? "the tool is not granted" : "the tool takes no credential";
  check.refuse({
    at,
    code: "policy_unused_authority",
    message: `Cannot use the secret of ${quote(name)}: ${what}`,
    fix: manifest === undefined ? `Remove it, or add ${quote(name)} to "tools"` : "Remove it",
  });
}

/** A variable that the host uses for its network is read for that; a credential in it would be sent to others. */
function refuseSharedWithHost(
  check: Check,
  planned: readonly (readonly [string, Plan["credentials"][string]])[],
): void {
  const { network } = check.loaded.policy;
  const ca = network?.ca;
  for (const name of [network?.proxy?.fromEnv, ca !== undefined && "fromEnv" in ca ? ca.fromEnv : undefined]) {
    const shared = planned.find(([, { env }]) => env === name);
    if (name === undefined || shared === undefined) continue;
    check.refuse({
      at: shared[1].rule,
      code: "policy_shared_variable",
      message: `Cannot use ${check.name(shared[1].rule)}: the variable "${name}" has another use in "network"`,
      fix: "Put the credential into a variable of its own",
    });
  }
}

function pointerOf(tool: string): string {
  return `/secrets/${tool.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
