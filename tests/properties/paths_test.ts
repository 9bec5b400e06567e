import assert from "node:assert/strict";
import fc from "fast-check";
import { openArtifacts } from "../../src/host/artifacts.ts";
import { collectSource } from "../../src/host/source.ts";
import { DenialError } from "../../src/errors.ts";
import { makeCall, makeRun, withTree } from "../host/run_context.ts";

/** One step that builds a tree; names are few, so that steps meet. */
type Step =
  | { readonly make: "file" | "folder"; readonly path: string }
  | { readonly make: "link" | "hard"; readonly path: string; readonly to: string };

const NAMES = ["a", "A", "b", "..c", "é", "e\u0301", "root"] as const;
const path = fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const linkTarget = fc.oneof(
  path.map((to) => `../${to}`),
  path,
  fc.constantFrom("..", ".", "../outside", "../outside/secret", "/etc/hostname", "../missing", "a", "../../outside"),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ make: fc.constantFrom("file", "folder"), path }),
  fc.record({ make: fc.constant("link"), path, to: linkTarget }),
  fc.record({ make: fc.constant("hard"), path, to: path }),
);
const asked = fc.oneof(
  path,
  fc.array(fc.constantFrom(...NAMES, "..", ".", "", "outside", "secret", "root-evil", "%2e%2e", "\\"), { maxLength: 6 })
    .map((parts) => parts.join("/")),
);

function build(root: string, steps: readonly Step[]): void {
  for (const step of steps) {
    const full = `${root}/${step.path}`;
    try {
      if (step.make === "file") Deno.writeTextFileSync(full, `inside ${step.path}`, { createNew: true });
      if (step.make === "folder") Deno.mkdirSync(full);
      if (step.make === "link") Deno.symlinkSync(step.to, full);
      if (step.make === "hard") Deno.linkSync(`${root}/${step.to}`, full);
    } catch {
      // The place is taken, or a folder above it is missing: not every step fits.
    }
  }
}

/**
 * The slow oracle: takes a path apart by hand, one component at a time from the top, and asks of each with `lstat`
 * alone. Tells what a path below `root` names if no component is a link.
 */
function classify(root: string, relative: string): "file" | "folder" | "link" | "missing" | "outside" {
  const parts = relative.split("/").filter((part) => part !== "" && part !== ".");
  if (relative.startsWith("/") || parts.includes("..")) return "outside";
  let place = root;
  let kind: "file" | "folder" | "link" | "missing" = "folder";
  for (const part of parts) {
    if (kind !== "folder") return kind === "file" ? "missing" : kind;
    place += "/" + part;
    try {
      const info = Deno.lstatSync(place);
      kind = info.isSymlink ? "link" : info.isDirectory ? "folder" : "file";
    } catch {
      return "missing";
    }
  }
  return kind;
}

function makeWorld(dir: string, index: number, steps: readonly Step[]): string {
  const world = `${dir}/${index}`;
  Deno.mkdirSync(`${world}/root`, { recursive: true });
  Deno.mkdirSync(`${world}/outside`);
  Deno.mkdirSync(`${world}/root-evil`);
  Deno.writeTextFileSync(`${world}/outside/secret`, "SECRET");
  Deno.writeTextFileSync(`${world}/root-evil/a`, "SECRET");
  build(`${world}/root`, steps);
  return world;
}

/** Every name below a folder with what it holds, links by their target. */
function snapshot(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap((child) => {
    const full = `${folder}/${child.name}`;
    if (child.isSymlink) return [`${full} -> ${Deno.readLinkSync(full)}`];
    return child.isDirectory ? [full, ...snapshot(full)] : [`${full} = ${Deno.readTextFileSync(full)}`];
  }).sort();
}

Deno.test("reading admits a name exactly where an independent walk finds a plain file", () =>
  withTree(async (dir) => {
    let index = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), fc.array(asked, { minLength: 1, maxLength: 8 }), async (
        steps,
        names,
      ) => {
        const world = makeWorld(dir, index++, steps);
        const source = await collectSource(makeRun(world, { read: [{ root: "root" }] }));
        for (const name of [...names, ...names.map((name) => `${world}/root/${name}`)]) {
          const target = await source.resolve.source(name);
          const relative = name.startsWith(`${world}/root/`) ? name.slice(`${world}/root/`.length) : name;
          const expected = classify(`${world}/root`, relative.replace(/^\/+(?=.)/, name === relative ? "/" : ""));
          assert.equal(target.requirement.refusal === undefined, expected === "file", `${name}: ${expected}`);
          if (expected !== "file") continue;
          const text = await source.power(makeCall("readFile", [target])).read(target);
          assert.match(text.content, /^inside /);
        }
      }),
      { numRuns: 300 },
    );
  }));

Deno.test("writing creates exactly the one file whose place an independent walk finds free, and nothing outside", () =>
  withTree(async (dir) => {
    let index = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), fc.array(asked, { minLength: 1, maxLength: 5 }), async (
        steps,
        names,
      ) => {
        const world = makeWorld(dir, index++, steps);
        const root = `${world}/root`;
        const artifacts = openArtifacts(makeRun(world, { write: ["root"] }));
        for (const name of names) {
          const isName = name.split("/").some((part) => part !== "" && part !== ".") && !name.includes("\\");
          const isFree = isName && classify(root, name) === "missing" && !isBelowFile(root, name);
          const before = snapshot(world);
          const target = await artifacts.resolve.artifact(name);
          assert.equal(target.requirement.refusal === undefined, isFree, name);
          const power = artifacts.power(makeCall("writeArtifact", [target]));
          if (isFree) await power.write(target, new TextEncoder().encode("new"));
          else await assert.rejects(power.write(target, new Uint8Array()), DenialError);
          const gained = snapshot(world).filter((line) => !before.includes(line));
          const files = gained.filter((line) => line.includes(" = "));
          assert.deepEqual(files, isFree ? [`${root}/${target.path} = new`] : []);
          assert.ok(gained.every((line) => line.startsWith(`${root}/`)));
          assert.ok(before.every((line) => snapshot(world).includes(line)));
        }
      }),
      { numRuns: 150 },
    );
  }));

/** Whether a component above the last is a plain file. */
function isBelowFile(root: string, name: string): boolean {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  return parts.some((_, index) => index > 0 && classify(root, parts.slice(0, index).join("/")) === "file");
}
