/** What this machine has for tests that start programs: a test that cannot run says why, so that a gate can see it. */
// deno-lint-ignore-file no-console -- the line that a gate looks for
import type { JsonObject } from "../../src/json.ts";
import { findProgram } from "../../src/launch/channels.ts";

/** Paths of programs by name, or `undefined` after a printed reason. */
export async function findAll(names: readonly string[]): Promise<Readonly<Record<string, string>> | undefined> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const path = await findProgram(name);
    if (path === undefined) {
      console.log(`skip: ${name} is missing`);
      return undefined;
    }
    found[name] = await Deno.realPath(path);
  }
  return found;
}

/** Whether programs can be confined here; prints why not. */
export async function canConfine(): Promise<boolean> {
  if (await findAll(["bwrap", "unshare"]) === undefined) return false;
  const { success } = await new Deno.Command("/usr/bin/bwrap", {
    args: ["--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "/bin/true"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  if (!success) console.log("skip: not permitted to make namespaces");
  return success;
}

/** An agent that makes the calls in order and emits what became of each. */
export const callerOf = (calls: readonly JsonObject[]): string => `
for (const args of ${JSON.stringify(calls)}) {
  try {
    emit(await callTool("process", args));
  } catch (error) {
    const { outcome, code, message } = error as Record<string, unknown>;
    emit({ outcome, code, message });
  }
}
`;
