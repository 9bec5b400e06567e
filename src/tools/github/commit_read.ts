import * as v from "valibot";
import { asObject, assertRef, defineReader, gitRef, PAGE_QUERY, unexpected } from "./reader.ts";

const NAME = "github.commit.read";
const file = v.looseObject({ filename: v.string() });

/**
 * Reads one commit.
 *
 * Arguments: `{ owner, repo, ref }`, a branch, a tag or a commit. Result: the commit as GitHub sent it, with the files of all
 * pages; `complete` is false where there are more than a call reads.
 */
export const githubCommitRead = defineReader({
  name: NAME,
  summary: "Reads one commit of a GitHub repository and the files that it changes",
  entries: { ref: gitRef(200, "A branch, a tag or a commit") },
  path: "/commits/{ref}",
  query: PAGE_QUERY,
  result: v.looseObject({
    sha: v.string(),
    files: v.array(file),
    complete: v.pipe(v.boolean(), v.description("Whether these are all files that GitHub lists")),
  }),
  nonClaims: [
    "GitHub lists 3,000 files of a commit at most, and leaves large patches out",
    "Does not verify signatures: `verification` is what GitHub says of them",
  ],
  places({ ref }) {
    assertRef(NAME, "ref", ref);
    return { ref };
  },
  async read(reader, { ref }) {
    const { first, entries, complete } = await reader.pages((page) => asObject(page).files ?? []);
    const commit = asObject(first);
    const { sha } = commit;
    if (typeof sha !== "string" || !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(sha)) throw unexpected("it is no commit");
    const isOther = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(ref) && sha !== ref.toLowerCase();
    if (isOther) throw unexpected("it is about another commit");
    return { ...commit, sha, files: entries as unknown as v.InferOutput<typeof file>[], complete };
  },
});
