import { agentPathProblem } from "../../authority/agent_path.ts";
import { ToolInputError } from "../../errors.ts";

/** Refuses an argument that cannot be a path, whatever stands in the file system. @throws {ToolInputError} */
export function assertAgentPath(tool: string, key: string, path: string | undefined): void {
  const problem = path === undefined ? null : agentPathProblem(path);
  if (problem === null) return;
  throw new ToolInputError("tool_invalid_args", `Cannot call "${tool}": "${key}" must be a path, ${problem}`);
}
