/**
 * What there is to reach by an escape: a project with secrets in and around it, services, and this machine.
 *
 * @module
 */
import { OPENAI_ANSWER } from "../net/model_answers.ts";
import { startTlsWorld, type TlsWorld } from "../net/tls_world.ts";
import { makeCertificates } from "../net/certificates.ts";

/** A world of its own for each composition: what happened in it is the evidence. */
export interface World {
  /** Real absolute path of the temporary folder. */
  readonly dir: string;
  readonly project: string;
  readonly outside: string;
  readonly state: string;
  readonly policyFile: string;
  readonly tls: TlsWorld;
  /** A server of this machine with its own certificate authority. */
  readonly local: { readonly port: number; readonly caPem: string; readonly hits: readonly string[] };
  /** A plain HTTP server that serves one module. */
  readonly modulesPort: number;
  close(): Promise<void>;
}

/** Text that stands in a file which must not be read: its path is in it. */
export function canaryText(path: string): string {
  return `CANARY of ${
    path.slice(path.indexOf("/project/") >= 0 ? path.indexOf("/project/") : path.lastIndexOf("/"))
  }\n`;
}

const POLICY = {
  version: 1,
  tools: ["echo", "model.call", "osv.query", "readFile", "writeArtifact"],
  model: { provider: "openai.responses", apiKeyEnv: "ESCAPE_MODEL_KEY", models: ["named"] },
  fs: {
    read: [{ root: ".", include: ["*.md", "*.txt", "docs/"], exclude: ["excluded.md"] }],
    write: [{ root: "." }],
  },
  network: { proxy: { fromEnv: "ESCAPE_PROXY" }, ca: { fromEnv: "ESCAPE_CA" } },
  budgets: { toolArgBytes: 4096, toolTimeoutMs: 10_000 },
};

const FILES = [
  "project/docs/a.md",
  "project/excluded.md",
  "project/ignored.txt",
  "project/not_included.json",
  "project/.git/config",
  "project/.env",
  "project/.env.local",
  "project/docs/.env",
  "project/docs/key.pem",
  "project/.twokey/runs/earlier/audit.jsonl",
  "outside/secret.md",
  "outside/target.md",
  "state/rules.json",
];

/** Makes a world. */
export async function makeWorld(): Promise<World> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-escape-" }));
  const [project, outside, state] = [`${dir}/project`, `${dir}/outside`, `${dir}/state`];
  for (const file of FILES) {
    await Deno.mkdir(`${dir}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${dir}/${file}`, canaryText(`${dir}/${file}`));
  }
  await Deno.writeTextFile(`${project}/deno.json`, "{}");
  await Deno.writeTextFile(`${project}/.gitignore`, "ignored.txt\n");
  await Deno.writeTextFile(`${outside}/mod.js`, "export const value = 'imported';\n");
  await Deno.symlink(`${outside}/secret.md`, `${project}/link.md`);
  await Deno.symlink(outside, `${project}/linked`);
  const policyFile = `${project}/agent.policy.jsonc`;
  await Deno.writeTextFile(policyFile, JSON.stringify(POLICY));
  const tls = await startTlsWorld(({ url, body }) => {
    if (url.endsWith("/v1/redirect") || body.includes('"redirect"')) {
      return { status: 302, headers: { location: "https://elsewhere.test/landed" } };
    }
    return { body: url.startsWith("https://api.openai.com/") ? OPENAI_ANSWER : { vulns: [] } };
  }, { hosts: ["evil.test", "elsewhere.test"] });
  const { caPem, certPem, keyPem } = await makeCertificates(["localhost"]);
  const hits: string[] = [];
  const local = Deno.serve({ hostname: "127.0.0.1", port: 0, cert: certPem, key: keyPem, onListen() {} }, (request) => {
    hits.push(new URL(request.url).pathname);
    return Response.json({ private: true });
  });
  const modules = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("export const value = 'imported';", { headers: { "content-type": "text/javascript" } }),
  );
  return {
    dir,
    project,
    outside,
    state,
    policyFile,
    tls,
    local: { port: local.addr.port, caPem, hits },
    modulesPort: modules.addr.port,
    async close() {
      await Promise.all([tls.close(), local.shutdown(), modules.shutdown()]);
      await Deno.remove(dir, { recursive: true });
    },
  };
}
