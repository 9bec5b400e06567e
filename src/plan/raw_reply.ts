/**
 * One answer of an endpoint, live, cached or recorded, before anything of it is believed.
 *
 * @module
 */

/** An answer as it came: decoded text, not yet judged. */
export interface RawReply {
  readonly status: number;
  /** Lower-case names; those of {@linkcode KEPT_HEADERS} only. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Decoded bytes of the body. */
  readonly bytes: number;
  /** `base64`: the body was asked for as bytes, and `text` holds them in base64. Absent: the body is `text`. */
  readonly encoding?: "base64";
  /** Where a redirect leads, unread; never kept, never shown. */
  readonly location?: string;
  /** `owner/name` that a renamed repository had when it gave this answer. */
  readonly repository?: string;
}

/** Headers that tools and caches get to see; none of them can hold a credential. */
export const KEPT_HEADERS = [
  "content-type",
  "date",
  "etag",
  "last-modified",
  "link",
  "retry-after",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
] as const;
