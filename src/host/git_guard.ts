/**
 * Settings of a repository that make git start a program, reach a network or leave its folder: with any of them no git
 * command is run there, whatever else would override it.
 *
 * @module
 */

/** Arguments that list the settings of the repository itself, includes followed; they start nothing. */
export const LIST_SETTINGS: readonly string[] = Object.freeze([
  "--no-pager",
  "config",
  "--local",
  "--includes",
  "--null",
  "--list",
]);

/** Arguments that list the settings of the work tree alone. */
export const LIST_WORKTREE_SETTINGS: readonly string[] = Object.freeze(
  LIST_SETTINGS.map((word) => word === "--local" ? "--worktree" : word),
);

/** Keys in lower case; a name between the first and the last dot is cut out. */
const EXECUTABLE: ReadonlySet<string> = new Set([
  ..."core.sshcommand core.gitproxy core.pager core.editor core.askpass core.alternaterefscommand core.worktree".split(
    " ",
  ),
  ..."core.hookspath diff.external diff.command diff.textconv filter.clean filter.smudge filter.process".split(" "),
  ..."gpg.program gpg.defaultkeycommand credential.helper merge.driver merge.tool mergetool.cmd mergetool.path".split(
    " ",
  ),
  ..."difftool.cmd difftool.path interactive.difffilter sequence.editor remote.uploadpack remote.receivepack".split(
    " ",
  ),
  ..."remote.vcs remote.promisor remote.partialclonefilter extensions.partialclone trailer.command trailer.cmd".split(
    " ",
  ),
  ..."uploadpack.packobjectshook browser.cmd browser.path man.cmd man.path web.browser receive.procreceiverefs".split(
    " ",
  ),
  ..."sendemail.sendmailcmd sendemail.tocmd sendemail.cccmd imap.tunnel init.templatedir fsmonitor.socketdir".split(
    " ",
  ),
]);

/** Whether the settings of a work tree must be looked at as well. */
export function hasWorktreeSettings(listing: string): boolean {
  return entriesOf(listing).some(([key, value]) => key === "extensions.worktreeconfig" && isTrue(value));
}

/** The keys in a listing (`key` newline `value` NUL …) that make git start something; sorted, without values. */
export function executableKeys(listing: string): string[] {
  const found = entriesOf(listing).filter(([key, value]) => isExecutable(key, value)).map(([key]) => key);
  return [...new Set(found)].toSorted();
}

function isExecutable(key: string, value: string | undefined): boolean {
  const first = key.indexOf(".");
  const last = key.lastIndexOf(".");
  const [section, name] = [key.slice(0, first).toLowerCase(), key.slice(last + 1).toLowerCase()];
  const short = `${section}.${name}`;
  if (EXECUTABLE.has(short)) return true;
  if (short === "core.fsmonitor") return !isFalse(value);
  // `pager.<command>` may name a program; a plain boolean does not
  if (section === "pager") return !isFalse(value) && !isTrue(value);
  if (section === "alias" || short === "submodule.update") return value?.trimStart().startsWith("!") ?? false;
  return false;
}

function entriesOf(listing: string): [key: string, value: string | undefined][] {
  return listing.split("\0").filter((entry) => entry !== "").map((entry) => {
    const end = entry.indexOf("\n");
    return end < 0 ? [entry, undefined] : [entry.slice(0, end), entry.slice(end + 1)];
  });
}

/** A key without a value is true. */
function isTrue(value: string | undefined): boolean {
  return value === undefined || /^(?:true|yes|on|1)$/i.test(value);
}

function isFalse(value: string | undefined): boolean {
  return value !== undefined && /^(?:false|no|off|0|)$/i.test(value);
}
