/**
 * How a run asks models: questions made canonical at preparation, and at invocation recorded answers, or one request to the
 * provider of the plan within budgets that hold before anything is sent.
 *
 * @module
 */
import { makeRedactor } from "../audit/redact.ts";
import { MODEL_PROVIDERS, type ModelProviderName } from "../authority/model_providers.ts";
import type { Requirement } from "../authority/requirement.ts";
import { BudgetError, BugError, ToolError, ToolInputError } from "../errors.ts";
import { canonical, type JsonObject, utf8Length } from "../json.ts";
import { findRecording, type ModelRecording, parseModelFixture } from "../plan/model_fixture.ts";
import { admitsAnyModel, ANY_MODEL, MIN_OUTPUT_TOKENS, type ModelPlan } from "../plan/model_plan.ts";
import type { ModelPower, ModelTarget, ModelWish, ResolveModel, Target } from "../tool/powers.ts";
import { anthropicMessages } from "./anthropic_messages.ts";
import { assertGranted, type CallContext, deny, type RunContext } from "./context.ts";
import { exchangeModel, type ModelExchanged } from "./model_exchange.ts";
import { type PromptMessage, readPrompt } from "./model_prompt.ts";
import type { ModelFailure, ModelProvider, TokenUsage } from "./model_provider.ts";
import { openaiResponses } from "./openai_responses.ts";

/** How each provider is talked to. */
const PROVIDERS: Readonly<Record<ModelProviderName, ModelProvider>> = Object.freeze({
  "openai.responses": openaiResponses,
  "anthropic.messages": anthropicMessages,
});

/** How many times as large as its answer a stream may be: each piece of a few letters comes in an event of its own. */
const STREAM_FACTOR = 32;

/** The models of a run. */
export interface Models {
  /** The resolver of one tool. */
  resolver(tool: string): ResolveModel;
  /** The power of one call. `replyBytes` is the tool's own limit for one answer on its way. */
  power(call: CallContext, limits: { readonly replyBytes?: number }): ModelPower;
}

/** What only the wiring of a host knows. */
export interface ModelOptions {
  /** The client of the run's network; asked for only where a provider is. */
  client(): Deno.HttpClient;
}

/**
 * Makes the models of a run that grants some. Opens no connection.
 *
 * @throws {DataError} `fixture_invalid` or `fixture_ambiguous`.
 */
export function makeModels(run: RunContext, options: ModelOptions): Models {
  const { model: plan } = run.plan;
  if (plan === undefined) throw new BugError("bug_no_models", "Cannot ask models: the plan names none");
  return new PlannedModels(run, { ...options, plan });
}

/** What is behind a target. */
interface Question {
  /** The tool that it was made for. */
  readonly tool: string;
  readonly model: string | undefined;
  readonly prompt: readonly PromptMessage[];
  readonly recorded: ModelRecording | undefined;
}

class PlannedModels implements Models {
  readonly #run: RunContext;
  readonly #plan: ModelPlan;
  readonly #options: ModelOptions;
  readonly #recordings: readonly ModelRecording[];
  readonly #questions = new WeakMap<ModelTarget, Question>();
  #calls = 0;
  /** Tokens that were counted, and tokens that calls under way may still use. */
  #used = 0;
  #reserved = 0;

  constructor(run: RunContext, { plan, ...options }: ModelOptions & { readonly plan: ModelPlan }) {
    this.#run = run;
    this.#plan = plan;
    this.#options = options;
    if (plan.fixture === null) this.#recordings = [];
    else {
      const { path } = plan.fixture;
      const text = Object.hasOwn(run.fixtures, path) ? run.fixtures[path] : undefined;
      if (text === undefined) throw new BugError("bug_fixture", "Cannot start: a fixture of the plan was not read");
      this.#recordings = parseModelFixture(text, path);
    }
  }

