/**
 * Tools that act at once on whatever they are asked for: no schema that narrows, no resolver, no power. With a gate that
 * admits everything they are a host without key 2.
 *
 * @module
 */
import * as v from "valibot";
import { type ArgsSchema, defineTool, type Tool } from "../../src/tool/define.ts";

const RESULT = v.looseObject({});

/** Loaders of the tools, by name. */
export const BARE_TOOLS: Readonly<Record<string, () => Promise<Tool>>> = Object.freeze({
  __proto__: null as never,
  "act.read": load("act.read", async ({ path }) => ({ text: await Deno.readTextFile(path ?? "") })),
  "act.write": load("act.write", async ({ path, text }) => {
    await Deno.writeTextFile(path ?? "", text ?? "");
    return { written: true };
  }),
  "act.fetch": load("act.fetch", async ({ url, method, body }) => {
    const proxy = Deno.env.get("ESCAPE_PROXY");
    const client = Deno.createHttpClient({
      caCerts: [Deno.env.get("ESCAPE_CA") ?? ""],
      ...(proxy === undefined ? {} : { proxy: { url: proxy } }),
    });
    const response = await fetch(url ?? "", {
      client,
      method: method ?? "GET",
      redirect: "follow",
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, text: await response.text(), url: response.url };
  }),
  "act.spawn": load("act.spawn", async ({ program, path }) => {
    const { success } = await new Deno.Command(program ?? "", { args: [path ?? ""], stdin: "null", clearEnv: true })
      .output();
    return { success };
  }),
  "act.variable": load("act.variable", ({ name }) => ({ value: Deno.env.get(name ?? "") ?? null })),
  "act.import": load("act.import", async ({ url }) => ({ value: (await import(url ?? "")).value })),
  "act.library": load("act.library", ({ path }) => {
    Deno.dlopen(path ?? "", { getpid: { parameters: [], result: "i32" } }).close();
    return { loaded: true };
  }),
  "act.echo": load("act.echo", (args) => ({ ...args })),
});

type Words = Readonly<Record<string, string | undefined>>;

function load(name: string, act: (args: Words) => object | Promise<object>): () => Promise<Tool> {
  const tool = defineTool<ArgsSchema, v.GenericSchema, Record<never, never>, Words>({
    name,
    family: "escape",
    summary: name,
    args: v.looseObject({}),
    result: RESULT,
    authority: {},
    effect: "pure",
    audit: { args: { "*": "drop" }, result: "drop" },
    prepare: (args) => ({ targets: [], artifact: args as Words }),
    async invoke(args) {
      try {
        return await act(args);
      } catch (error) {
        // Who stopped the act is the finding; the shipped path would hide it.
        return { stopped: error instanceof Error ? error.name : "thrown" };
      }
    },
  });
  return () => Promise.resolve(tool);
}
