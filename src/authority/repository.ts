/**
 * Names of GitHub repositories, and which of them a policy's entry admits.
 *
 * @module
 */

/** A name of an owner or a repository, by the characters that GitHub has in them. */
const NAME = /^[A-Za-z0-9_.-]{1,100}$/;

/** Whether a text can be the name of an owner or of a repository: `.github` is one, `.` and `..` are none. */
export function isRepositoryPart(text: string): boolean {
  return NAME.test(text) && text !== "." && text !== "..";
}

/**
 * Whether an entry, `owner/name` or `owner/*`, admits a repository or all that another entry admits. Case does not
 * matter, as it does not to GitHub. Anything that is not two names admits nothing and is admitted by nothing.
 */
export function admitsRepository(entry: string, repository: string): boolean {
  const [owner = "", name = "", ...rest] = entry.toLowerCase().split("/");
  const [asked = "", wanted = "", ...more] = repository.toLowerCase().split("/");
  if (rest.length > 0 || more.length > 0 || !isRepositoryPart(owner) || owner !== asked) return false;
  if (wanted !== "*" && !isRepositoryPart(wanted)) return false;
  return name === "*" || (name === wanted && isRepositoryPart(name));
}
