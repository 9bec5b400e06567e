import * as v from "valibot";
import { asObject, defineReader, PAGE_QUERY, RUN_ID, unexpected } from "./reader.ts";

const job = v.looseObject({ id: v.number() });

/**
 * Lists the jobs of a workflow run.
 *
 * Arguments: `{ owner, repo, run_id }`. Result: `{ total_count, jobs, complete }`, the jobs of the latest attempt, of all
 * pages, as GitHub sent them; `complete` is false where jobs are missing.
 */
export const githubWorkflowJobsList = defineReader({
  name: "github.workflow.jobs.list",
  summary: "Lists the jobs of a workflow run of a GitHub repository",
  entries: { run_id: RUN_ID },
  path: "/actions/runs/{run_id}/jobs",
  query: PAGE_QUERY,
  result: v.strictObject({
    total_count: v.number(),
    jobs: v.array(job),
    complete: v.pipe(v.boolean(), v.description("Whether these are all jobs")),
  }),
  places: ({ run_id: id }) => ({ run_id: String(id) }),
  async read(reader) {
    const { first, entries, complete } = await reader.pages((page) => asObject(page).jobs);
    const { total_count: total } = asObject(first);
    if (typeof total !== "number") throw unexpected("the list has no count");
    const jobs = entries as unknown as v.InferOutput<typeof job>[];
    return { total_count: total, jobs, complete: complete && jobs.length >= total };
  },
});
