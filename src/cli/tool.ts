/**
 * `twokey tool …`: what tools there are, and what each one needs. Read from their manifests; no tool is loaded.
 *
 * @module
 */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { nearest } from "../authority/nearest.ts";
import { DataError, EXIT, type ExitCode } from "../errors.ts";
import { ABSENT_REASON, ABSENT_TOOLS } from "../policy/check_tools.ts";
import { typeText } from "../report/agent_types.ts";
import { escapeText } from "../report/escape.ts";
import { tableLines } from "../report/table.ts";
import { describeTool, TOOL_MANIFEST_VERSION, type ToolDescription } from "../report/tool_manifest.ts";
import { duration } from "../report/units.ts";
import type { ToolManifests } from "../tool/manifest.ts";
import manifestsJson from "../tools/manifests.json" with { type: "json" };
import { withRegistry } from "../tools/supply_chain/npm_registry.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, styleFor } from "./io.ts";

interface JsonOnly {
  readonly json: boolean;
}

/** White space as wide as the names of fields. */
const MARGIN = " ".repeat(12);

const MANIFESTS = manifestsJson as unknown as ToolManifests;

function list({ json }: JsonOnly): ExitCode {
  const tools = Object.keys(MANIFESTS).toSorted().flatMap((name) => maybeDescribe(name) ?? []);
  if (json) {
    printJson({
      schema_version: TOOL_MANIFEST_VERSION,
      tools,
      unavailable_process_like_tools: ABSENT_TOOLS.map((name) => ({ name, available: false, reason: ABSENT_REASON })),
    });
    return EXIT.ok;
  }
  const [head = "", ...rows] = tableLines(
    ["tool", "family", "effect", "isolations", "timeout", "grant", "endpoint", "credential"],
    tools.map((tool) => [
      tool.name,
      tool.family,
      tool.effect,
      tool.isolations.join(","),
      duration(tool.timeout.default_ms),
      tool.grant_requirements.map(({ flag }) => flag).join(" "),
      tool.endpoints.map(withRegistry).join(" ") || "none",
      credentialText(tool),
    ]),
  );
  out(`${[styleFor(Deno.stdout).heading(head), ...rows].join("\n")}\n\n`);
  out(`unavailable process-like tools:\n  ${ABSENT_TOOLS.join(" ")}  reason=${ABSENT_REASON}\n`);
  return EXIT.ok;
}

function describe({ json }: JsonOnly, name: string): ExitCode {
  const tool = maybeDescribe(name);
  if (tool === undefined) throw unknown(name);
  if (json) printJson(tool);
  else out(`${describeLines(tool).join("\n")}\n`);
  return EXIT.ok;
}

function describeLines(tool: ToolDescription): string[] {
  const style = styleFor(Deno.stdout);
  return [
    style.heading(`${tool.name}: ${tool.summary}`),
    `family      ${tool.family}`,
    `effect      ${tool.effect} (${tool.authority_class})`,
    `isolations  ${tool.isolations.join(", ")}`,
    `timeout     ${duration(tool.timeout.default_ms)} by default; ${tool.timeout.policy} or ${tool.timeout.flag}`,
    `endpoint    ${tool.endpoints.map(withRegistry).join(", ") || "none"}`,
    `credential  ${credentialText(tool)}`,
    ...tool.grant_requirements.flatMap(({ flag, policy }, i) => [
      `${i === 0 ? "grant     " : "          "}  ${policy}`,
      `            or the flag ${flag}`,
    ]),
    `arguments   ${typeText(tool.input_schema, MARGIN)}`,
    `result      ${typeText(tool.output_schema, MARGIN)}`,
    `records     ${tool.audit_rows.join(" ")}`,
    `counters    ${tool.replay_counters.join(" ")}`,
    `deadline    ${tool.cancellation}`,
    ...tool.nonclaims.map((text) => `mind        ${text}`),
    `residual    ${tool.residual_owner}`,
    `digest      ${tool.digest}`,
  ];
}

function credentialText({ credential }: ToolDescription): string {
  if (credential === null) return "none";
  return `${credential.optional ? "optional" : "required"}: ${credential.flags.join(" or ")}`;
}

function maybeDescribe(name: string): ToolDescription | undefined {
  const manifest = Object.hasOwn(MANIFESTS, name) ? MANIFESTS[name] : undefined;
  return manifest === undefined ? undefined : describeTool(manifest);
}

function unknown(name: string): DataError {
  const shown = escapeText(name, { max: 80 });
  if (ABSENT_TOOLS.includes(name)) {
    return new DataError("tool_absent", `Cannot describe "${shown}": it is deliberately absent (${ABSENT_REASON})`, {
      fix: "See what there is with: twokey tool list",
    });
  }
  const meant = nearest(name, Object.keys(MANIFESTS));
  return new DataError("tool_unknown", `Cannot describe "${shown}": no such tool`, {
    fix: meant === undefined ? "See the names with: twokey tool list" : `Did you mean ${meant}?`,
  });
}

function printJson(value: unknown): void {
  out(`${withRegistry(JSON.stringify(value))}\n`);
}

/** The commands below `tool`. */
export const toolRoutes = buildRouteMap<string, Context>({
  routes: {
    list: buildCommand<JsonOnly, [], Context>({
      docs: {
        brief: "List every tool, one line each",
        fullDescription: [
          "Lists every tool: family, effect, isolations, default deadline, the flags that grant it, endpoint and credential.",
          "Runs nothing. Ends with the tools that are absent on purpose.",
        ].join("\n"),
      },
      parameters: { flags: JSON_FLAG },
      func: command(list),
    }),
    describe: buildCommand<JsonOnly, [string], Context>({
      docs: {
        brief: "Describe one tool",
        fullDescription: [
          "Describes one tool: its arguments and result, what grants it, its records, what it does not claim.",
          "An unknown name is exit 65.",
          "",
          "EXAMPLE",
          "  twokey tool describe osv.query --json",
        ].join("\n"),
      },
      parameters: {
        flags: JSON_FLAG,
        positional: { kind: "tuple", parameters: [{ parse: String, brief: "Name of the tool", placeholder: "tool" }] },
      },
      func: command(describe),
    }),
  },
  docs: { brief: "List and describe the tools" },
});
