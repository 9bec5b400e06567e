/**
 * Which flags of models belong together.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import type { PolicyFlags } from "./from_flags.ts";
import type { Policy } from "./schema.ts";

/**
 * Checks that the flags of models are whole, together with what the policy says already.
 *
 * @throws {UsageError} `usage_needs_flag` or `usage_conflict`; names the flag that is missing, and shows no value.
 */
export function assertModelFlags(flags: PolicyFlags, { model, secrets = {} }: Policy): void {
  const { modelProvider: provider, modelApiKeyEnv: apiKeyEnv, modelName: names = [], modelFixture: fixture } = flags;
  if (provider !== undefined && fixture !== undefined) {
    throw new UsageError("usage_conflict", "Cannot use --model-provider with --model-fixture: name one of them");
  }
  const isKeyNamed = (apiKeyEnv ?? model?.apiKeyEnv) !== undefined || Object.hasOwn(secrets, "model.call") ||
    (flags.secret ?? []).some((text) => text.startsWith("model.call="));
  const needed: readonly [isMissing: boolean, what: string][] = [
    [provider !== undefined && !isKeyNamed, "--model-provider: it needs --model-api-key-env, the variable of its key"],
    [
      provider !== undefined && names.length + (model?.models ?? []).length === 0,
      "--model-provider: it needs --model-name, the models that may be asked for",
    ],
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
