/**
 * Reasons of denials in words.
 *
 * @module
 */
import { DENIAL_CODES, isDenialCode } from "../authority/denial_codes.ts";

/** Explains a reason slug; one that is not known stands for itself. */
export function reasonText(reason: string | null): string {
  if (reason === null) return "no reason is recorded";
  return isDenialCode(reason) ? DENIAL_CODES[reason] : reason;
}

/** Names a path below the project relative to it. */
export function withoutProject(target: string, project: string | null): string {
  return project !== null && target.startsWith(`${project}/`) ? target.slice(project.length + 1) : target;
}
