/**
 * Proof at start that key 1 holds: every grant is there, and what was not granted is really refused.
 *
 * @module
 */
import { ControlError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { CANARY_VARIABLE, type Key1 } from "../plan/key1.ts";

/** What an attestation needs beside the grants. */
export interface AttestOptions {
  /** A file in a private folder of the launcher, which no plan grants. */
  readonly canaryPath: string;
  /** Tries whether the client of the network tools reaches an IPv6 address; `undefined` where nothing is ever sent. */
  ipv4(): Promise<{ readonly held: boolean; readonly by: string } | undefined> | undefined;
}

/** An act that must fail. */
interface Canary {
  readonly name: string;
  /** @throws {Deno.errors.NotCapable} When key 1 holds. */
  act(): void | Promise<void>;
}

/**
 * Attests key 1 for this very process.
 *
 * Paths, programs and variables that the plan grants are queried. A query is no proof for a host, nor for a refusal: the
 * canaries are really tried.
 *
 * @returns What was tried, and that it was refused; `ipv4` where the network's client was tried as well.
 * @throws {ControlError} `attest_*` if anything is not as the plan says.
 */
export async function attest(key1: Key1, { canaryPath, ipv4 }: AttestOptions): Promise<JsonObject> {
  attestGrants(key1);
  const refused: string[] = [];
  for (const canary of canaries(canaryPath, key1.run)) {
    if (!await isRefused(canary)) {
      throw new ControlError(
        `attest_${canary.name}`,
        `Cannot trust this process: an act that was not granted went through (${canary.name})`,
      );
    }
    refused.push(canary.name);
  }
  const bound = await ipv4();
  if (bound !== undefined && bound.by !== "bound") {
    throw new ControlError(
      "attest_ipv4",
      bound.held
        ? "Cannot trust this process: that its client is bound to IPv4 could not be tried"
        : "Cannot trust this process: its client reaches IPv6 addresses",
    );
  }
  const grants = key1.read.length + key1.write.length + key1.net.length + key1.env.length + key1.run.length;
  return { grants, refused, ...(bound === undefined ? {} : { ipv4: true }) };
}

function attestGrants({ read, write, env, run }: Key1): void {
  const descriptors: Deno.PermissionDescriptor[] = [
    ...read.map((path) => ({ name: "read", path }) as const),
    ...write.map((path) => ({ name: "write", path }) as const),
    ...env.map((variable) => ({ name: "env", variable }) as const),
    ...run.map((command) => ({ name: "run", command }) as const),
  ];
  for (const descriptor of descriptors) {
    const { state } = Deno.permissions.querySync(descriptor);
    if (state !== "granted") {
      throw new ControlError(
        "attest_grant",
        `Cannot trust this process: a grant of the plan is missing (${descriptor.name})`,
      );
    }
  }
}

function canaries(path: string, run: readonly string[]): readonly Canary[] {
  const program = ["/bin/true", "/bin/false"].find((one) => !run.includes(one)) ?? "/bin/sh";
  return [
    { name: "read", act: () => void Deno.readTextFileSync(path) },
    { name: "write", act: () => Deno.writeTextFileSync(`${path}.new`, "") },
    { name: "connect", act: async () => (await Deno.connect({ hostname: "127.0.0.1", port: 9 })).close() },
    { name: "spawn", act: () => void new Deno.Command(program, { stdin: "null" }).outputSync() },
    { name: "ffi", act: () => Deno.dlopen(path, {}).close() },
    { name: "variable", act: () => refuseUnless(Deno.env.get(CANARY_VARIABLE) === undefined) },
  ];
}

/** Variables that are not granted read as if they were not set; that counts as refused. */
function refuseUnless(hidden: boolean): void {
  if (hidden) throw new Deno.errors.NotCapable("the variable is hidden");
}

async function isRefused({ act }: Canary): Promise<boolean> {
  try {
    await act();
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotCapable;
  }
}
