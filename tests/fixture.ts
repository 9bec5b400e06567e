/** The recorded cases of the tools, in `fixtures/tools/<family>/<tool>.json`: one form for every family. */
import type { Json, JsonObject } from "../src/json.ts";

/** One call and what must become of it. */
export interface Case {
  readonly name: string;
  /** Another tool that the policy grants, called before the cases of this one; absent: this one. */
  readonly tool?: string;
  readonly args: Json;
  /** `false`: the tool is not in the policy. */
  readonly granted?: false;
  readonly outcome: "result" | "denied" | "invalid" | "error" | "timeout" | "budget";
  readonly result?: Json;
  readonly code?: string;
}

/** What one tool's file holds. */
export interface Fixture {
  readonly tool: string;
  /** Files below the project before the run; a path that ends in `/` is an empty folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** Links below the project: path to what they lead to. */
  readonly links?: Readonly<Record<string, string>>;
  /** Blocks of the policy, beside the version and the tool's name. */
  readonly policy: JsonObject;
  /** Names of members of a result that hold a time: whatever it is, a case has 0 in its place. */
  readonly times?: readonly string[];
  /** Recorded answers, in the form that `network.fixtures` names. */
  readonly replies?: JsonObject;
  /** Calls of one run, in order. */
  readonly cases: readonly Case[];
}

/** File that holds `replies` in a project made for a fixture. */
export const REPLIES_FILE = "answers.json";

/** The policy under which a fixture's cases run. */
export function policyOf({ tool, policy, replies }: Fixture): JsonObject {
  return {
    version: 1,
    tools: [tool],
    ...policy,
    ...(replies === undefined ? {} : { network: { fixtures: [REPLIES_FILE] } }),
  };
}

/** Reads the cases of a tool. @throws {Deno.errors.NotFound} If it has none. */
export function readFixture(family: string, tool: string): Fixture {
  const fileName = tool.replaceAll(".", "_").replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(
    /^_/,
    "",
  );
  const url = new URL(`../fixtures/tools/${family}/${fileName}.json`, import.meta.url);
  return JSON.parse(Deno.readTextFileSync(url)) as Fixture;
}
