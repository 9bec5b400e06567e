/**
 * Repositories that were renamed: what a redirect of GitHub may lead to, and nothing else.
 *
 * @module
 */
import { isRepositoryPart } from "../authority/repository.ts";
import type { Json } from "../json.ts";

const OWN = /^https:\/\/api\.github\.com\/repos\/([^/?#]+\/[^/?#]+)((?:\/[^?#]+)?)((?:\?[^#]*)?)$/;
const MOVED = /^https:\/\/api\.github\.com\/repositories\/([1-9][0-9]{0,15})((?:\/[^?#]+)?)((?:\?[^#]*)?)$/;

/** Where a repository went. */
export interface Moved {
  /** `owner/name`, as the request had it. */
  readonly from: string;
  /** The number that stays the same over every rename. */
  readonly id: number;
  /** Says what the repository is called now. */
  readonly nameUrl: string;
  /** The same request by number; made of the request's own path and query, of the redirect only the number is taken. */
  readonly url: string;
  /** Path behind the repository, empty for the repository itself. */
  readonly suffix: string;
}

/**
 * Reads the redirect of a request below `/repos/{owner}/{repo}`. `location` is hostile: only `/repositories/<digits>` with
 * the very path and query of the request is one; a redirect that drops `ref` would answer with another branch.
 */
export function readMove(url: string, location: string | undefined): Moved | undefined {
  const [, from, suffix, query] = OWN.exec(url) ?? [];
  const [, digits, theirSuffix, theirQuery] = MOVED.exec(location ?? "") ?? [];
  if (from === undefined || suffix === undefined || digits === undefined || theirSuffix === undefined) return undefined;
  const path = decoded(suffix);
  if (path === undefined || path !== decoded(theirSuffix) || !sameQuery(query ?? "", theirQuery ?? "")) {
    return undefined;
  }
  const nameUrl = `https://api.github.com/repositories/${digits}`;
  return { from, id: Number(digits), nameUrl, url: `${nameUrl}${suffix}${query}`, suffix };
}

/** The name of a repository in its own words; `undefined` where they are not about the number that was asked for. */
export function readName(json: Json, { id }: Moved): string | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const { id: theirs, full_name: name } = json as { readonly id?: Json; readonly full_name?: Json };
  if (theirs !== id || typeof name !== "string") return undefined;
  const parts = name.split("/");
  return parts.length === 2 && parts.every(isRepositoryPart) ? name : undefined;
}

/** Both ways to write a path are one; what is sent is the request's own in any case. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

function sameQuery(a: string, b: string): boolean {
  const sorted = (text: string): string => {
    const params = new URLSearchParams(text);
    params.sort();
    return params.toString();
  };
  return sorted(a) === sorted(b);
}