  resolver(tool: string): ResolveModel {
    const { fixture, provider, models, maxOutputTokens } = this.#plan;
    return Object.freeze({
      model: (wish: ModelWish): ModelTarget => {
        const prompt = readPrompt(tool, wish);
        const named = wish.model ?? models.find((name) => name !== ANY_MODEL);
        // Recorded answers without a list of models name their own; every other question is for a model by its name
        if (named === undefined && (fixture === null || models.length > 0)) {
          throw new ToolInputError(
            "tool_invalid_args",
            `Cannot call "${tool}": "model" is missing, and there is no default`,
          );
        }
        const recorded = fixture === null ? undefined : findRecording(this.#recordings, { id: wish.id, model: named });
        const model = named ?? recorded?.model;
        const isMissed = fixture !== null && recorded === undefined &&
          (admitsAnyModel(this.#plan) || models.some((name) => name === model));
        const asked = targetOf({
          kind: "context.load",
          target: `model:${model ?? "*"}`,
          ...(isMissed ? { refusal: "model_fixture_response_not_found" } : {}),
        });
        const note = {
          provider: fixture === null ? provider : "fixture",
          model: model ?? null,
          ...(fixture === null
            ? { endpoint: endpointOf(provider), transport: "pinned_https", max_output_tokens: maxOutputTokens }
            : { endpoint: "fixture://model", transport: "fixture" }),
          provider_error_policy: "classified_no_retry",
        };
        const reach = fixture === null && provider !== null
          ? [targetOf({ kind: "network", target: endpointOf(provider) })]
          : [];
        const target: ModelTarget = Object.freeze({ ...asked, needs: Object.freeze([asked, ...reach]), note });
        this.#questions.set(target, { tool, model, prompt, recorded });
        return target;
      },
    });
  }

  power(call: CallContext, limits: { readonly replyBytes?: number }): ModelPower {
    return Object.freeze({
      generate: async (target: ModelTarget): Promise<JsonObject> => {
        const question = this.#questions.get(target);
        if (question === undefined || question.tool !== call.tool) throw deny(call, "not_in_request");
        for (const need of target.needs) assertGranted(call, need);
        call.note({ ...target.note, freshness: question.recorded === undefined ? "live" : "fixture" });
        if (this.#calls >= this.#plan.calls) {
          const limit = this.#plan.calls;
          throw new BudgetError("model_calls", "Cannot ask the model: no call is left", {
            limit,
            attempted: limit + 1,
          });
        }
        return question.recorded === undefined
          ? await this.#ask(question, call, limits.replyBytes ?? Infinity)
          : this.#replay(question.recorded, call);
      },
    });
  }

  /** A recorded answer costs nothing; what it says of tokens is passed on and not counted. */
  #replay({ id, response }: ModelRecording, call: CallContext): JsonObject {
    this.#calls++;
    const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0, source: "recorded" };
    call.note({ status_code: 200, response_bytes: utf8Length(JSON.stringify(response)), fixture_id: id, usage });
    return response;
  }

  async #ask({ tool, model, prompt }: Question, call: CallContext, replyBytes: number): Promise<JsonObject> {
    const name = this.#plan.provider;
    if (name === null || model === undefined) throw deny(call, "endpoint_not_granted");
    const provider = PROVIDERS[name];
    const credential = this.#run.credentials.of(tool);
    if (credential === undefined) {
      throw failed({
        kind: "credential_not_configured",
        message: "the variable that holds its key is not set",
        retryable: false,
      });
    }
    const bodyOf = (maxOutputTokens: number): string => canonical(provider.body(prompt, { model, maxOutputTokens }));
    const { toolArgBytes, toolResultBytes } = this.#run.plan.budgets;
    const largest = bodyOf(this.#plan.maxOutputTokens);
    const bytes = utf8Length(largest);
    call.note({ request_bytes: bytes });
    if (bytes > toolArgBytes) {
      const message = `the request is larger than ${toolArgBytes} bytes`;
      throw failed({ kind: "request_byte_budget", message, retryable: false });
    }
    const allowed = this.#allowed(bytes);
    const body = allowed === this.#plan.maxOutputTokens ? largest : bodyOf(allowed);
    const asked = { input: bytes, output: allowed };
    // Should the call end before its answer does, its tokens are those that were asked for
    call.noteTimeout?.({ error_kind: "timeout", usage: usageNote(asked, "asked"), max_output_tokens: allowed });
    call.note({ max_output_tokens: allowed });
    // Without a pause since both were looked at, so that calls which overlap see each other
    this.#calls++;
    this.#reserved += bytes + allowed;
    let counted: TokenUsage = asked;
    try {
      const [header, value] = credential.header();
      const exchanged = await exchangeModel(this.#options.client(), {
        url: MODEL_PROVIDERS[name].url,
        headers: {
          accept: "text/event-stream, application/json",
          "content-type": "application/json",
          "user-agent": `twokey-${tool.replaceAll(".", "-")}`,
          ...provider.headers,
          [header]: value,
        },
        body,
      }, {
        provider,
        wireBytes: Math.min(replyBytes, toolResultBytes * STREAM_FACTOR),
        answerUnits: toolResultBytes,
        signal: call.signal,
      });
      counted = this.#count(exchanged, { provider, asked, call });
      const failure = exchanged.failure ??
        (exchanged.response === undefined ? undefined : provider.refusal(exchanged.response));
      const scrub = scrubberOf(value);
      if (failure !== undefined) throw failed({ ...failure, ...withoutSecret(shownOf(failure), scrub) });
      return withoutSecret(exchanged.response ?? {}, scrub);
    } finally {
      this.#reserved -= bytes + allowed;
      this.#used += counted.input + counted.output;
    }
  }

