/**
 * `twokey policy explain --call`: what would become of one call, which line decides, and what would change that.
 *
 * @module
 */
import { writesFiles } from "../authority/file_access.ts";
import { isDenialCode } from "../authority/denial_codes.ts";
import { EXIT, type ExitCode, UsageError } from "../errors.ts";
import { suggest } from "../gate/suggest.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { type CallDecision, decideCalls } from "../launch/decisions.ts";
import { type CompiledPolicy, compilePolicy, MANIFESTS } from "../launch/compile_policy.ts";
import { loadPolicy } from "../policy/load.ts";
import { escapeText } from "../report/escape.ts";
import { reasonText, withoutProject } from "../report/reasons.ts";
import { out, outJson, styleFor } from "./io.ts";
import { unknownTool } from "./unknown_tool.ts";

/** Explains one call. `args` is JSON text. */
export async function explainCall(
  { json }: { readonly json: boolean },
  path: string,
  call: { readonly tool: string; readonly args: string },
): Promise<ExitCode> {
  const compiled = await compilePolicy(await loadPolicy(path));
  const [decision] = await decideCalls(compiled, [{ tool: call.tool, args: parseArgs(call.args) }]);
  if (decision === undefined) return EXIT.ended;
  const change = changeFor(compiled, call.tool, decision);
  const places = decision.rules.map((rule) => {
    const { file, line } = compiled.loaded.positionOf(rule);
    return { rule, file, line };
  });
  if (json) {
    outJson({ tool: call.tool, ...decision, decided_by: places, change });
    return EXIT.ok;
  }
  const style = styleFor(Deno.stdout);
  const target = decision.target === null
    ? ""
    : ` ${escapeText(withoutProject(decision.target, compiled.places.project))}`;
  const word = decision.decision === "allow" ? style.good("allow") : style.bad(decision.decision);
  out(`${word}  ${escapeText(call.tool)}${target}\n`);
  if (decision.code !== null) out(`  because ${escapeText(decision.message ?? reasonText(decision.code))}\n`);
  const unknown = unknownTool(call.tool);
  if (unknown !== undefined) out(`  ${unknown}\n`);
  for (const { file, line, rule } of places) out(`  decided by ${escapeText(file)}:${line}  ${escapeText(rule)}\n`);
  if (places.length === 0 && decision.decision === "deny") out("  decided by no line: what is not granted is denied\n");
  if (change !== null) {
    out(`  ${decision.decision === "allow" ? "to deny it" : "to allow it"}: ${escapeText(change)}\n`);
  }
  return EXIT.ok;
}

function parseArgs(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError("usage_json", "Cannot explain the call: its arguments are not JSON");
  }
  if (!isJsonObject(value)) {
    throw new UsageError("usage_json", "Cannot explain the call: its arguments must be a JSON object");
  }
  return value;
}

/** The smallest line that would turn the decision round; `null` where none may. */
function changeFor({ plan, places }: CompiledPolicy, tool: string, decision: CallDecision): string | null {
  const { code, rules, target } = decision;
  if (decision.decision === "allow") {
    if (target === null || !target.startsWith("/")) return `remove "${tool}" from "tools"`;
    const relative = withoutProject(target, places.project);
    const kind = writesFiles(plan.tools[tool]?.fs) ? "filesystem.write" : "filesystem.read";
    if (relative === target) return `remove "${tool}" from "tools"`;
    return `"gate": { "deny": [{ "kind": "${kind}", "match": ${JSON.stringify(`/${relative}`)} }] }`;
  }
  if (code === null || !isDenialCode(code)) return null;
  return suggest({ tool, code, rule: rules[0] ?? null, target }, plan, { places, toolNames: Object.keys(MANIFESTS) });
}
