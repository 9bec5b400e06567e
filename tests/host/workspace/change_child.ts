/**
 * A process that changes one file, for tests that end it in the middle or let two of them meet. Arguments: what to do,
 * the project's folder, and a number.
 */
import { makeRun } from "../run_context.ts";
import { openTestWorkspace } from "./run_changes.ts";

const [deed = "", dir = "", number = "0"] = Deno.args;
const workspace = openTestWorkspace(makeRun(dir, { write: ["out"], budgets: { artifactBytes: 1e12 } }));

/** Ends this process at the n-th time that it is about to act on the disk, or has just acted. */
function dieAt(fatal: number): void {
  let steps = 0;
  const step = (): void => {
    if (++steps === fatal) Deno.kill(Deno.pid, "SIGKILL");
  };
  const wrap = (owner: object, name: string): void => {
    const original = Reflect.get(owner, name);
    const wrapped = function (this: unknown, ...args: unknown[]): unknown {
      step();
      const value = Reflect.apply(original, this, args);
      if (value instanceof Promise) return value.finally(step);
      step();
      return value;
    };
    Object.defineProperty(owner, name, { value: wrapped, configurable: true, writable: true });
  };
  for (const name of ["openSync", "linkSync", "renameSync", "removeSync", "chmodSync", "mkdirSync"]) wrap(Deno, name);
  for (const name of ["writeSync", "sync", "tryLockSync"]) wrap(Deno.FsFile.prototype, name);
}

switch (deed) {
  case "die": {
    await workspace.see("out/old.txt");
    dieAt(Number(number));
    await workspace.write({ path: "out/old.txt", content: "new ".repeat(1000) });
    await workspace.write({ path: "out/made/new.txt", content: "new ".repeat(1000) });
    break;
  }
  case "flip": {
    // One letter only at any time, or the file is torn.
    Deno.stdout.writeSync(new Uint8Array([10]));
    for (let round = 0;; round++) {
      await workspace.see("out/old.txt");
      await workspace.write({ path: "out/old.txt", content: "abcd".charAt(round % 4).repeat(256 * 1024) });
    }
  }
  // falls through to nothing: the loop above does not end
  case "count": {
    // Adds one to a number, as often as asked, and reads again where somebody else was faster.
    for (let done = 0; done < Number(number);) {
      await workspace.see("out/count.txt");
      const before = await Deno.readTextFile(`${dir}/out/count.txt`);
      const { code } = await workspace.edit({ path: "out/count.txt", old: before, new: `${Number(before) + 1}` });
      if (code === "result") done++;
      else if (code !== "stale" && code !== "no_match") throw new Error(code);
    }
    break;
  }
  default:
    throw new Error(`no such deed: ${deed}`);
}
