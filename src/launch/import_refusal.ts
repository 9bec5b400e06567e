/**
 * Why an import of an agent is refused.
 *
 * @module
 */

/** A refusal, before esbuild says where the import stands. */
export interface Refusal {
  /** Stable slug. */
  readonly code: string;
  /** Goes on after `Cannot bundle the agent: `. */
  readonly message: string;
  readonly fix: string;
}

/** A refusal of what an import says. */
export function refuseImport(message: string, fix: string): Refusal {
  return { code: "agent_import_refused", message, fix };
}

/** A specifier in quotes, cut where it is long. */
export function shownSpecifier(text: string): string {
  return JSON.stringify(text.length > 200 ? text.slice(0, 200) + "…" : text);
}
