/**
 * Why a call is denied: the closed list of reason slugs.
 *
 * @module
 */

/** Every reason slug with what it means, for people. */
export const DENIAL_CODES = Object.freeze({
  tool_not_granted: "the policy does not list the tool",
  fs_read_path_not_admitted: "no read root holds the path",
  fs_read_path_ambiguous: "several read roots hold a file of that name",
  symlink_refused: "the path is a link, or leads through one",
  gitignore_default: "a .gitignore leaves the file out",
  exclude_pattern: "an exclude pattern of the root matches",
  include_pattern: "no include pattern of the root matches",
  non_file_refused: "the path is no regular file",
  large_file_summary_only: "the file is larger than the policy lets be read",
  binary_refused: "the file is not UTF-8 text",
  file_limit: "the file lies beyond the number of files that the policy lets be collected",
  secret_name: "the name or place is one where secrets are kept",
  content_changed: "the file changed after it was first read",
  artifact_path_not_admitted: "no write root holds the path",
  artifact_overwrite_denied: "the file exists",
  artifact_root_not_configured: "the policy has no write root",
  protected_path: "the place is protected from every tool",
  endpoint_not_granted: "the request is not one that the tool declares",
  gate_deny_rule: "a deny rule of the policy matches",
  approval_required: "an ask rule of the policy matches and nobody approved",
  not_in_request: "the tool did not ask for it before the gate decided",
});

/** One of the reason slugs in {@linkcode DENIAL_CODES}. */
export type DenialCode = keyof (typeof import("./denial_codes.ts"))["DENIAL_CODES"];

/** Whether a text is one of the reason slugs. */
export function isDenialCode(text: string): text is DenialCode {
  return Object.hasOwn(DENIAL_CODES, text);
}
