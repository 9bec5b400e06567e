/**
 * `twokey policy test`: the calls of a policy's `tests` block, decided by the run's own evaluator.
 *
 * @module
 */
import { DataError, EXIT, type ExitCode } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { type CallDecision, decideCalls } from "../launch/decisions.ts";
import { compilePolicy, MANIFESTS } from "../launch/compile_policy.ts";
import { type LoadedPolicy, loadPolicy } from "../policy/load.ts";
import { type Mutant, mutantsOf } from "../policy/mutants.ts";
import { PolicyError } from "../policy/policy_error.ts";
import type { Policy } from "../policy/schema.ts";
import { escapeText } from "../report/escape.ts";
import { withoutProject } from "../report/reasons.ts";
import { CLEAR_LINE, err, out, outJson, styleFor } from "./io.ts";

/** Mutants that are decided at the same time: each is a run of three processes. */
const PARALLEL = 2;

/** Flags of `policy test`. */
export interface TestFlags {
  readonly json: boolean;
  readonly mutate: boolean;
}

type PolicyTest = NonNullable<Policy["tests"]>[number];

/** One test with what it got. */
interface Tested {
  readonly test: PolicyTest;
  readonly index: number;
  readonly decision: CallDecision;
  readonly passed: boolean;
}

/** Runs the command. */
export async function testPolicy(flags: TestFlags, path: string): Promise<ExitCode> {
  const loaded = await loadPolicy(path);
  const tests = loaded.policy.tests ?? [];
  if (tests.length === 0) {
    throw new DataError("policy_no_tests", "Cannot test the policy: it has no tests", {
      position: loaded.positionOf(""),
      fix: 'Add "tests": [{ "tool": "readFile", "args": { "path": ".env" }, "expect": "deny" }]',
    });
  }
  const tested = await runTests(loaded, tests);
  const survivors = flags.mutate && tested.every(({ passed }) => passed) ? await survive(loaded, tests) : undefined;
  print(flags, { loaded, tested, survivors });
  return tested.every(({ passed }) => passed) && (survivors ?? []).length === 0 ? EXIT.ok : EXIT.agentFailed;
}

async function runTests(loaded: LoadedPolicy, tests: readonly PolicyTest[]): Promise<Tested[]> {
  const calls = tests.map(({ tool, args }) => ({ tool, args: (args ?? {}) as JsonObject }));
  const decisions = await decideCalls(await compilePolicy(loaded), calls);
  return tests.flatMap((test, index) => {
    const decision = decisions[index];
    if (decision === undefined) return [];
    const target = decision.target === null ? null : withoutProject(decision.target, loaded.project);
    const passed = decision.decision === test.expect && (test.code === undefined || test.code === decision.code) &&
      (test.target === undefined || test.target === target);
    return [{ test, index, decision, passed }];
  });
}

/** Mutants that no test notices. A mutant that the compiler refuses is no policy, and so needs no test. */
async function survive(loaded: LoadedPolicy, tests: readonly PolicyTest[]): Promise<Mutant[]> {
  const others = await addable(loaded);
  const fsOf = (tool: string) => Object.hasOwn(MANIFESTS, tool) ? MANIFESTS[tool]?.authority.fs : undefined;
  const waiting = [...mutantsOf(loaded.policy, { others, fsOf })];
  const total = waiting.length;
  const survivors: { readonly at: number; readonly mutant: Mutant }[] = [];
  const live = Deno.stderr.isTerminal();
  const work = async () => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const at = total - waiting.length;
      if (live) err(`${CLEAR_LINE}  mutant ${at} of ${total}`);
      if (!await isNoticed({ ...loaded, policy: mutant.policy }, tests)) survivors.push({ at, mutant });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  if (live) err(CLEAR_LINE);
  return survivors.toSorted((a, b) => a.at - b.at).map(({ mutant }) => mutant);
}

/** Tools that the policy could list without any other change: each of them alone still makes a policy. */
async function addable(loaded: LoadedPolicy): Promise<string[]> {
  const { policy } = loaded;
  const tools = policy.tools ?? [];
  const names = Object.keys(MANIFESTS).filter((name) => !tools.includes(name));
  const compiles = await Promise.all(names.map(async (name) => {
    try {
      await compilePolicy({ ...loaded, policy: { ...policy, tools: [...tools, name] } });
      return true;
    } catch (error) {
      if (error instanceof PolicyError) return false;
      throw error;
    }
  }));
  return names.filter((_, i) => compiles[i]);
}

async function isNoticed(loaded: LoadedPolicy, tests: readonly PolicyTest[]): Promise<boolean> {
  try {
    return (await runTests(loaded, tests)).some(({ passed }) => !passed);
  } catch (error) {
    if (error instanceof PolicyError) return true;
    throw error;
  }
}

function print(
  { json, mutate }: TestFlags,
  { loaded, tested, survivors }: {
    readonly loaded: LoadedPolicy;
    readonly tested: readonly Tested[];
    readonly survivors: readonly Mutant[] | undefined;
  },
): void {
  const passed = tested.filter((one) => one.passed).length;
  const at = (pointer: string) => {
    const { file, line } = loaded.positionOf(pointer);
    return `${file}:${line}`;
  };
  if (json) {
    outJson({
      passed,
      failed: tested.length - passed,
      tests: tested.map(({ test, index, decision, passed }) => ({
        ...test,
        at: at(`/tests/${index}`),
        passed,
        got: decision,
      })),
      ...(mutate ? { untested: (survivors ?? []).map(({ what, kind, rule }) => ({ what, kind, at: at(rule) })) } : {}),
    });
    return;
  }
  const style = styleFor(Deno.stdout);
  for (const { test, index, decision, passed } of tested) {
    const name = escapeText(test.name ?? `${test.tool} ${JSON.stringify(test.args ?? {})}`, { max: 100 });
    const got = decision.code === null ? decision.decision : `${decision.decision} (${escapeText(decision.code)})`;
    const about = test.target === undefined || decision.target === null
      ? ""
      : ` of ${escapeText(withoutProject(decision.target, loaded.project))}`;
    const expected = `${test.expect}${test.code === undefined ? "" : ` (${escapeText(test.code)})`}${
      test.target === undefined ? "" : ` of ${escapeText(test.target)}`
    }`;
    const words = passed ? got : `expected ${expected}, got ${got}${about}`;
    out(
      `${passed ? style.good("ok    ") : style.bad("FAILED")}  ${name}: ${words}   [${
        escapeText(at(`/tests/${index}`))
      }]\n`,
    );
  }
  out(`${passed} passed, ${tested.length - passed} failed\n`);
  if (!mutate) return;
  if (survivors === undefined) out("mutants are not tried while a test fails\n");
  else if (survivors.length === 0) out(style.good("every mutant is noticed by a test\n"));
  for (const { what, kind, rule } of survivors ?? []) {
    out(`${style.warn("untested")}  no test notices that ${escapeText(what)} is ${kind}   [${escapeText(at(rule))}]\n`);
  }
}
