/**
 * The credentials of a run: read once from the host's environment, checked, and given to nobody but the network, for the
 * tool that the plan names each for.
 *
 * @module
 */
import { MIN_SECRET_BYTES } from "../audit/redact.ts";
import { ControlError } from "../errors.ts";
import { type JsonObject, utf8Length } from "../json.ts";
import type { Plan } from "../plan/plan.ts";

/** No service hands out a longer one; what is longer is a file that was put into a variable by mistake. */
const MAX_BYTES = 8_192;

/** What the identity of a credential is sealed as. */
const IDENTITY_TYPE = "twokey_credential_v1";

/** A credential of one tool. Prints as its variable's name; the value leaves it as a header alone. */
export class Credential {
  /** Name of the variable that it was read from. */
  readonly env: string;
  /** How it is sent, as records say it. */
  readonly mode: "host_env_bearer" | "host_env_api_key";
  readonly #value: string;
  #identity: Promise<string> | undefined;

  /** Made by {@linkcode readCredentials} only. */
  constructor(env: string, header: "bearer" | "x-api-key", value: string) {
    this.env = env;
    this.mode = header === "bearer" ? "host_env_bearer" : "host_env_api_key";
    this.#value = value;
  }

  /** Name and value of the header that carries it, for one request to the tool's own origin. */
  header(): readonly [string, string] {
    return this.mode === "host_env_bearer" ? ["authorization", `Bearer ${this.#value}`] : ["x-api-key", this.#value];
  }

  /** Who asks, without telling the value: equal for the same variable and value under the same key. */
  identity(key: Uint8Array<ArrayBuffer>): Promise<string> {
    this.#identity ??= sealed(key, this.env, this.#value);
    return this.#identity;
  }
}

async function sealed(keyBytes: Uint8Array<ArrayBuffer>, env: string, value: string): Promise<string> {
  const encoder = new TextEncoder();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(value))).toHex();
  const key = await crypto.subtle.importKey("raw", keyBytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const code = await crypto.subtle.sign("HMAC", key, encoder.encode(`${IDENTITY_TYPE}\n${env}\n${digest}`));
  return `${env}:${new Uint8Array(code).toHex()}`;
}

/** The credentials of a run. */
export interface Credentials {
  /** The credential of one tool; `undefined` where it asks without. */
  of(tool: string): Credential | undefined;
  /** What the records of a tool's calls say of it; nothing for a tool that takes none. */
  note(tool: string): JsonObject;
}

/** Credentials, and the values that nothing may show. */
export interface ReadCredentials {
  readonly credentials: Credentials;
  /** Values by the name of their variable, for the redactor. */
  readonly secrets: ReadonlyMap<string, string>;
}

/**
 * Reads the credentials that a plan names.
 *
 * @param env Value of a variable of the host's own environment.
 * @param options `sends`: false where no call of the run is ever made, so that nothing needs to be set.
 * @throws {ControlError} `credential_unset`, or `credential_invalid` for what cannot be a header's value or is too short
 *   to be told from harmless text. No message shows any of the value.
 */
export function readCredentials(
  plan: Plan,
  env: (name: string) => string | undefined,
  options: { readonly sends: boolean } = { sends: true },
): ReadCredentials {
  const known = new Map<string, Credential>();
  const secrets = new Map<string, string>();
  for (const [tool, { env: name, rule }] of Object.entries(plan.credentials)) {
    const spec = Object.hasOwn(plan.tools, tool) ? plan.tools[tool]?.credential : undefined;
    // Recorded answers need nobody to ask, so nobody's credential; a model that is asked has none in `network`
    const isRecorded = !options.sends ||
      (plan.network.fixtures.length > 0 && plan.tools[tool]?.service !== "model");
    const value = env(name) ?? "";
    if (value === "") {
      if (isRecorded || spec?.optional === true) continue;
      const named = rule.slice(1).replaceAll("/", ".");
      throw new ControlError(
        "credential_unset",
        `Cannot use the credential of "${tool}": the variable "${name}", which "${named}" names, is not set`,
      );
    }
    assertUsable(name, value);
    secrets.set(name, value);
    if (spec !== undefined && !isRecorded) known.set(tool, new Credential(name, spec.header, value));
  }
  const of = (tool: string): Credential | undefined => known.get(tool);
  const note = (tool: string): JsonObject => {
    const spec = Object.hasOwn(plan.tools, tool) ? plan.tools[tool]?.credential : undefined;
    if (spec === undefined) return {};
    const credential = of(tool);
    return { credential_mode: credential?.mode ?? "none", credential_env: credential?.env ?? null };
  };
  return { credentials: Object.freeze({ of, note }), secrets };
}

function assertUsable(name: string, value: string): void {
  const bytes = utf8Length(value);
  if (bytes >= MIN_SECRET_BYTES && bytes <= MAX_BYTES && /^[\x21-\x7e]+$/.test(value)) return;
  throw new ControlError(
    "credential_invalid",
    `Cannot use the credential in the variable "${name}": it must have ${MIN_SECRET_BYTES} to ${MAX_BYTES} bytes of ` +
      "printable ASCII, without white space or line ends",
  );
}
