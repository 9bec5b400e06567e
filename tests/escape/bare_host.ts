/**
 * A host without key 2: a gate that admits everything, and tools that act on whatever they are asked for. It attests
 * nothing, so that it also runs without key 1.
 *
 * @module
 */
import { runHost } from "../../src/host/main.ts";
import { BARE_TOOLS } from "./bare_tools.ts";
import { WITH_FORGING } from "./forging_tools.ts";

if (import.meta.main) {
  await runHost({
    attest: () => Promise.resolve({}),
    makeGate: () => () => ({ kind: "allow", rules: [] }),
    tools: { ...WITH_FORGING, ...BARE_TOOLS },
  });
}
