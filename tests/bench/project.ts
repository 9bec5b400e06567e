/**
 * Projects that the product is measured in.
 *
 * @module
 */
import { ROOT, type World } from "./world.ts";

/** Names of the files that are read, by their size in bytes. */
export const FILES = { "file_1k.txt": 1024, "file_64k.txt": 65_536 } as const;

/** Makes a project with a policy, an agent and the files of {@linkcode FILES}; returns its folder. */
export async function makeProject(
  world: World,
  name: string,
  project: {
    readonly agent: "agent_calls.js" | "agent_numbered.js" | "agent_waits.js" | "agent_once.js";
    readonly policy: object;
  },
): Promise<string> {
  const dir = `${world.dir}/${name}`;
  await Deno.mkdir(`${dir}/docs`, { recursive: true });
  await Deno.writeTextFile(`${dir}/deno.json`, "{}\n");
  await Deno.copyFile(`${ROOT}/tests/bench/product/${project.agent}`, `${dir}/agent.js`);
  for (const [file, bytes] of Object.entries(FILES)) await Deno.writeTextFile(`${dir}/docs/${file}`, textOf(bytes));
  const policy = { version: 1, name: "bench", agent: "agent.js", ...project.policy };
  await Deno.writeTextFile(`${dir}/agent.policy.jsonc`, `${JSON.stringify(policy, null, 2)}\n`);
  return dir;
}

/** Lines of digits: text of exactly so many bytes. */
function textOf(bytes: number): string {
  return "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ\n".repeat(Math.ceil(bytes / 64)).slice(
    0,
    bytes,
  );
}
