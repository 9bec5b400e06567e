/**
 * Names that are protected from writing or from reading at any depth, and the places in a project that are.
 *
 * @module
 */
import { isLiteral, makeGlob } from "./glob.ts";
import { foldPath, nameOf } from "./path.ts";

/** The only policy that is found by name. */
export const DEFAULT_POLICY = "agent.policy.jsonc";

/** The lock's name; it stands in the policy's folder. */
export const LOCK_FILE = "agent.lock.json";

/** Names that no tool may write, at any depth below a write root: what other programs obey without asking. */
export const PROTECTED_NAMES: readonly string[] = Object.freeze([
  ".git",
  ".twokey",
  "*.policy.jsonc",
  LOCK_FILE,
  "deno.json",
  "deno.jsonc",
  "deno.lock",
]);

/** Places in a project that no tool may write: beside those with a protected name, what a CI service runs. */
export const PROTECTED_PLACES: readonly string[] = Object.freeze([
  ...PROTECTED_NAMES.filter(isLiteral),
  DEFAULT_POLICY,
  ".github/workflows",
  ".github/actions",
  ".gitea/workflows",
  ".forgejo/workflows",
  ".gitlab-ci.yml",
  ".circleci",
  ".buildkite",
  ".woodpecker",
  ".drone.yml",
  ".travis.yml",
  "appveyor.yml",
  "azure-pipelines.yml",
  "bitbucket-pipelines.yml",
  "Jenkinsfile",
]);

/** Names where secrets are kept: no tool may read them below a read root unless the policy names them. */
export const SECRET_NAMES: readonly string[] = Object.freeze([
  ".env*",
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  "*.jks",
  "*.keystore",
  "*.kdbx",
  "id_*",
  ".ssh",
  ".aws",
  ".gnupg",
  ".netrc",
  ".npmrc",
  ".pypirc",
  ".htpasswd",
  ".git-credentials",
  ".docker/config.json",
  ".git/config",
]);

/** Places directly below a read root that key 1 denies as well, unless the policy names them; the likeliest first. */
export const SECRET_PLACES: readonly string[] = Object.freeze([".git/config", ".env", ".env.local"]);

/**
 * Finds the first component that ends a protected or secret name: its index in `components`, or -1. `*` stands for any
 * run of characters, a name with `/` for that many components. What some file system takes for the same name counts as
 * the same.
 */
export type NameFinder = (components: readonly string[], from?: number) => number;

/** Compiles a list of names. */
export function makeNameFinder(names: readonly string[]): NameFinder {
  const compiled = names.map((name) => {
    const parts = name.split("/").map((part) => makeNameTest(foldPath(part)));
    return { before: parts.slice(0, -1), last: parts[parts.length - 1] ?? (() => false) };
  });
  return (components, from = 0) => {
    for (let end = from; end < components.length; end++) {
      const folded = foldPath(components[end] ?? "");
      for (const { before, last } of compiled) {
        if (!last(folded)) continue;
        const start = end - before.length;
        if (start >= 0 && before.every((part, index) => part(foldPath(components[start + index] ?? "")))) return end;
      }
    }
    return -1;
  };
}

/** A test for one component. Nearly every name has one `*` at most, for which no pattern needs to run. */
function makeNameTest(name: string): (component: string) => boolean {
  const [before = "", after, ...more] = name.split("*");
  if (after === undefined) return (component) => component === name;
  if (more.length > 0) return makeGlob(name);
  const least = before.length + after.length;
  return (component) => component.length >= least && component.startsWith(before) && component.endsWith(after);
}

/**
 * Whether a root names a path below it outright: an include pattern without wildcards that matches it and ends in its
 * name. That is how a policy says that it does mean a file with a secret name.
 */
export function isNamed(include: readonly string[], relative: string): boolean {
  const name = nameOf(relative);
  return include.some((pattern) => {
    const body = pattern.replace(/\/$/, "");
    return isLiteral(pattern) && nameOf(body) === name && makeGlob(body)(relative);
  });
}
