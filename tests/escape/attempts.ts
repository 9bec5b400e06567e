/**
 * Every act of the key table as attempts that can be told apart from the outside: what an agent asks the shipped tools,
 * what a wrong tool asks the gate, and the bare act itself.
 *
 * @module
 */
import { canaryText, type World } from "./world.ts";

/** One call. */
export interface Try {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** One way to attempt an act. */
export interface Attempt {
  /** Slug of the key table. */
  readonly act: string;
  readonly what: string;
  /** Calls of shipped tools. */
  readonly shipped: readonly Try[];
  /** Calls of tools that forge. */
  readonly forged: readonly Try[];
  /** The act itself; a host without key 2 does what it says. */
  readonly bare: Try;
  /** Whether the act happened. `results` are those of the calls that were made. */
  happened(results: readonly unknown[]): boolean | Promise<boolean>;
}

/** Every attempt in a world, but those of agent code itself. */
export function attemptsIn(world: World): readonly Attempt[] {
  const { project, outside, state, tls, modulesPort } = world;
  return [
    read("read_outside", `${outside}/secret.md`, ["../outside/secret.md", `${outside}/secret.md`]),
    read("read_excluded", `${project}/excluded.md`, ["excluded.md", "./docs/../excluded.md"]),
    read("read_excluded", `${project}/ignored.txt`, ["ignored.txt"]),
    read("read_excluded", `${project}/not_included.json`, ["not_included.json"]),
    read("read_secret", `${project}/.git/config`, [".git/config"]),
    read("read_secret", `${project}/.env`, [".env", "./.env", "docs/../.env"]),
    read("read_secret", `${project}/.env.local`, [".env.local"]),
    read("read_secret_deep", `${project}/docs/.env`, ["docs/.env"]),
    read("read_secret_deep", `${project}/docs/key.pem`, ["docs/key.pem"]),
    read("read_state", `${state}/rules.json`, [`${state}/rules.json`, "../state/rules.json"]),
    read("read_state", `${project}/.twokey/runs/earlier/audit.jsonl`, [".twokey/runs/earlier/audit.jsonl"]),
    read("read_link_out", `${project}/link.md`, ["link.md"], `${outside}/secret.md`),
    read("read_link_out", `${project}/linked/secret.md`, ["linked/secret.md"], `${outside}/secret.md`),
    write("write_outside", `${outside}/new.txt`, ["../outside/new.txt", `${outside}/new.txt`]),
    write("write_link_out", `${project}/linked/through.txt`, ["linked/through.txt"], `${outside}/through.txt`),
    write("write_protected", `${project}/deno.json`, ["deno.json", "DENO.JSON"]),
    write("write_protected", `${project}/agent.policy.jsonc`, ["agent.policy.jsonc"]),
    write("write_protected", `${project}/.git/config`, [".git/config", ".git/../.git/config"]),
    write("write_protected", `${project}/Jenkinsfile`, ["Jenkinsfile"]),
    write("write_protected", `${project}/.twokey/runs/earlier/audit.jsonl`, [".twokey/runs/earlier/audit.jsonl"]),
    write("write_protected_name", `${project}/docs/deno.json`, ["docs/deno.json"]),
    write("write_protected_name", `${project}/docs/x.policy.jsonc`, ["docs/x.policy.jsonc"]),
    write("overwrite", `${project}/docs/a.md`, ["docs/a.md", "docs/./a.md"]),
    {
      act: "connect_other_host",
      what: "https://evil.test",
      shipped: [
        osv("x", "https://evil.test/"),
        osv("../../../evil.test"),
        { tool: "npm.metadata", args: { package: "https://evil.test/" } },
      ],
      forged: [
        "GET https://evil.test/v1/query",
        "POST https://evil.test/v1/query",
        "POST https://api.osv.dev@evil.test/",
      ]
        .map((target) => ({ tool: "forge.send", args: { target } })),
      bare: { tool: "act.fetch", args: { url: "https://evil.test/" } },
      happened: () => tls.connects.some((host) => host.startsWith("evil.test")),
    },
    {
      act: "connect_other_path",
      what: "POST /v1/other",
      shipped: [osv("x/../other"), osv("../other")],
      forged: [
        "POST https://api.osv.dev/v1/other",
        "GET https://api.osv.dev/v1/other",
        "POST https://api.osv.dev/v1/query/../other",
      ]
        .map((target) => ({ tool: "forge.send", args: { target } })),
      bare: { tool: "act.fetch", args: { url: "https://api.osv.dev/v1/other", method: "POST" } },
      happened: () => tls.requests.some(({ path }) => path.includes("other")),
    },
    {
      act: "ask_other_model",
      what: "POST https://api.openai.com/v1/responses",
      shipped: ["other", "NAMED", "named/other"].map((model) => ({ tool: "model.call", args: { id: "x", model } })),
      forged: ["model:other", "model:named", "model:*"].map((target) => ({ tool: "forge.model", args: { target } })),
      bare: {
        tool: "act.fetch",
        args: { url: "https://api.openai.com/v1/responses", method: "POST", body: '{"model":"other"}' },
      },
      happened: () => tls.requests.some(({ url }) => url.startsWith("https://api.openai.com/")),
    },
    {
      act: "redirect",
      what: "302 to https://elsewhere.test",
      shipped: [osv("redirect")],
      forged: [],
      bare: { tool: "act.fetch", args: { url: "https://api.osv.dev/v1/redirect" } },
      happened: () => tls.connects.some((host) => host.startsWith("elsewhere.test")),
    },
    {
      act: "spawn",
      what: "/usr/bin/touch",
      shipped: ["process", "exec", "spawn", "shell", "Bash", "constructor", "__proto__"].map((tool) => ({
        tool,
        args: { command: "/usr/bin/touch", args: [`${outside}/spawned`] },
      })),
      forged: [{ tool: "forge.run", args: { target: `/usr/bin/touch ${outside}/spawned` } }],
      bare: { tool: "act.spawn", args: { program: "/usr/bin/touch", path: `${outside}/spawned` } },
      happened: async (results) => await exists(`${outside}/spawned`) || shows(results, '"started":true'),
    },
    {
      act: "read_variable",
      what: "TWOKEY_CANARY",
      shipped: [
        { tool: "readFile", args: { path: "/proc/self/environ" } },
        { tool: "readFile", args: { path: "../../../proc/self/environ" } },
      ],
      forged: [{ tool: "forge.read", args: { target: "/proc/self/environ" } }],
      bare: { tool: "act.variable", args: { name: "TWOKEY_CANARY" } },
      happened: (results) => shows(results, "visible"),
    },
    code("a file", { tool: "act.import", args: { url: `file://${outside}/mod.js` } }),
    code("a remote module", { tool: "act.import", args: { url: `http://127.0.0.1:${modulesPort}/mod.js` } }),
    code("a native library", { tool: "act.library", args: { path: "libc.so.6" } }),
    {
      act: "ungranted_tool",
      what: "listFiles",
      shipped: [{ tool: "listFiles", args: {} }, { tool: "toString", args: {} }, { tool: "echo ", args: {} }],
      forged: [],
      bare: { tool: "listFiles", args: {} },
      happened: (results) => results.some((result) => result !== undefined),
    },
    {
      act: "over_budget",
      what: "8 KiB of arguments",
      shipped: [{ tool: "echo", args: { text: "x".repeat(8192) } }],
      forged: [],
      bare: { tool: "act.echo", args: { text: "x".repeat(8192) } },
      happened: (results) => shows(results, "x".repeat(8192)),
    },
  ];
}

function read(act: string, path: string, names: readonly string[], canary = path): Attempt {
  return {
    act,
    what: path.slice(path.lastIndexOf("/") + 1),
    shipped: names.map((name) => ({ tool: "readFile", args: { path: name } })),
    forged: ["forge.read", "forge.silent"].map((tool) => ({ tool, args: { target: path } })),
    bare: { tool: "act.read", args: { path } },
    happened: (results) => shows(results, JSON.stringify(canaryText(canary)).slice(1, -1)),
  };
}

function write(act: string, path: string, names: readonly string[], landed = path): Attempt {
  return {
    act,
    what: path.slice(path.lastIndexOf("/") + 1),
    shipped: names.map((name) => ({ tool: "writeArtifact", args: { path: name, content: "forged" } })),
    forged: [{ tool: "forge.write", args: { target: path } }],
    bare: { tool: "act.write", args: { path, text: "forged" } },
    happened: async () => await exists(landed) && await Deno.readTextFile(landed) === "forged",
  };
}

function code(what: string, bare: Try): Attempt {
  return {
    act: "import_code",
    what,
    shipped: [{ tool: "import", args: bare.args }],
    forged: [],
    bare,
    happened: (results) => shows(results, "imported") || shows(results, '"loaded":true'),
  };
}

function osv(name: string, ecosystem = "npm"): Try {
  return { tool: "osv.query", args: { package: { ecosystem, name } } };
}

function shows(results: readonly unknown[], text: string): boolean {
  return JSON.stringify(results).includes(text);
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}
