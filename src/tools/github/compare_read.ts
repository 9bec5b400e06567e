import * as v from "valibot";
import { asObject, assertRef, defineReader, gitRef, PAGE_QUERY, unexpected } from "./reader.ts";

const NAME = "github.compare.read";

/** Files that GitHub puts into a comparison, at most; only its first page has any. */
const MAX_FILES = 300;

const commit = v.looseObject({ sha: v.string() });

/**
 * Compares two commits.
 *
 * Arguments: `{ owner, repo, base, head }`, each a branch, a tag or a commit. Result: the comparison as GitHub sent it, with
 * the commits of all pages; `complete` is false where commits are missing, `files_complete` where files may be.
 */
export const githubCompareRead = defineReader({
  name: NAME,
  summary: "Compares two commits of a GitHub repository",
  entries: { base: gitRef(200, "Where the comparison starts"), head: gitRef(200, "Where the comparison ends") },
  path: "/compare/{basehead}",
  query: PAGE_QUERY,
  result: v.looseObject({
    commits: v.array(commit),
    complete: v.pipe(v.boolean(), v.description("Whether these are all commits")),
    files_complete: v.pipe(v.boolean(), v.description("Whether GitHub surely left out no file")),
  }),
  nonClaims: ["GitHub puts 300 files into a comparison at most"],
  places({ base, head }) {
    assertRef(NAME, "base", base);
    assertRef(NAME, "head", head);
    return { basehead: `${base}...${head}` };
  },
  async read(reader) {
    const { first, entries, complete } = await reader.pages((page) => asObject(page).commits);
    const comparison = asObject(first);
    const { total_commits: total, files = [] } = comparison;
    if (typeof total !== "number" || !Array.isArray(files)) throw unexpected("it is no comparison");
    return {
      ...comparison,
      commits: entries as unknown as v.InferOutput<typeof commit>[],
      complete: complete && entries.length >= total,
      files_complete: files.length < MAX_FILES,
    };
  },
});
