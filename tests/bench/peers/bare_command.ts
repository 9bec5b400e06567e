/**
 * The peer of the tool `process`: `Deno.Command`, both streams read to their end. No policy, no gate, no record, no
 * limit on output or time. Arguments: warm-up, calls, program, its arguments. Prints the microseconds of a call.
 *
 * @module
 */
const [warmUp = "0", count = "0", program = "", ...args] = Deno.args;

async function callMany(calls: number): Promise<void> {
  for (let i = 0; i < calls; i++) {
    const { code } = await new Deno.Command(program, {
      args,
      cwd: "/",
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (code !== 0) throw new Error("Cannot measure: the program failed");
  }
}

await callMany(Number(warmUp));
const start = performance.now();
await callMany(Number(count));
const us = (performance.now() - start) * 1000 / Number(count);
await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify({ us })}\n`));
