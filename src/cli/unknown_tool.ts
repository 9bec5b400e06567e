/**
 * What a person is told who names a tool that does not exist. An agent is only told that it is denied.
 *
 * @module
 */
import { nearest } from "../authority/nearest.ts";
import { MANIFESTS } from "../launch/compile_policy.ts";
import { escapeText } from "../report/escape.ts";

/** Says that there is no tool of a name, and which one may be meant; `undefined` where there is one. Escaped. */
export function unknownTool(name: string): string | undefined {
  if (Object.hasOwn(MANIFESTS, name)) return undefined;
  const meant = nearest(name, Object.keys(MANIFESTS));
  const hint = meant === undefined ? "`twokey tool list` names them all" : `did you mean ${meant}?`;
  return `there is no tool "${escapeText(name, { max: 80 })}"; ${hint}`;
}
