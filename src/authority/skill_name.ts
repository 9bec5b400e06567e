/**
 * Names of skills.
 *
 * @module
 */

/** What a name of a skill may look like. */
export const SKILL_NAME: RegExp = /^[a-z0-9][a-z0-9_-]{0,63}$/;
