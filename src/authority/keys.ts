/**
 * Which key stops which act. `explain`, `doctor`, the README and the escape suite are made from this one table; each row
 * must come out as it says, also where a key does not stop the act.
 *
 * Key 1 is Deno's permissions on the host's process, key 2 the registry, the membrane and the gate inside it. Of agent
 * code, key 1 is that its process has no permission at all, key 2 that its realm has no name to act with.
 *
 * @module
 */

/** One kind of act. */
export interface KeyRow {
  /** Stable slug. */
  readonly act: string;
  /** The act, for people. */
  readonly title: string;
  /** Whether Deno's permissions alone stop it. */
  readonly key1: boolean;
  /** Whether registry and gate alone stop it. */
  readonly key2: boolean;
  /** How each key stops it, or why it cannot; one clause. */
  readonly why: string;
}

/** Every kind of act, in the order that documents print them. */
export const KEY_TABLE: readonly KeyRow[] = Object.freeze(
  ([
    row("read_outside", "read a file outside every read root", {
      key1: true,
      key2: true,
      why: "no --allow-read covers it; no root of the plan holds it",
    }),
    row("read_excluded", "read an excluded, ignored or not included file inside a read root", {
      key1: false,
      key2: true,
      why: "Deno grants whole folders and knows no patterns",
    }),
    row("read_secret", "read .git/config, .env or .env.local directly below a read root", {
      key1: true,
      key2: true,
      why: "each is a --deny-read, a dozen at most; the gate knows the names",
    }),
    row("read_secret_deep", "read a file with a secret name deeper below a read root", {
      key1: false,
      key2: true,
      why: "Deno denies paths, not names",
    }),
    row("read_state", "read the runner's state", {
      key1: true,
      key2: true,
      why: "it lies outside every root, or is a --deny-read where a root contains it",
    }),
    row("read_link_out", "read through a link inside a root that leads out of it", {
      key1: false,
      key2: true,
      why:
        "Deno follows links and checks the path as text; the gate decides on the real path and compares after opening",
    }),
    row("write_outside", "write outside every write root", {
      key1: true,
      key2: true,
      why: "no --allow-write covers it; no root of the plan holds it",
    }),
    row("write_link_out", "write through a link inside a write root that leads out of it", {
      key1: false,
      key2: true,
      why: "Deno follows links; the gate decides on the real path of the nearest existing folder",
    }),
    row("write_protected", "write a protected place of the project", {
      key1: true,
      key2: true,
      why: "it lies outside every write root, or is a --deny-write where a root contains it, whether it exists or not",
    }),
    row("write_protected_name", "write a protected name deeper below a write root", {
      key1: false,
      key2: true,
      why: "Deno denies paths, not names",
    }),
    row("overwrite", "overwrite an existing file inside a write root", {
      key1: false,
      key2: true,
      why: "Deno does not tell creating from overwriting; a file is created exclusively",
    }),
    row("connect_other_host", "connect to a host that no granted tool declares", {
      key1: true,
      key2: true,
      why: "no --allow-net names it; no endpoint of a tool has it",
    }),
    row("connect_other_path", "request another path or method on a declared host", {
      key1: false,
      key2: true,
      why: "Deno grants host and port and knows no paths",
    }),
    row("ask_other_model", "ask a model that the policy does not name", {
      key1: false,
      key2: true,
      why: "Deno grants the provider's host and reads no request; the gate knows the names",
    }),
    row("connect_private", "reach a private IPv4 address behind a declared name", {
      key1: true,
      key2: false,
      why: "Deno checks the resolved address against --deny-net, unless a proxy resolves; the gate sees names only",
    }),
    row("redirect", "follow a redirect to another host", {
      key1: true,
      key2: true,
      why: "Deno checks every hop; a redirect is never followed unasked and each hop is decided again",
    }),
    row("spawn", "start a program that the plan does not name", {
      key1: true,
      key2: true,
      why:
        "--allow-run names the plan's programs, or the launcher's wrappers for them; the gate knows names and arguments",
    }),
    row("read_variable", "read an environment variable that the plan does not name", {
      key1: true,
      key2: true,
      why: "the environment is cleared and --ignore-env hides the rest; no tool reads one",
    }),
    row("import_code", "import remote or local code, or load a native library", {
      key1: true,
      key2: true,
      why: "--no-remote, no import host, no --allow-ffi; the agent is one checked bundle without imports",
    }),
    row("ungranted_tool", "call a tool that the policy does not list", {
      key1: false,
      key2: true,
      why: "Deno knows no tools; what the tool would touch is stopped by its own row",
    }),
    row("over_budget", "pass more bytes, calls or events than the budget", {
      key1: false,
      key2: true,
      why: "Deno counts nothing; the membrane counts before it copies",
    }),
    row("agent_deno_api", "reach files, network or programs from agent code past callTool", {
      key1: true,
      key2: true,
      why:
        "an agent's process or worker has no permission at all (in a compartment it has the host's); its realm has no name to act with",
    }),
    row("forge_record", "forge or alter a record of the audit log", {
      key1: true,
      key2: true,
      why: "the launcher alone has the file and numbers the records; no frame of an agent is a record " +
        "(in a worker or compartment key 2 only: Deno knows no files that are already open)",
    }),
  ] satisfies readonly KeyRow[]).map((entry) => Object.freeze(entry)),
);

/** Finds a row by its slug. */
export function maybeKeyRow(act: string): KeyRow | undefined {
  return KEY_TABLE.find((entry) => entry.act === act);
}

/** Says in words which key stops an act. */
export function describeKeys({ key1, key2 }: Pick<KeyRow, "key1" | "key2">): string {
  if (key1 && key2) return "either key";
  return key1 ? "key 1 only" : key2 ? "key 2 only" : "no key";
}

function row(act: string, title: string, keys: { key1: boolean; key2: boolean; why: string }): KeyRow {
  return { act, title, ...keys };
}
