import * as v from "valibot";
import { defineReader, issueNumber, numberText, unexpected } from "./reader.ts";

const NAME = "github.issue.read";

/**
 * Reads one issue.
 *
 * Arguments: `{ owner, repo, number }`. Result: the issue as GitHub sent it. A pull request is an issue too, and has the
 * field `pull_request` then. All texts in it were written by strangers.
 */
export const githubIssueRead = defineReader({
  name: NAME,
  summary: "Reads one issue of a GitHub repository",
  entries: { number: issueNumber("Number of the issue") },
  path: "/issues/{number}",
  result: v.looseObject({ number: v.number() }),
  places: ({ number }) => ({ number: numberText(NAME, number) }),
  async read(reader, { number }) {
    const issue = await reader.object();
    if (issue.number !== Number(number)) throw unexpected("it is about another issue");
    return issue as typeof issue & { number: number };
  },
});
