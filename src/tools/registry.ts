/**
 * The list of tools. A tool is one file in `src/tools/<family>/` and one line here; only granted tools are ever loaded.
 *
 * @module
 */
import type { Tool } from "../tool/define.ts";

/** Loaders of every tool, by name. */
export const TOOLS: Readonly<Record<string, () => Promise<Tool>>> = Object.freeze({
  __proto__: null as never,
  "echo": async () => (await import("./harness/echo.ts")).echo,
  "fail": async () => (await import("./harness/fail.ts")).fail,
  "slow": async () => (await import("./harness/slow.ts")).slow,
  "readFile": async () => (await import("./fs/read_file.ts")).readFile,
  "listFiles": async () => (await import("./fs/list_files.ts")).listFiles,
  "writeArtifact": async () => (await import("./fs/write_artifact.ts")).writeArtifact,
  "osv.query": async () => (await import("./supply_chain/osv_query.ts")).osvQuery,
  "npm.metadata": async () => (await import("./supply_chain/npm_metadata.ts")).npmMetadata,
});
