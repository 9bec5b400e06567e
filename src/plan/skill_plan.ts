/**
 * What a plan says of skills: texts that an agent may load, each pinned by its digest.
 *
 * @module
 */
import { utf8Length } from "../json.ts";
import type { PortablePath } from "./plan.ts";

/** One skill. */
export interface SkillPlan {
  /**
   * `embedded`: a file that the policy names, as good as the policy itself. `workspace`: one of the project's
   * `.skills`, which whoever works on the project may have written: untrusted text.
   */
  readonly source: "embedded" | "workspace";
  /** The file that holds it. */
  readonly path: PortablePath;
  /** SHA-256 of the whole file. */
  readonly sha256: string;
  /** What its front matter says it is for. */
  readonly description: string;
  /** JSON Pointer into the policy. */
  readonly rule: string;
}

/** The folder of the project that holds its own skills, one folder each. */
export const WORKSPACE_SKILLS = ".skills";

/** The file of a skill's folder that holds its text. */
export const SKILL_FILE = "SKILL.md";

/** Largest file of a skill, in bytes. */
export const MAX_SKILL_BYTES = 65_536;

/** Largest front matter, in bytes. */
const MAX_FRONT_BYTES = 8192;

/** A skill's file, taken apart. */
export interface SkillText {
  /** YAML between the two fences. */
  readonly front: string;
  /** Everything below the second fence: text for a model, never run. */
  readonly body: string;
}

/**
 * Takes the file of a skill apart: a line `---`, front matter, a line `---`, the text. Lines may end in CRLF.
 *
 * @returns What is wrong, in words, where it has not this form.
 */
export function splitSkill(text: string): SkillText | string {
  const opening = /^\uFEFF?---[ \t]*\r?\n/.exec(text)?.[0];
  if (opening === undefined) return "its first line is not ---, with which front matter begins";
  const rest = text.slice(opening.length);
  const closing = /^---[ \t]*(?:\r?\n|$)/m.exec(rest);
  if (closing === null) return "no line --- ends its front matter";
  const front = rest.slice(0, closing.index);
  if (utf8Length(front) > MAX_FRONT_BYTES) return `its front matter is over ${MAX_FRONT_BYTES} bytes`;
  return { front, body: rest.slice(closing.index + closing[0].length) };
}
