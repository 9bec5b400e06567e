/**
 * The commands below `policy` that edit its file: their words and flags. What they do is loaded when one is run.
 *
 * @module
 */
import { buildCommand, type Command } from "@stricli/core";
import { nearest } from "../authority/nearest.ts";
import { type ExitCode, UsageError } from "../errors.ts";
import { isJsonObject, type Json } from "../json.ts";
import { BUDGETS } from "../plan/budgets.ts";
import { type Budgets, type Isolation, ISOLATIONS } from "../plan/plan.ts";
import type { PolicyEdit } from "../policy/edit.ts";
import type { PolicyIssue } from "../policy/policy_error.ts";
import type { RootWords, Side } from "../policy/policy_edits.ts";
import type { Policy } from "../policy/schema.ts";
import { escapeText } from "../report/escape.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { findDefaultPolicy } from "./default_policy.ts";

type Edits = typeof import("../policy/policy_edits.ts");

interface JsonOnly {
  readonly json: boolean;
}

interface PolicyNamed extends JsonOnly {
  readonly policy?: string;
}

interface AddToolFlags extends JsonOnly {
  readonly read?: string;
  readonly write?: string;
}

interface RemoveToolFlags extends JsonOnly {
  readonly withAuthority: boolean;
}

interface PatternFlags extends JsonOnly {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** Loads what is needed and edits the file. */
async function edit(
  { json, path, fixFor }: {
    readonly json: boolean;
    readonly path: string | undefined;
    readonly fixFor?: (issue: PolicyIssue) => string | undefined;
  },
  make: (words: Edits, policy: Policy) => readonly PolicyEdit[],
): Promise<ExitCode> {
  const found = path ?? findDefaultPolicy();
  if (found === undefined) {
    throw new UsageError("usage_no_policy", "Cannot find a policy: there is no agent.policy.jsonc here; name the file");
  }
  const [words, { editPolicyFile }] = await Promise.all([
    import("../policy/policy_edits.ts"),
    import("./policy_edit.ts"),
  ]);
  return await editPolicyFile({
    path: found,
    json,
    edits: (policy) => make(words, policy),
    ...(fixFor === undefined ? {} : { fixFor }),
  });
}

async function addTool({ json, read, write }: AddToolFlags, name: string, path?: string): Promise<ExitCode> {
  const roots = { ...(read === undefined ? {} : { read }), ...(write === undefined ? {} : { write }) };
  const fixFor = ({ code, message }: PolicyIssue) =>
    code === "policy_tool_without_authority"
      ? message.includes('"fs.write"')
        ? `Grant it with the tool: twokey policy add-tool ${escapeText(name)} --write=out`
        : `Grant it with the tool: twokey policy add-tool ${escapeText(name)} --read=.`
      : undefined;
  return await edit({ json, path, fixFor }, (words, policy) => words.addTool(policy, name, roots));
}

async function removeTool({ json, withAuthority }: RemoveToolFlags, name: string, path?: string): Promise<ExitCode> {
  const fixFor = ({ code }: PolicyIssue) =>
    code === "policy_unused_authority"
      ? `Remove it as well: twokey policy remove-tool ${escapeText(name)} --with-authority`
      : undefined;
  const { MANIFESTS } = await import("../launch/compile_policy.ts");
  return await edit(
    { json, path, fixFor },
    (words, policy) => words.removeTool(policy, name, withAuthority ? { manifests: MANIFESTS } : {}),
  );
}

async function changeRoot(
  act: "addRoot" | "removeRoot",
  side: Side,
  { flags, root, path }: { readonly flags: PatternFlags; readonly root: string; readonly path: string | undefined },
): Promise<ExitCode> {
  const { json, include, exclude } = flags;
  const entry: RootWords = {
    root,
    ...(include === undefined ? {} : { include }),
    ...(exclude === undefined ? {} : { exclude }),
  };
  const fixFor = ({ code }: PolicyIssue) =>
    act === "addRoot" && code === "policy_unused_authority"
      ? `Grant it with the tool: twokey policy add-tool ${
        side === "read" ? "readFile --read" : "writeArtifact --write"
      }=${escapeText(root)}`
      : undefined;
  return await edit({ json, path, fixFor }, (words, policy) => words[act](policy, side, entry));
}

async function setBudgets({ json, policy }: PolicyNamed, ...pairs: string[]): Promise<ExitCode> {
  if (pairs.length === 0) throw new UsageError("usage_budget", "Cannot set a budget: write name=value");
  const budgets = new Map<keyof Budgets, number>();
  for (const pair of pairs) {
    const [name = "", value = ""] = splitOnce(pair);
    if (!/^\d+$/.test(value)) {
      throw new UsageError(
        "usage_budget",
        `Cannot set the budget "${escapeText(name)}": write it as name=value with a whole number`,
      );
    }
    budgets.set(budgetName(name), Number(value));
  }
  return await edit({ json, path: policy }, (words) => words.setBudgets(budgets));
}

async function unsetBudgets({ json, policy }: PolicyNamed, ...names: string[]): Promise<ExitCode> {
  if (names.length === 0) throw new UsageError("usage_budget", "Cannot unset a budget: name one");
  const known = names.map(budgetName);
  return await edit({ json, path: policy }, (words, policy) => words.unsetBudgets(policy, known));
}

function splitOnce(pair: string): readonly [string, string] {
  const at = pair.indexOf("=");
  return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
}

function budgetName(name: string): keyof Budgets {
  if (Object.hasOwn(BUDGETS, name)) return name as keyof Budgets;
  const meant = nearest(name, Object.keys(BUDGETS));
  const hint = meant === undefined ? `there are ${Object.keys(BUDGETS).join(", ")}` : `did you mean ${meant}?`;
  throw new UsageError("usage_budget", `Cannot use the budget "${escapeText(name)}": ${hint}`);
}

async function setContext({ json }: JsonOnly, text: string, path?: string): Promise<ExitCode> {
  let context: Json;
  try {
    context = JSON.parse(text);
  } catch {
    throw new UsageError("usage_json", "Cannot set the context: it is not JSON");
  }
  if (!isJsonObject(context)) {
    throw new UsageError("usage_json", "Cannot set the context: it must be a JSON object");
  }
  return await edit({ json, path }, (words) => words.setContext(context));
}

const POLICY = {
  parse: String,
  brief: "Policy file; default: agent.policy.jsonc of this project",
  placeholder: "policy",
  optional: true,
} as const;

const POLICY_FLAG = { ...POLICY, kind: "parsed", placeholder: "file" } as const;

const PATTERNS = {
  include: {
    kind: "parsed",
    parse: String,
    brief: "Pattern of files below the root, as in .gitignore",
    placeholder: "glob",
    optional: true,
    variadic: true,
  },
  exclude: {
    kind: "parsed",
    parse: String,
    brief: "Pattern of files that are never readable",
    placeholder: "glob",
    optional: true,
    variadic: true,
  },
} as const;

const KEEPS = "Comments and spelling of the file stay. What would not compile is refused and nothing is written.";

function argument(brief: string, placeholder: string) {
  return { kind: "tuple", parameters: [{ parse: String, brief, placeholder }, POLICY] } as const;
}

const ROOT = argument("Folder or file, relative to the policy", "root");

function readCommand(act: "addRoot" | "removeRoot", brief: string): Command<Context> {
  return buildCommand<PatternFlags, [string, string?], Context>({
    docs: { brief, fullDescription: `${brief}. ${KEEPS}` },
    parameters: { flags: { ...JSON_FLAG, ...PATTERNS }, positional: ROOT },
    func: command((flags, root, path) => changeRoot(act, "read", { flags, root, path })),
  });
}

function writeCommand(act: "addRoot" | "removeRoot", brief: string): Command<Context> {
  return buildCommand<JsonOnly, [string, string?], Context>({
    docs: { brief, fullDescription: `${brief}. ${KEEPS}` },
    parameters: { flags: JSON_FLAG, positional: ROOT },
    func: command((flags, root, path) => changeRoot(act, "write", { flags, root, path })),
  });
}

function budgetCommand(
  func: (flags: PolicyNamed, ...words: string[]) => Promise<ExitCode>,
  { brief, word, placeholder }: { readonly brief: string; readonly word: string; readonly placeholder: string },
): Command<Context> {
  return buildCommand<PolicyNamed, string[], Context>({
    docs: { brief, fullDescription: `${brief}. ${KEEPS}` },
    parameters: {
      flags: { ...JSON_FLAG, policy: POLICY_FLAG },
      positional: { kind: "array", parameter: { parse: String, brief: word, placeholder } },
    },
    func: command(func),
  });
}

/** The commands, by name. */
export const policyEditRoutes: Readonly<Record<string, Command<Context>>> = {
  addTool: buildCommand<AddToolFlags, [string, string?], Context>({
    docs: {
      brief: "Grant a tool",
      fullDescription: [
        `Grants a tool, and with --read or --write the root that it needs. ${KEEPS}`,
        "",
        "EXAMPLES",
        "  twokey policy add-tool osv.query",
        "  twokey policy add-tool writeArtifact --write=out",
      ].join("\n"),
    },
    parameters: {
      flags: {
        ...JSON_FLAG,
        read: {
          kind: "parsed",
          parse: String,
          brief: "Also grant this root to read",
          placeholder: "root",
          optional: true,
        },
        write: {
          kind: "parsed",
          parse: String,
          brief: "Also grant this root to write",
          placeholder: "root",
          optional: true,
        },
      },
      positional: argument("Name of the tool", "tool"),
    },
    func: command(addTool),
  }),
  removeTool: buildCommand<RemoveToolFlags, [string, string?], Context>({
    docs: { brief: "Take a tool away", fullDescription: `Takes a tool away. ${KEEPS}` },
    parameters: {
      flags: {
        ...JSON_FLAG,
        withAuthority: {
          kind: "boolean",
          brief: "Also remove the blocks that no other granted tool uses",
          default: false,
          withNegated: false,
        },
      },
      positional: argument("Name of the tool", "tool"),
    },
    func: command(removeTool),
  }),
  addRead: readCommand("addRoot", "Grant a root to read, or add patterns to one"),
  removeRead: readCommand("removeRoot", "Take a root to read away, or patterns from one"),
  addWrite: writeCommand("addRoot", "Grant a root to write"),
  removeWrite: writeCommand("removeRoot", "Take a root to write away"),
  setBudget: budgetCommand(setBudgets, { brief: "Set budgets", word: "Budget as name=value", placeholder: "budget" }),
  unsetBudget: budgetCommand(unsetBudgets, {
    brief: "Put budgets back to their defaults",
    word: "Name of a budget",
    placeholder: "budget",
  }),
  setIsolation: buildCommand<JsonOnly, [Isolation, string?], Context>({
    docs: { brief: "Set where agent code runs", fullDescription: `Sets where agent code runs. ${KEEPS}` },
    parameters: {
      flags: JSON_FLAG,
      positional: {
        kind: "tuple",
        parameters: [
          {
            parse: (text: string): Isolation => {
              const known = ISOLATIONS.find((isolation) => isolation === text);
              if (known === undefined) throw new TypeError(`one of ${ISOLATIONS.join(", ")} is needed`);
              return known;
            },
            brief: `One of ${ISOLATIONS.join(", ")}`,
            placeholder: "isolation",
          },
          POLICY,
        ],
      },
    },
    func: command(({ json }, isolation, path) => edit({ json, path }, (words) => words.setIsolation(isolation))),
  }),
  setContext: buildCommand<JsonOnly, [string, string?], Context>({
    docs: { brief: "Set what the agent sees as context", fullDescription: `Sets the agent's context. ${KEEPS}` },
    parameters: { flags: JSON_FLAG, positional: argument("JSON object", "json") },
    func: command(setContext),
  }),
  unsetContext: buildCommand<JsonOnly, [string?], Context>({
    docs: { brief: "Take the agent's context away", fullDescription: `Takes the agent's context away. ${KEEPS}` },
    parameters: { flags: JSON_FLAG, positional: { kind: "tuple", parameters: [POLICY] } },
    func: command(({ json }, path) => edit({ json, path }, (words, policy) => words.unsetContext(policy))),
  }),
};
