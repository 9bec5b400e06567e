/**
 * Why a call is denied: the closed list of reason slugs.
 *
 * @module
 */

/** Every reason slug with what it means, for people. */
export const DENIAL_CODES = Object.freeze({
  tool_not_granted: "the policy does not grant this tool",
  fs_read_path_not_admitted: "the path names no file below a root that may be read",
  fs_read_path_ambiguous: "more than one root holds a file of that name; name its root as well",
  symlink_refused: "the path is a link, or leads through one",
  gitignore_default: "a .gitignore leaves the path out",
  exclude_pattern: "an exclude pattern of the policy leaves the path out",
  include_pattern: "no include pattern of the policy takes the path in",
  non_file_refused: "the path is not a regular file",
  large_file_summary_only: "the file is over the budget readFileBytes",
  binary_refused: "the file is not text",
  file_limit: "the file is behind the budget readFiles",
  secret_name: "the path is the runner's own, or has the name of a secret",
  content_changed: "the file has changed since it was first read",
  artifact_path_not_admitted: "the path is not a plain one below the write root",
  artifact_overwrite_denied: "the file exists; an artifact never replaces one",
  artifact_root_not_configured: "the policy names no write root",
  protected_path: "the place is protected: no policy can make it writable",
  endpoint_not_granted: "the endpoint is not one of this tool's",
  repository_not_granted: "the repository is not one that the policy names",
  model_not_admitted: "the model is not one that the policy names",
  model_fixture_response_not_found: "no recorded answer has this id and model",
  process_command_not_admitted: "the policy names no such command",
  process_args_not_admitted: "the grammar of the command does not admit these arguments",
  process_cwd_not_admitted: "the folder is not one that the policy lets programs start in",
  process_env_not_admitted: "the policy does not configure this variable",
  process_program_changed: "the program is not the file that it was at the start of the run",
  process_repository_not_admitted: "the settings of the repository make git start programs or leave its folder",
  gate_deny_rule: "a deny rule of the policy matches",
  approval_required: "the call needs an approval, and nothing here can ask for one",
  approval_pending: "the call waits for an approval, and the run stopped at it",
  approval_denied: "a person denied the call",
  not_in_request: "the tool reached for something that it did not ask for",
});

/** One of the reason slugs in {@linkcode DENIAL_CODES}. */
export type DenialCode = keyof (typeof import("./denial_codes.ts"))["DENIAL_CODES"];

/** Whether a text is one of the reason slugs. */
export function isDenialCode(text: string): text is DenialCode {
  return Object.hasOwn(DENIAL_CODES, text);
}
