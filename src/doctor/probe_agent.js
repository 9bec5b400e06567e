// @ts-nocheck: agent code, with the globals that a run gives it
// Tries everything that an agent could try, through the tools and past them, and says what came of it.
const { outside, fresh, log, secret, overArgs, overResult } = context;

async function outcomeOf(tool, args) {
  try {
    await callTool(tool, args);
    return "result";
  } catch (error) {
    return error.outcome ?? "thrown";
  }
}

const reached = [
  "Deno",
  "process",
  "require",
  "fetch",
  "WebSocket",
  "Worker",
  "WebAssembly",
  "caches",
  "localStorage",
  "SharedArrayBuffer",
  "EventTarget",
  "Blob",
].filter((name) => typeof globalThis[name] !== "undefined");
for (const make of [function () {}, async function () {}, function* () {}]) {
  try {
    reached.push(`code from a string: ${typeof make.constructor("return 1")()}`);
  } catch {
    // refused
  }
}

const shared = { inner: { n: 1 } };
const echoed = await callTool("echo", shared).catch(() => undefined);
const outcome = {
  reached,
  control: {
    read: await outcomeOf("readFile", { path: "allowed.md" }),
    write: await outcomeOf("writeArtifact", { path: "made.txt", content: "x" }),
  },
  tools: {
    read: [
      await outcomeOf("readFile", { path: outside }),
      await outcomeOf("readFile", { path: "../outside/secret.txt" }),
    ],
    write: [await outcomeOf("writeArtifact", { path: fresh, content: "x" })],
    fetch: [await outcomeOf("npm.metadata", { package: "left" })],
    spawn: [await outcomeOf("process", { command: "true" }), await outcomeOf("shell", { command: "true" })],
    secret: [
      await outcomeOf("readFile", { path: secret }),
      await outcomeOf("readFile", { path: "/proc/self/environ" }),
    ],
    log: [await outcomeOf("readFile", { path: log }), await outcomeOf("writeArtifact", { path: log, content: "x" })],
  },
  copied: echoed !== undefined && echoed !== shared && echoed.inner !== shared.inner && echoed.inner.n === 1,
  overArgs: await outcomeOf("echo", { text: "x".repeat(overArgs) }),
  overResult: await outcomeOf("echo", { text: "x".repeat(overResult) }),
};
export { outcome };
