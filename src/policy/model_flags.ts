/**
 * The flags of models: which belong together, and what they make of a policy.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import { ANY_MODEL } from "../plan/model_plan.ts";
import type { LoadedPolicy } from "./load.ts";
import type { Policy } from "./schema.ts";

/** The flags that say what the `model` block of a policy says. */
export interface ModelFlags {
  /** `--model-provider`: who is asked, `openai.responses` or `anthropic.messages`. */
  readonly modelProvider?: string;
  /** `--model-api-key-env`: variable that holds the provider's key. */
  readonly modelApiKeyEnv?: string;
  /** `--model-name`: models that may be asked for, the first by default; without any, every one that a call names. */
  readonly modelName?: readonly string[];
  /** `--model-fixture`: file of recorded answers; with it nobody is asked. */
  readonly modelFixture?: string;
  /** `--secret`: `<tool>=<variable>`, the variable that holds the credential of one tool. */
  readonly secret?: readonly string[];
}

/** A policy while flags are added to it. */
export interface ModelMerge {
  readonly loaded: LoadedPolicy;
  path(text: string): string;
  /** Says that a flag adds authority. */
  adds(flag: string): void;
  /** Sets a value; nothing where it is `undefined`. */
  set(pointer: string, flag: string, value: unknown): void;
  /** Appends to a list, which adds authority. */
  append(pointer: string, flag: string, value: unknown): string;
}

/** Adds the flags of models. @throws {UsageError} If one needs another one. */
export function addModel(merge: ModelMerge, flags: ModelFlags): void {
  const { model } = merge.loaded.policy;
  const { modelProvider: provider, modelApiKeyEnv: apiKeyEnv, modelName = [], modelFixture: fixture } = flags;
  assertModelFlags(flags, merge.loaded.policy);
  if (provider !== undefined && model?.fixture !== undefined) {
    // The operator asks for somebody who answers now
    const { fixture: _, ...asking } = model;
    merge.set("/model", "--model-provider", asking);
    merge.adds("--model-provider");
  }
  merge.set("/model/provider", "--model-provider", provider);
  if (provider !== undefined && provider !== model?.provider) merge.adds("--model-provider");
  merge.set("/model/apiKeyEnv", "--model-api-key-env", apiKeyEnv);
  if (apiKeyEnv !== undefined && apiKeyEnv !== model?.apiKeyEnv) merge.adds("--model-api-key-env");
  // Without names the operator means whatever the agent asks for: calls, tokens and the key bound it
  const names = provider === undefined || modelName.length + (model?.models ?? []).length > 0 ? modelName : [ANY_MODEL];
  for (const name of new Set(names)) {
    if (!(model?.models ?? []).includes(name)) merge.append("/model/models", "--model-name", name);
  }
  if (fixture !== undefined) {
    merge.set("/model/fixture", "--model-fixture", merge.path(fixture));
    merge.adds("--model-fixture");
  }
}

/**
 * Checks that the flags of models are whole, together with what the policy says already.
 *
 * @throws {UsageError} `usage_needs_flag` or `usage_conflict`; names the flag that is missing, and shows no value.
 */
function assertModelFlags(flags: ModelFlags, { model, secrets = {} }: Policy): void {
  const { modelProvider: provider, modelApiKeyEnv: apiKeyEnv, modelName: names = [], modelFixture: fixture } = flags;
  if (provider !== undefined && fixture !== undefined) {
    throw new UsageError("usage_conflict", "Cannot use --model-provider with --model-fixture: name one of them");
  }
  const isKeyNamed = (apiKeyEnv ?? model?.apiKeyEnv) !== undefined || Object.hasOwn(secrets, "model.call") ||
    (flags.secret ?? []).some((text) => text.startsWith("model.call="));
  const needed: readonly [isMissing: boolean, what: string][] = [
    [provider !== undefined && !isKeyNamed, "--model-provider: it needs --model-api-key-env, the variable of its key"],
    [
      apiKeyEnv !== undefined && (provider ?? model?.provider) === undefined,
      "--model-api-key-env: it needs --model-provider, to whom the key is sent",
    ],
    [
      names.length > 0 && model === undefined && (provider ?? fixture) === undefined,
      "--model-name: it needs --model-provider or --model-fixture, who answers",
    ],
  ];
  const missing = needed.find(([isMissing]) => isMissing);
  if (missing !== undefined) throw new UsageError("usage_needs_flag", `Cannot use ${missing[1]}`);
}
