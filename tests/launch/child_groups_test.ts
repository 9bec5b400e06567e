import assert from "node:assert/strict";
import { ChildGroups, type GroupSystem } from "../../src/launch/child_groups.ts";
import { type ProcessFacts, readMembers, readProcess } from "../../src/launch/process_facts.ts";
import { eventually } from "../e2e/run_project.ts";

const HOST = 100;

const facts = (own: Partial<ProcessFacts> = {}): ProcessFacts => ({
  parent: HOST,
  group: 200,
  session: 200,
  start: "50",
  order: 50,
  ...own,
});

function fake(processes: Map<number, ProcessFacts>): GroupSystem & { readonly kills: string[] } {
  const kills: string[] = [];
  return {
    kills,
    read: (pid) => processes.get(pid),
    members: (group) => [...processes.values()].filter((one) => one.group === group),
    kill: (group, signal) => void kills.push(`${signal} ${group}`),
  };
}

Deno.test("ChildGroups believes only what the system confirms", () => {
  const processes = new Map([[HOST, facts({ parent: 1, group: HOST, session: HOST, start: "10", order: 10 })]]);
  const system = fake(processes);
  const groups = new ChildGroups(HOST, system);
  for (
    const own of [{ parent: 1 }, { group: 7 }, { session: 7 }] satisfies Partial<ProcessFacts>[]
  ) {
    processes.set(200, facts(own));
    assert.equal(groups.started(200), false, JSON.stringify(own));
  }
  for (const pid of [HOST, 1, 0, -1, 1.5, NaN]) assert.equal(groups.started(pid), false, String(pid));
  groups.stop(200);
  groups.end();
  assert.deepEqual(system.kills, []);
  processes.set(200, facts());
  assert.ok(groups.started(200));
  groups.end();
  assert.deepEqual(system.kills, ["SIGKILL 200"]);
});

Deno.test("ChildGroups takes a child that has not begun its session, and signals it once it has", async () => {
  const host = facts({ parent: 1, group: HOST, session: HOST, start: "10", order: 10 });
  const processes = new Map([[HOST, host], [200, facts({ group: HOST, session: HOST })]]);
  const system = fake(processes);
  const groups = new ChildGroups(HOST, system);
  assert.ok(groups.started(200));
  groups.stop(200);
  assert.deepEqual([system.kills, groups.size], [[], 1]);
  processes.set(200, facts());
  assert.ok(await eventually(() => groups.size === 0, 5000));
  assert.deepEqual(system.kills, ["SIGKILL 200"]);
  // Its leader has ended, and what it left is known by its session.
  processes.set(201, facts({ group: HOST, session: HOST }));
  assert.ok(groups.started(201));
  processes.delete(201);
  processes.set(300, facts({ parent: 1, group: 201, session: 201 }));
  groups.stop(201);
  groups.end();
  assert.deepEqual(system.kills, ["SIGKILL 200", "SIGTERM 201", "SIGKILL 201"]);
});

Deno.test("ChildGroups never signals a number that belongs to somebody else by now", () => {
  const processes = new Map([
    [HOST, facts({ parent: 1, group: HOST, session: HOST, start: "10", order: 10 })],
    [200, facts()],
  ]);
  const system = fake(processes);
  const groups = new ChildGroups(HOST, system);
  groups.started(200);
  processes.set(200, facts({ parent: 1, start: "99", order: 99 }));
  groups.end();
  // one that had ended at once, and whose session is older than the host
  processes.delete(201);
  groups.started(201);
  processes.set(300, facts({ group: 201, session: 201, order: 5 }));
  groups.end();
  // what is left of a session of the host's
  groups.started(202);
  processes.set(301, facts({ group: 202, session: 202, order: 60 }));
  groups.end();
  assert.deepEqual(system.kills, ["SIGKILL 202"]);
});

Deno.test("ChildGroups asks a group to end before it is ended, once", async () => {
  const processes = new Map([
    [HOST, facts({ parent: 1, group: HOST, session: HOST, start: "10", order: 10 })],
    [200, facts()],
  ]);
  const system = fake(processes);
  const groups = new ChildGroups(HOST, system);
  groups.started(200);
  groups.stop(200);
  groups.stop(200);
  groups.gone(200);
  assert.deepEqual(system.kills, ["SIGTERM 200"]);
  assert.ok(await eventually(() => groups.size === 0, 5_000));
  assert.deepEqual(system.kills, ["SIGTERM 200", "SIGKILL 200"]);
});

Deno.test("ChildGroups ends a real group with what it left behind", async () => {
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", "trap '' TERM; sleep 60 & sleep 60"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
    detached: true,
  }).spawn();
  assert.equal(readProcess(child.pid)?.group, child.pid);
  const groups = new ChildGroups(Deno.pid);
  assert.ok(groups.started(child.pid));
  assert.ok(await eventually(() => readMembers(child.pid).length === 3, 5_000));
  groups.stop(child.pid);
  await child.status;
  assert.ok(await eventually(() => readMembers(child.pid).length === 0 && groups.size === 0, 5_000));
});
