import * as v from "valibot";
import { defineReader, unexpected } from "./reader.ts";

/**
 * Reads the latest release.
 *
 * Arguments: `{ owner, repo }`. Result: the release as GitHub sent it, its assets by name and address. A repository
 * without a release is an error `not_found_or_private`.
 */
export const githubReleaseLatestRead = defineReader({
  name: "github.release.latest.read",
  summary: "Reads the latest release of a GitHub repository",
  entries: {},
  path: "/releases/latest",
  result: v.looseObject({ tag_name: v.string() }),
  nonClaims: ["Does not download assets, and does not verify that they are what their names say"],
  places: () => ({}),
  async read(reader) {
    const release = await reader.object();
    if (typeof release.tag_name !== "string") throw unexpected("the release has no tag");
    return release as typeof release & { tag_name: string };
  },
});
