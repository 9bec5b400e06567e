// What a library that globs costs: node glob_tiny.mjs <modules> <folder> <pattern> <warm-up> <calls>
import process from "node:process";
import { pathToFileURL } from "node:url";

const [modules, cwd, pattern, warmUp, calls] = process.argv.slice(2);
const { globSync } = await import(pathToFileURL(`${modules}/tinyglobby/dist/index.mjs`).href);
let files = 0;
const glob = () => {
  files = globSync(pattern, { cwd, dot: true, expandDirectories: false }).length;
};
for (let i = 0; i < Number(warmUp); i++) glob();
const start = performance.now();
for (let i = 0; i < Number(calls); i++) glob();
const us = (performance.now() - start) * 1000 / Number(calls);
process.stdout.write(`${JSON.stringify({ us, files })}\n`);