  /**
   * Tokens that the next answer may have. A question has at most as many tokens as bytes, whatever its tokeniser: so the
   * budget holds before anything is sent, also for calls that overlap. @throws {BudgetError} If too few are left.
   */
  #allowed(bytes: number): number {
    const { totalTokens, maxOutputTokens } = this.#plan;
    const taken = this.#used + this.#reserved + bytes;
    const allowed = Math.min(maxOutputTokens, totalTokens - taken);
    if (allowed >= MIN_OUTPUT_TOKENS) return allowed;
    throw new BudgetError("model_tokens", "Cannot ask the model: too few tokens are left", {
      limit: totalTokens,
      attempted: taken + MIN_OUTPUT_TOKENS,
    });
  }

  /** What a call cost: as its answer says, as was asked for where it does not, nothing where nobody wrote one. */
  #count(
    { response, spent, note }: ModelExchanged,
    { provider, asked, call }: {
      readonly provider: ModelProvider;
      readonly asked: TokenUsage;
      readonly call: CallContext;
    },
  ): TokenUsage {
    const reported = response === undefined ? undefined : provider.usage(response);
    const usage = reported ?? (spent ? asked : { input: 0, output: 0 });
    call.note({ ...note, usage: usageNote(usage, reported !== undefined ? "reported" : spent ? "asked" : "none") });
    return usage;
  }
}

function endpointOf(provider: ModelProviderName | null): string {
  return provider === null ? "none" : `${MODEL_PROVIDERS[provider].method} ${MODEL_PROVIDERS[provider].url}`;
}

function targetOf(requirement: Omit<Requirement, "description">): Target {
  return { requirement: Object.freeze({ ...requirement, description: requirement.target }) };
}

function usageNote({ input, output }: TokenUsage, source: "reported" | "asked" | "none"): JsonObject {
  return { input_tokens: input, output_tokens: output, total_tokens: input + output, source };
}

/** Takes the key of a header out of a text, in every form that it may have there. */
function scrubberOf(headerValue: string): (text: string) => string {
  const secrets = new Map([["credential", headerValue.replace(/^Bearer /, "")]]);
  return makeRedactor({ fields: [], secrets }).scrub;
}

/** A provider that sends the key back would put it into the agent's hands. */
function withoutSecret<T>(value: T, scrub: (text: string) => string): T {
  const text = JSON.stringify(value);
  const clean = scrub(text);
  return clean === text ? value : JSON.parse(clean) as T;
}

/** What of a failure agents and records see; even its slugs are the provider's words. */
function shownOf({ message, fields = {} }: ModelFailure): { readonly message: string; readonly fields: JsonObject } {
  return { message, fields };
}

function failed(
  { kind, message, retryable, status, fields, cause }:
    | ModelFailure
    | (Omit<ModelFailure, "kind"> & { readonly kind: "credential_not_configured" }),
): ToolError {
  return new ToolError(kind, `Cannot ask the model: ${message}`, {
    retryable,
    fields: { error_kind: kind, retryable, ...(status === undefined ? {} : { status_code: status }), ...fields },
    ...(cause === undefined ? {} : { cause }),
  });
}
