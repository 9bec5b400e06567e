/**
 * The shipped host with both keys, which also knows the tools that forge.
 *
 * @module
 */
import { runHost, SHIPPED } from "../../src/host/main.ts";
import { WITH_FORGING } from "./forging_tools.ts";

if (import.meta.main) await runHost({ ...SHIPPED, tools: WITH_FORGING });
