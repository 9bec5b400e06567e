/**
 * Runs bundles the two ways that agents run: as a module in a process without permissions, and in a SES compartment.
 *
 * @module
 */
import "ses";
import { sesWrap } from "../../src/isolate/ses_wrap.ts";

interface CompartmentLike {
  evaluate(code: string): unknown;
}

declare const lockdown: (options: Record<string, unknown>) => void;
declare const Compartment: new (options: Record<string, unknown>) => CompartmentLike;

const RUNNER = `
const { default: main, ...rest } = await import(await new Response(Deno.stdin.readable).text());
console.log(JSON.stringify({ result: await main(), exports: Object.keys(rest).sort() }));
`;

/** What a bundle's default export returned, and the names of its other exports. */
export interface Evaluated {
  readonly result: unknown;
  readonly exports: readonly string[];
}

/** Imports a bundle as data in a process without any permission and calls its default export. */
export async function evaluateInProcess(code: string): Promise<Evaluated> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--cached-only"]
      .concat(
        `data:text/javascript,${encodeURIComponent(RUNNER)}`,
      ),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    clearEnv: true,
    env: { DENO_DIR: "/dev/null/d", NO_COLOR: "1" },
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(dataUrl(code)));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Names a module by its text. */
export function dataUrl(code: string): string {
  return `data:text/javascript;base64,${new TextEncoder().encode(code).toBase64()}`;
}

/** Evaluates a bundle in a new compartment and calls its default export; locks this realm down the first time. */
export async function evaluateInCompartment(code: string): Promise<Evaluated> {
  lockRealm();
  const exported = await evaluateText(sesWrap(code)) as { default: () => unknown };
  const { default: main, ...rest } = exported; // called without a receiver, as a module's export is
  return { result: JSON.parse(JSON.stringify(await main())), exports: Object.keys(rest).sort() };
}

/** Evaluates any expression in a new compartment. */
export function evaluateText(text: string): unknown {
  lockRealm();
  return new Compartment({ globals: {}, __options__: true }).evaluate(text);
}

function lockRealm(): void {
  if (Object.isFrozen(Object.prototype)) return;
  lockdown({
    errorTaming: "unsafe",
    errorTrapping: "none",
    reporting: "none",
    unhandledRejectionTrapping: "none",
    overrideTaming: "severe",
    consoleTaming: "unsafe",
    domainTaming: "unsafe",
    stackFiltering: "verbose",
  });
}
