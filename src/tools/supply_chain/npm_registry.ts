/**
 * The pinned origin of `npm.metadata`. It stands here and nowhere else: manifests, plans, fixtures and documents hold
 * the placeholder, and the two functions below put the origin in and take it out.
 *
 * @module
 */

const PLACEHOLDER = "<npm-registry>";
const HOST = "registry.npmjs.org";

/** Puts the registry's host where the placeholder stands. */
export function withRegistry(text: string): string {
  return text.replaceAll(PLACEHOLDER, HOST);
}

/** Puts the placeholder where the registry's host stands. */
export function withoutRegistry(text: string): string {
  return text.replaceAll(HOST, PLACEHOLDER);
}
