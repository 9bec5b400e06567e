/** The workspace's writing tools in whole runs: many calls at once, and two runs at once. */
import assert from "node:assert/strict";
import { withProject } from "./run_project.ts";

const ISOLATIONS = ["process", "worker", "compartment"] as const;

const policy = {
  tools: ["EditFile", "ReadFile", "WriteFile"],
  fs: { read: [{ root: "src" }], write: [{ root: "src" }] },
};

/** Two agents' worth of twenty calls each, on one file, without waiting for any. */
const CROWD = `
const marks = Array.from({ length: 40 }, (_, index) => "mark " + index + ";\\n");
await callTool("WriteFile", { path: "src/crowd.txt", content: marks.join("") });
await Promise.all(marks.map((old, index) => callTool("EditFile", { path: "src/crowd.txt", old, new: "done " + index + ";\\n" })));
emit({ kind: "text", text: (await callTool("ReadFile", { path: "src/crowd.txt" })).content });

// Calls of one batch act in the order in which they were made, whatever each of them has to wait for.
const seen = await Promise.all(Array.from({ length: 20 }, (_, index) => [
  callTool("WriteFile", { path: "src/order.txt", content: "round " + index }),
  callTool("ReadFile", { path: "./src//order.txt" }),
]).flat());
emit({ kind: "order", order: seen.filter((_, index) => index % 2 === 1).map(({ content }) => content) });
`;

for (const isolation of ISOLATIONS) {
  Deno.test(`forty changes of one file at once lose none, and a batch keeps its order, in ${isolation}`, async () => {
    await withProject({ policy: { ...policy, isolation }, agent: CROWD, files: { "src/": "" } }, async (project) => {
      const { records, stderr } = await project.run();
      assert.equal(records.at(-1)?.reason, "done", stderr);
      const events = records.filter(({ type }) => type === "event").map(({ event }) => event);
      const text = Array.from({ length: 40 }, (_, index) => `done ${index};`).join("\n");
      const order = Array.from({ length: 20 }, (_, index) => `round ${index}`);
      assert.deepEqual(events, [{ kind: "text", text }, { kind: "order", order }]);
      assert.equal(await Deno.readTextFile(`${project.dir}/src/crowd.txt`), `${text}\n`);
      const edits = records.filter(({ type, tool }) => type === "tool_result" && tool === "EditFile");
      assert.equal(edits.length, 40);
      for (const record of edits) {
        assert.match(String(record.sha256_before), /^[0-9a-f]{64}$/);
        assert.ok(!JSON.stringify(record).includes("mark "), "the log holds no content");
      }
      const names = (await Array.fromAsync(Deno.readDir(`${project.dir}/src`))).map(({ name }) => name).toSorted();
      assert.deepEqual(names, ["crowd.txt", "order.txt"]);
    });
  });
}

/** Adds a line of its own as often as asked; reads again where the other run was faster. */
const ADDER = `
const { me } = context as { me: string };
let stale = 0;
for (let done = 0; done < 15;) {
  try {
    const { content } = await callTool("ReadFile", { path: "src/list.txt" });
    const last = content.split("\\n").at(-1);
    await callTool("EditFile", { path: "src/list.txt", old: last, new: last + "\\n" + me + " " + done });
    done++;
  } catch (error) {
    // The other run replaced the file since it was read, or while it was read.
    if (!["stale", "content_changed"].includes((error as { code: string }).code)) throw error;
    stale++;
  }
}
emit({ kind: "stale", stale });
`;

Deno.test("two runs at the same time on one project lose no update of one file", async () => {
  const agents = Object.fromEntries(["a", "b"].map((me) => [`${me}.policy.jsonc`, {
    version: 1,
    agent: "agent.ts",
    context: { me },
    ...policy,
    budgets: { toolCalls: 5000 },
  }]));
  const files = { "src/list.txt": "start", ...mapValues(agents, (one) => JSON.stringify(one)) };
  await withProject({ agent: ADDER, files }, async (project) => {
    const runs = await Promise.all(
      Object.keys(agents).map((file) => project.run({ args: ["run", "--json", "--policy", file] })),
    );
    for (const { code, stderr, stdout } of runs) assert.equal(code, 0, `${stdout}${stderr}`);
    const [start, ...lines] = (await Deno.readTextFile(`${project.dir}/src/list.txt`)).split("\n");
    assert.equal(start, "start");
    for (const me of ["a", "b"]) {
      const own = lines.filter((line) => line.startsWith(me));
      assert.deepEqual(own, Array.from({ length: 15 }, (_, index) => `${me} ${index}`));
    }
    assert.equal(lines.length, 30);
  });
});

function mapValues<A, B>(from: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, change(value)]));
}
