/**
 * Reads the file of a skill and looks for its faults, so that the compiler loads no library for it.
 *
 * @module
 */
import { CORE_SCHEMA, load, YAMLException } from "js-yaml";
import { isJsonObject, sha256 } from "../json.ts";
import { MAX_SKILL_BYTES, splitSkill } from "../plan/skill_plan.ts";

/** Longest description, in characters: it stands in a list of all skills. */
const MAX_DESCRIPTION = 1024;

/** A skill as it was found. */
export interface SkillFact {
  /** Absolute path of its file, links not followed. */
  readonly path: string;
  /** SHA-256 of the file. */
  readonly sha256: string;
  /** What its front matter says; empty where there is a problem. */
  readonly name: string;
  readonly description: string;
  /** Why it cannot be used, in words; `null` where it can. */
  readonly problem: string | null;
}

/** Reads a skill. Never throws for what it finds. */
export async function readSkill(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<SkillFact> {
  const found = parse(bytes);
  const fact = { path, sha256: await sha256(bytes) };
  return typeof found === "string"
    ? { ...fact, name: "", description: "", problem: found }
    : { ...fact, ...found, problem: null };
}

function parse(bytes: Uint8Array): Pick<SkillFact, "name" | "description"> | string {
  if (bytes.length > MAX_SKILL_BYTES) return `it has ${bytes.length} bytes, and ${MAX_SKILL_BYTES} is the most`;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "it is not UTF-8 text";
  }
  if (text.includes("\0")) return "it holds a NUL, so it is no text";
  const parts = splitSkill(text);
  if (typeof parts === "string") return parts;
  const front = readFront(parts.front);
  if (typeof front === "string") return front;
  if (parts.body.trim() === "") return "there is no text below its front matter";
  return front;
}

/** Name and description; what else stands there is for other readers. */
function readFront(front: string): Pick<SkillFact, "name" | "description"> | string {
  let value: unknown;
  try {
    value = load(front, { schema: CORE_SCHEMA });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    // The fence is the file's first line
    const line = error.mark === undefined ? "" : ` (line ${error.mark.line + 2})`;
    return `its front matter is no YAML: ${error.reason}${line}`;
  }
  if (!isJsonObject(value)) return "its front matter is no list of keys and values";
  const name = Object.hasOwn(value, "name") ? value.name : undefined;
  const about = Object.hasOwn(value, "description") ? value.description : undefined;
  if (typeof name !== "string" || name === "") return 'its front matter has no "name" that is a text';
  const description = typeof about === "string" ? about.trim() : "";
  if (description === "") return 'its front matter has no "description" that is a text';
  if (description.length > MAX_DESCRIPTION) return `its description is over ${MAX_DESCRIPTION} characters`;
  if (/[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u.test(description)) return "its description holds control characters";
  return { name, description };
}
