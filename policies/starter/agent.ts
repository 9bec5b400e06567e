/// <reference types="../agent.d.ts" />
// deno-lint-ignore-file no-console -- what an agent prints goes to standard error
/**
 * Looks at the Markdown files of the project, then tries the project's configuration, which the policy does not grant
 * until its line is added.
 *
 * @module
 */

const { files } = await callTool("listFiles");
for (const { path } of files.filter(({ readable }) => readable)) {
  const { content } = await callTool("readFile", { path });
  console.log(`${path}: ${content.split("\n").length} lines`);
}

let tasks: readonly string[] | undefined;
const config = files.find(({ path }) => path === "deno.json" || path === "deno.jsonc")?.path ?? "deno.json";
try {
  const { content } = await callTool("readFile", { path: config });
  tasks = [...content.matchAll(/"([\w:-]+)": "deno /g)].map(([, name = ""]) => name);
  console.log(`${config}: the tasks ${tasks.join(", ")}`);
} catch (error) {
  if ((error as ToolCallError).outcome !== "denied") throw error;
  // A denial is an answer like any other: the agent goes on, and the run prints the line that would allow the call.
  console.log(`${config}: ${(error as ToolCallError).message}`);
}

emit({ kind: "looked", files: files.length, tasks: tasks?.length ?? null });
