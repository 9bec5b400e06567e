import * as v from "valibot";
import { defineReader, issueNumber, numberText, PAGE_QUERY } from "./reader.ts";

const NAME = "github.pr.files.list";
const file = v.looseObject({ filename: v.string() });

/**
 * Lists the files that a pull request changes.
 *
 * Arguments: `{ owner, repo, number }`. Result: `{ files, complete }`, the entries of all pages as GitHub sent them;
 * `complete` is false where there are more than a call reads. GitHub itself lists 3,000 at most.
 */
export const githubPrFilesList = defineReader({
  name: NAME,
  summary: "Lists the files that a pull request of a GitHub repository changes",
  entries: { number: issueNumber("Number of the pull request") },
  path: "/pulls/{number}/files",
  query: PAGE_QUERY,
  result: v.strictObject({
    files: v.array(file),
    complete: v.pipe(v.boolean(), v.description("Whether these are all files that GitHub lists")),
  }),
  nonClaims: ["GitHub lists 3,000 files of a pull request at most, and leaves large patches out"],
  places: ({ number }) => ({ number: numberText(NAME, number) }),
  async read(reader) {
    const { entries, complete } = await reader.pages((page) => page);
    return { files: entries as unknown as v.InferOutput<typeof file>[], complete };
  },
});
