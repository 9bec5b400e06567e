/**
 * The shipped host, but it does not ask for proof of key 1, and it also knows the tools that forge.
 *
 * @module
 */
import { runHost, SHIPPED } from "../../src/host/main.ts";
import { WITH_FORGING } from "./forging_tools.ts";

if (import.meta.main) {
  await runHost({ ...SHIPPED, attest: () => Promise.resolve({}), tools: WITH_FORGING });
}
