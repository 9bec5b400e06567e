/**
 * The bench: the product beside its peers, on the same work, in the same minutes. It fails on ratios, never on times.
 *
 *     deno task bench [--quick] [--json] [--only <name>]...
 *
 * `--only` takes the names that start with the text. `--quick` makes three rounds in place of nine: to look, not to judge.
 *
 * @module
 */
import { callComparisons } from "./calls.ts";
import { type Comparison, type Finding, measure, type Skipped } from "./comparison.ts";
import { effectComparisons } from "./effects.ts";
import { logComparisons } from "./logs.ts";
import { memoryComparisons } from "./memory.ts";
import { policyComparisons } from "./policies.ts";
import { startComparisons } from "./start.ts";
import { makeWorld, type World } from "./world.ts";

const ROUNDS = 9;
const QUICK_ROUNDS = 3;

/** The groups, by the start of their comparisons' names: a group that was not asked for prepares nothing. */
const GROUPS:
  readonly (readonly [prefixes: readonly string[], make: (world: World) => Promise<(Comparison | Skipped)[]>])[] = [
    [["start."], startComparisons],
    [["policy."], policyComparisons],
    [["call.", "growth."], callComparisons],
    [["network.", "process."], effectComparisons],
    [["audit."], logComparisons],
    [["memory."], memoryComparisons],
  ];

interface Words {
  readonly quick: boolean;
  readonly json: boolean;
  readonly only: readonly string[];
}

function parseWords(args: readonly string[]): Words | undefined {
  const only: string[] = [];
  const flags = { quick: false, json: false };
  for (let i = 0; i < args.length; i++) {
    const word = args[i] ?? "";
    const inline = /^--only=(.+)$/.exec(word)?.[1];
    const name = inline ?? (word === "--only" ? args[++i] : undefined);
    if (name !== undefined && name !== "") only.push(name);
    else if (word === "--quick" || word === "--json") flags[word.slice(2) as "quick" | "json"] = true;
    else return undefined;
  }
  return { ...flags, only };
}

/** Runs the bench; the exit code is 1 where a ratio broke its bound. */
export async function main(args: readonly string[]): Promise<number> {
  const words = parseWords(args);
  if (words === undefined) {
    print("usage: deno task bench [--quick] [--json] [--only <name>]...\n");
    return 64;
  }
  const { quick, json, only } = words;
  const asked = (name: string) => only.length === 0 || only.some((part) => name.startsWith(part));
  const say = json ? () => {} : print;
  const world = await makeWorld();
  const findings: Finding[] = [];
  const skipped: Skipped[] = [];
  try {
    for (const [prefixes, make] of GROUPS) {
      const mayHold = only.length === 0 ||
        only.some((part) => prefixes.some((prefix) => prefix.startsWith(part) || part.startsWith(prefix)));
      if (!mayHold) continue;
      for (const comparison of await make(world)) {
        if (!asked(comparison.name)) continue;
        if ("skipped" in comparison) {
          skipped.push(comparison);
          say(`${comparison.name.padEnd(34)} skipped: ${comparison.skipped}\n`);
          continue;
        }
        const finding = await measure(comparison, quick ? QUICK_ROUNDS : ROUNDS);
        findings.push(finding);
        say(show(finding));
      }
    }
  } finally {
    await Deno.remove(world.dir, { recursive: true });
  }
  if (findings.length + skipped.length === 0) {
    print("error: nothing has that name\n");
    return 64;
  }
  const broken = findings.filter(({ held }) => !held);
  if (json) print(`${JSON.stringify({ quick, deno: Deno.version.deno, findings, skipped })}\n`);
  else {
    const names = broken.map(({ name }) => name).join(", ");
    say(broken.length === 0 ? "every ratio holds\n" : `broken: ${names}\n`);
  }
  return broken.length === 0 ? 0 : 1;
}

function show({ name, unit, product, peer, ratio, bound, held }: Finding): string {
  const side = ({ label, min, median, p90 }: Finding["product"]) =>
    `    ${label.padEnd(44)} ${
      [median, min, p90].map((n) => n.toFixed(n < 100 ? 2 : 0).padStart(9)).join("")
    } ${unit}\n`;
  const verdict = bound === null ? "for information" : `${held ? "holds" : "BROKEN"}, bound ${bound}`;
  return `${name.padEnd(34)} ${ratio.toFixed(3)}  ${verdict}\n${" ".repeat(51)}median      min      p90\n${
    side(product)
  }${side(peer)}`;
}

function print(text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

if (import.meta.main) Deno.exit(await main(Deno.args));
