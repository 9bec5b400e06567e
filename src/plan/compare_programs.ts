/**
 * What one plan lets programs do beyond another.
 *
 * @module
 */
import { canonical } from "../json.ts";
import type { Change } from "./change.ts";
import type { Plan } from "./plan.ts";
import type { SandboxMode } from "./process_plan.ts";

/** From the tightest to the loosest. */
const MODES: readonly SandboxMode[] = ["required", "auto", "off"];

/** Compares the `process` blocks of two plans. Another grammar is taken for a gain: which is wider is not computed. */
export function compareProcess({ process: base }: Plan, { process: head }: Plan): Change[] {
  const lists = (plan: Plan["process"]) => ({
    program: Object.entries(plan?.commands ?? {}).map(([name, { path, sha256, args }]) =>
      `${name} (${path}${sha256 === null ? "" : `, sha256 ${sha256}`}) with ${canonical(args)}`
    ),
    folder: (plan?.cwd ?? []).map(({ root }) => root),
    variable: [
      ...(plan?.env.pass ?? []),
      ...Object.entries(plan?.env.set ?? {}).map(([name, value]) => `${name}=${value}`),
    ],
    egress: plan?.egress ?? [],
  });
  const [was, is] = [lists(base), lists(head)];
  const nouns = {
    program: ["program", "/process/commands", "the program"],
    folder: ["program_folder", "/process/cwd", "programs in"],
    variable: ["program_variable", "/process/env", "for programs the variable"],
    egress: ["egress", "/process/egress", "for programs the host"],
  } as const;
  const changes: Change[] = [];
  for (const key of ["program", "folder", "variable", "egress"] as const) {
    const [subject, rule, noun] = nouns[key];
    const change = (kind: Change["kind"], name: string): Change => ({ kind, subject, text: `${noun} ${name}`, rule });
    changes.push(
      ...is[key].filter((name) => !was[key].includes(name)).map((name) => change("gained", name)),
      ...was[key].filter((name) => !is[key].includes(name)).map((name) => change("lost", name)),
    );
  }
  if (base !== undefined && head !== undefined && base.sandbox !== head.sandbox) {
    changes.push({
      kind: MODES.indexOf(head.sandbox) > MODES.indexOf(base.sandbox) ? "gained" : "narrowed",
      subject: "sandbox",
      text: `programs with sandbox ${head.sandbox} instead of ${base.sandbox}`,
      rule: "/process/sandbox",
    });
  }
  return changes;
}
