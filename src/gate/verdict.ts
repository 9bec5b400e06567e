/**
 * What one part of the gate says of one requirement.
 *
 * @module
 */
import type { DenialCode } from "../authority/denial_codes.ts";

/** What one step says of one requirement: granted by a rule, or denied with a code and the rule, if one spoke. */
export type Verdict =
  | { readonly granted: string }
  | { readonly code: DenialCode; readonly rule: string | null };
