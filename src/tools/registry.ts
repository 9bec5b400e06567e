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
  "github.issue.read": async () => (await import("./github/issue_read.ts")).githubIssueRead,
  "github.pr.read": async () => (await import("./github/pr_read.ts")).githubPrRead,
  "github.pr.files.list": async () => (await import("./github/pr_files_list.ts")).githubPrFilesList,
  "github.release.latest.read": async () => (await import("./github/release_latest_read.ts")).githubReleaseLatestRead,
  "github.file.read": async () => (await import("./github/file_read.ts")).githubFileRead,
  "github.compare.read": async () => (await import("./github/compare_read.ts")).githubCompareRead,
  "github.commit.read": async () => (await import("./github/commit_read.ts")).githubCommitRead,
  "github.repo.read": async () => (await import("./github/repo_read.ts")).githubRepoRead,
  "github.workflow.run.read": async () => (await import("./github/workflow_run_read.ts")).githubWorkflowRunRead,
  "github.workflow.jobs.list": async () => (await import("./github/workflow_jobs_list.ts")).githubWorkflowJobsList,
  "github.check.runs.list": async () => (await import("./github/check_runs_list.ts")).githubCheckRunsList,
  "ReadFile": async () => (await import("./workspace/read_file.ts")).ReadFile,
  "Glob": async () => (await import("./workspace/glob.ts")).Glob,
  "Grep": async () => (await import("./workspace/grep.ts")).Grep,
  "model.call": async () => (await import("./model/call.ts")).modelCall,
  "AskUser": async () => (await import("./ask/ask_user.ts")).askUser,
  "Skill": async () => (await import("./skill/skill.ts")).skill,
  "TaskCreate": async () => (await import("./task/task_create.ts")).taskCreate,
  "TaskUpdate": async () => (await import("./task/task_update.ts")).taskUpdate,
  "TaskGet": async () => (await import("./task/task_get.ts")).taskGet,
  "TaskList": async () => (await import("./task/task_list.ts")).taskList,
  "process": async () => (await import("./process/process.ts")).process,
  "WriteFile": async () => (await import("./workspace/write_file.ts")).WriteFile,
  "EditFile": async () => (await import("./workspace/edit_file.ts")).EditFile,
});
