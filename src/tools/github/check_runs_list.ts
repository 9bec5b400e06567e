import * as v from "valibot";
import { asObject, assertRef, defineReader, gitRef, PAGE_QUERY, unexpected } from "./reader.ts";

const NAME = "github.check.runs.list";
const checkRun = v.looseObject({ id: v.number() });

/**
 * Lists the check runs of a commit.
 *
 * Arguments: `{ owner, repo, ref }`, a branch, a tag or a commit. Result: `{ total_count, check_runs, complete }`, the runs of
 * all pages as GitHub sent them; `complete` is false where runs are missing.
 */
export const githubCheckRunsList = defineReader({
  name: NAME,
  summary: "Lists the check runs of a commit of a GitHub repository",
  entries: { ref: gitRef(160, "A branch, a tag or a commit") },
  path: "/commits/{ref}/check-runs",
  query: PAGE_QUERY,
  result: v.strictObject({
    total_count: v.number(),
    check_runs: v.array(checkRun),
    complete: v.pipe(v.boolean(), v.description("Whether these are all check runs")),
  }),
  nonClaims: ["GitHub lists the check runs of the 1,000 newest check suites only"],
  places({ ref }) {
    assertRef(NAME, "ref", ref);
    return { ref };
  },
  async read(reader) {
    const { first, entries, complete } = await reader.pages((page) => asObject(page).check_runs);
    const { total_count: total } = asObject(first);
    if (typeof total !== "number") throw unexpected("the list has no count");
    const runs = entries as unknown as v.InferOutput<typeof checkRun>[];
    return { total_count: total, check_runs: runs, complete: complete && runs.length >= total };
  },
});
