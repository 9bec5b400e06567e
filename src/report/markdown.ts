/**
 * Somebody else's text inside Markdown.
 *
 * @module
 */
import { escapeText } from "./escape.ts";

/** ASCII punctuation, all of it: each may start something in Markdown, HTML, or what a renderer makes of plain text. */
const PUNCTUATION_REGEXP = /[!-/:-@[-`{-~]/g;

/** How a text is shown. */
export interface MarkdownTextOptions {
  /** Characters shown, at most. */
  readonly max?: number;
}

/** One line in which nothing starts Markdown, HTML, a link, a mention or a cell. */
export function markdownText(text: string, options: MarkdownTextOptions = {}): string {
  return escapeText(text, options).replaceAll(PUNCTUATION_REGEXP, (char) => `&#${char.charCodeAt(0)};`);
}

/** The same, set as code: renderers make no mentions and no links of what is in there. Empty for an empty text. */
export function markdownCode(text: string, options: MarkdownTextOptions = {}): string {
  return text === "" ? "" : `<code>${markdownText(text, options)}</code>`;
}
