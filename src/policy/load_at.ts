/**
 * A policy as it stood in a revision.
 *
 * @module
 */
import { parentOf, relativeTo } from "../authority/path.ts";
import type { Revision } from "./git_revision.ts";
import { findProject, type LoadedPolicy, parsePolicy } from "./load.ts";

/**
 * Loads a policy from a revision; where the revision has none, the policy that grants nothing.
 *
 * @param file Absolute real path of the policy in the work tree.
 * @throws {PolicyError} With everything that is wrong in it; positions name the revision.
 */
export async function loadAt(revision: Revision, file: string): Promise<LoadedPolicy> {
  const name = `${revision.name}:${relativeTo(revision.top, file)}`;
  const text = await revision.readText(file);
  const base = parentOf(file);
  const project = findProject(base);
  return { ...await parsePolicy(text ?? '{ "version": 1 }', name), file, base, project };
}
