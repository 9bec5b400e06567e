import * as v from "valibot";
import { defineReader, RUN_ID, unexpected } from "./reader.ts";

/**
 * Reads one workflow run.
 *
 * Arguments: `{ owner, repo, run_id }`. Result: the run as GitHub sent it.
 */
export const githubWorkflowRunRead = defineReader({
  name: "github.workflow.run.read",
  summary: "Reads one workflow run of a GitHub repository",
  entries: { run_id: RUN_ID },
  path: "/actions/runs/{run_id}",
  result: v.looseObject({ id: v.number() }),
  places: ({ run_id: id }) => ({ run_id: String(id) }),
  async read(reader, { run_id: wanted }) {
    const run = await reader.object();
    const { id } = run;
    // Numbers beyond 2^53 lose digits in JSON, so they cannot be compared
    const isOther = Number.isSafeInteger(Number(wanted)) && id !== Number(wanted);
    if (typeof id !== "number" || isOther) throw unexpected("it is about another run");
    return run as typeof run & { id: number };
  },
});
