import * as v from "valibot";
import { defineReader, issueNumber, numberText, unexpected } from "./reader.ts";

const NAME = "github.pr.read";

/**
 * Reads one pull request.
 *
 * Arguments: `{ owner, repo, number }`. Result: the pull request as GitHub sent it. All texts in it were written by
 * strangers, and its `head` may lie in a repository that the policy does not name.
 */
export const githubPrRead = defineReader({
  name: NAME,
  summary: "Reads one pull request of a GitHub repository",
  entries: { number: issueNumber("Number of the pull request") },
  path: "/pulls/{number}",
  result: v.looseObject({ number: v.number() }),
  places: ({ number }) => ({ number: numberText(NAME, number) }),
  async read(reader, { number }) {
    const pull = await reader.object();
    if (pull.number !== Number(number)) throw unexpected("it is about another pull request");
    return pull as typeof pull & { number: number };
  },
});
