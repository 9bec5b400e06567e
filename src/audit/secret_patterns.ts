/**
 * Secrets that can be told by their form alone, whoever's they are: what leaves this machine is scrubbed of them too.
 *
 * A pattern finds what services print with a mark of their own. A secret without one is only found by the name of its
 * field, or by its value where that is known.
 *
 * @module
 */
import type { Json } from "../json.ts";
import { REDACTED } from "./redact.ts";

/** Every form, bounded, so that no text makes the search slow. */
const PATTERNS: readonly RegExp[] = [
  /-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY-----[\s\S]{0,16384}?(?:-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY-----|$)/g,
  /(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{30,255}/g,
  /(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{22,255}/g,
  /(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20,255}/g,
  /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36,64}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,255}/g,
  /(?<![A-Za-z0-9])(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,255}/g,
  /(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,255}/g,
  /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}/g,
  /(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,4096}/g,
  /(?<=\b[Bb]earer )[A-Za-z0-9._~+/=-]{16,4096}/g,
  /(?<=:\/\/[^\s/:@"]{1,256}:)[^\s/@"]{3,256}(?=@)/g,
];

/** Replaces everything in a text that has the form of a secret. */
export function scrubPatterns(text: string): string {
  return PATTERNS.reduce((scrubbed, pattern) => scrubbed.replaceAll(pattern, REDACTED), text);
}

/** Changes every text and every key in a JSON value; gives `value` itself back where nothing changed. */
export function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (typeof value !== "object" || value === null) return value;
  let changed = false;
  const inner = (item: Json): Json => {
    const now = mapTexts(item, change);
    changed ||= now !== item;
    return now;
  };
  if (Array.isArray(value)) {
    const items = value.map(inner);
    return changed ? items : value;
  }
  const taken = new Set<string>();
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    let name = change(key);
    // two keys that differ in the secret alone must both stay to be seen
    for (let n = 2; name !== key && taken.has(name); n++) name = `${change(key)} (${n})`;
    taken.add(name);
    changed ||= name !== key;
    return [name, inner(item)];
  });
  return changed ? Object.fromEntries(entries) : value;
}
