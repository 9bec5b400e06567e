/**
 * Comparisons of calls that act on the world: a request, a program. Both sides wait for the same service or the same
 * program; what the product adds is the border, the gate, the schemas, and two records, the first of which is on disk
 * before anything is sent or started.
 *
 * @module
 */
import { findProgram } from "../../src/launch/channels.ts";
import { makeCertificates } from "../net/certificates.ts";
import { BUDGETS, runSide } from "./calls.ts";
import type { Comparison, Side, Skipped } from "./comparison.ts";
import { makeProject } from "./project.ts";
import { numberOf, ROOT, runScript, type World } from "./world.ts";

const NAMES = {
  network: "network.fetch",
  unconfined: "process.true.unconfined",
  confined: "process.true.confined",
} as const;
/** Enough that the code of all three processes is compiled before the clock runs. */
const REQUESTS = { warmUp: 1000, calls: 2000 };
const PROGRAMS = { warmUp: 100, calls: 200 };
/** Samples of several seconds each. */
const ROUNDS = 5;
/** Bytes of an answer: a short list of vulnerabilities. */
const ANSWER_BYTES = 1024;
const REASON = { reason: "measured by the bench", expires: "2999-01-01" };

/** What is measured of acts. */
export async function effectComparisons(world: World): Promise<(Comparison | Skipped)[]> {
  return [await networkComparison(world), ...await processComparisons(world)];
}

async function networkComparison(world: World): Promise<Comparison | Skipped> {
  const name = NAMES.network;
  if ("missing" in world.peers) return { name, skipped: world.peers.missing };
  const { node } = world.peers;
  const { caPem, certPem, keyPem } = await makeCertificates(["api.osv.dev"]);
  const files = { ca: `${world.dir}/ca.pem`, cert: `${world.dir}/cert.pem`, key: `${world.dir}/key.pem` };
  await Deno.writeTextFile(files.ca, caPem);
  await Deno.writeTextFile(files.cert, certPem);
  await Deno.writeTextFile(files.key, keyPem);
  const dir = await makeProject(world, "network", {
    agent: "agent_numbered.js",
    policy: {
      tools: ["osv.query"],
      network: { proxy: { fromEnv: "BENCH_PROXY" }, ca: { fromEnv: "BENCH_CA" } },
      budgets: BUDGETS,
      context: {
        tool: "osv.query",
        args: { package: { ecosystem: "npm", name: "bench" }, version: "1.0.$n" },
        ...REQUESTS,
      },
    },
  });
  const script = `${ROOT}/tests/bench/peers/bare_fetch.ts`;
  /** Each sample has a service of its own: none is warmer for one side than for the other. */
  const asked = (label: string, side: (proxy: string) => Side): Side => ({
    label,
    sample: () =>
      withService(node, files, async (proxy) => {
        return await side(proxy).sample();
      }),
  });
  return {
    name,
    unit: "µs",
    product: asked(
      "osv.query through the membrane",
      (proxy) => runSide("", world, { dir, calls: REQUESTS.calls, env: { BENCH_PROXY: proxy, BENCH_CA: files.ca } }),
    ),
    peer: asked("bare fetch", (proxy) => ({
      label: "",
      async sample() {
        const words = [
          "run",
          "-A",
          "--no-config",
          script,
          proxy,
          files.ca,
          String(REQUESTS.warmUp),
          String(REQUESTS.calls),
        ];
        return numberOf((await runScript("deno", words, { env: world.env })).value.us);
      },
    })),
    bound: 1.3,
    rounds: ROUNDS,
  };
}

/** Starts the service in Node, hands over its proxy's URL, and ends it. */
async function withService<T>(
  node: string,
  { cert, key }: { readonly cert: string; readonly key: string },
  body: (proxy: string) => Promise<T>,
): Promise<T> {
  const script = new URL("peers/https_server.mjs", import.meta.url).pathname;
  const child = new Deno.Command(node, {
    args: [script, cert, key, String(ANSWER_BYTES)],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  try {
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    const { proxy } = JSON.parse(new TextDecoder().decode(value)) as { proxy: number };
    reader.releaseLock();
    return await body(`http://127.0.0.1:${proxy}`);
  } finally {
    await child.stdin.close();
    await child.stdout.cancel();
    await child.status;
  }
}

async function processComparisons(world: World): Promise<(Comparison | Skipped)[]> {
  const [found, bwrap] = await Promise.all([findProgram("true"), findProgram("bwrap")]);
  if (found === undefined) {
    return [NAMES.unconfined, NAMES.confined].map((name) => ({ name, skipped: "there is no program named true" }));
  }
  const program = await Deno.realPath(found);
  const project = (name: string, own: object, unsafe: object) =>
    makeProject(world, name, {
      agent: "agent_numbered.js",
      policy: {
        tools: ["process"],
        process: { commands: { true: { path: program, args: "any" } }, cwd: ["."], ...own },
        ...unsafe,
        budgets: BUDGETS,
        context: {
          tool: "process",
          args: { command: "true", args: ["$n"] },
          ...PROGRAMS,
        },
      },
    });
  const bare = (label: string, words: readonly string[]): Side => ({
    label,
    async sample() {
      const script = `${ROOT}/tests/bench/peers/bare_command.ts`;
      const args = ["run", "-A", "--no-config", script, String(PROGRAMS.warmUp), String(PROGRAMS.calls), ...words];
      return numberOf((await runScript("deno", args, { env: world.env })).value.us);
    },
  });
  const interpreter = [{ command: "true", ...REASON }];
  const unconfined = await project("process_off", { sandbox: "off" }, {
    unsafe: { unconfined: REASON, interpreter },
  });
  const comparisons: (Comparison | Skipped)[] = [{
    name: NAMES.unconfined,
    unit: "µs",
    product: runSide("process, true", world, { dir: unconfined, calls: PROGRAMS.calls }),
    peer: bare("bare Deno.Command, true", [program, "1"]),
    bound: 1.6,
    rounds: ROUNDS,
  }];
  if (bwrap === undefined || !await canConfine(bwrap)) {
    return [...comparisons, { name: NAMES.confined, skipped: "programs cannot be confined here" }];
  }
  const confined = await project("process_required", { sandbox: "required" }, { unsafe: { interpreter } });
  return [...comparisons, {
    name: NAMES.confined,
    unit: "µs",
    product: runSide("process, true, confined", world, { dir: confined, calls: PROGRAMS.calls }),
    peer: bare("bare bubblewrap, true", [bwrap, ...await bwrapArgs(), program, "1"]),
    bound: 1.3,
    rounds: ROUNDS,
  }];
}

async function canConfine(bwrap: string): Promise<boolean> {
  const { success } = await new Deno.Command(bwrap, {
    args: [...await bwrapArgs(), "/usr/bin/true"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}

/** The namespaces and mounts that the product has as well, written as somebody would by hand. */
async function bwrapArgs(): Promise<string[]> {
  const links: string[] = [];
  for (const name of ["bin", "lib", "lib64", "sbin"]) {
    try {
      const info = await Deno.lstat(`/${name}`);
      if (info.isSymlink) links.push("--symlink", await Deno.readLink(`/${name}`), `/${name}`);
      else links.push("--ro-bind", `/${name}`, `/${name}`);
    } catch {
      // not on this machine
    }
  }
  return [
    ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"],
    ...["--ro-bind", "/usr", "/usr", ...links, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--"],
  ];
}
