/** What a search costs that a Deno process gives to ripgrep: `spawn_rg.ts <rg> <pattern> <folder> <warm-up> <calls>`. */
const [rg = "", pattern = "", folder = "", warmUp, calls] = Deno.args;

async function search(): Promise<number> {
  const args = ["--no-config", "--line-number", "--no-heading", "--with-filename", "-e", pattern, folder];
  const { stdout } = await new Deno.Command(rg, { args, stdin: "null", stderr: "null" }).output();
  return new TextDecoder().decode(stdout).split("\n").length - 1;
}

let lines = 0;
for (let i = 0; i < Number(warmUp); i++) lines = await search();
const start = performance.now();
for (let i = 0; i < Number(calls); i++) lines = await search();
const us = (performance.now() - start) * 1000 / Number(calls);
// deno-lint-ignore no-console -- the bench reads this line
console.log(JSON.stringify({ us, lines }));
