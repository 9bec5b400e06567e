import * as v from "valibot";
import { defineReader, unexpected } from "./reader.ts";

/**
 * Reads what GitHub says of a repository.
 *
 * Arguments: `{ owner, repo }`. Result: the repository as GitHub sent it. `full_name` is what it is called now, which for
 * a renamed one is not what was asked for.
 */
export const githubRepoRead = defineReader({
  name: "github.repo.read",
  summary: "Reads what GitHub says of a repository",
  entries: {},
  path: "",
  result: v.looseObject({ full_name: v.string() }),
  places: () => ({}),
  async read(reader) {
    const repository = await reader.object();
    if (typeof repository.full_name !== "string") throw unexpected("the repository has no name");
    return repository as typeof repository & { full_name: string };
  },
});
