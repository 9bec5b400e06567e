/**
 * The providers of models: one pinned endpoint each, and how each is told who asks.
 *
 * @module
 */

/** Names of the providers, as policies write them. */
export type ModelProviderName = "openai.responses" | "anthropic.messages";

/** Every name. */
export const MODEL_PROVIDER_NAMES: readonly [ModelProviderName, ...ModelProviderName[]] = [
  "openai.responses",
  "anthropic.messages",
];

/** Where a provider is asked, and with which header. */
export interface ModelEndpoint {
  /** Decided on together with the URL. */
  readonly method: "POST";
  /** The whole URL: nothing in it is filled in. */
  readonly url: `https://${string}`;
  /** `bearer`: `authorization: Bearer <value>`. `x-api-key`: a header of that name. */
  readonly header: "bearer" | "x-api-key";
}

/** The endpoint of every provider. */
export const MODEL_PROVIDERS: Readonly<Record<ModelProviderName, ModelEndpoint>> = Object.freeze({
  "openai.responses": Object.freeze({
    method: "POST",
    url: "https://api.openai.com/v1/responses",
    header: "bearer",
  }),
  "anthropic.messages": Object.freeze({
    method: "POST",
    url: "https://api.anthropic.com/v1/messages",
    header: "x-api-key",
  }),
});

/** What a name of a model may look like. It goes into a body and a log, never into a URL. */
export const MODEL_NAME: RegExp = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;
