/**
 * What esbuild says of an agent, as errors of ours: with the position in the project and the fix.
 *
 * @module
 */
import { DataError, type Position } from "../errors.ts";
import { NAMESPACE, type ServiceMessage } from "./esbuild_service.ts";
import type { Refusal } from "./import_refusal.ts";

/** A dynamic import, in whatever form. */
export const DYNAMIC_IMPORT = {
  message: "a dynamic import is refused",
  fix: "import the module at the top of the file, by a relative path",
} as const;

/** A use of `require`, in whatever form. */
export const REQUIRE = {
  message: "require is refused",
  fix: "import the module at the top of the file, by a relative path",
} as const;

/** What agents cannot use, by esbuild's name for its message: what is there, and what to write instead. */
const REFUSED_SYNTAX: ReadonlyMap<string, { readonly message: string; readonly fix: string }> = new Map([
  ["unsupported-dynamic-import", DYNAMIC_IMPORT],
  ["empty-glob", DYNAMIC_IMPORT],
  ["unsupported-require-call", REQUIRE],
  ["indirect-require", REQUIRE],
  ["require-resolve-not-external", REQUIRE],
  ["commonjs-variable-in-esm", { message: "module and exports are refused", fix: "use export" }],
  ["empty-import-meta", {
    message: "import.meta is refused",
    fix: "use context for what the policy hands to the agent",
  }],
  ["direct-eval", {
    message: "eval is refused",
    fix: "write the code itself; give a function of this name another one",
  }],
]);

/** The error of a refusal at a place in the agent. */
export function refused(position: Position, { code, message, fix }: Refusal): DataError {
  return new DataError(code, `Cannot bundle the agent: ${message}`, { position, fix });
}

/**
 * The error of a message of esbuild: a refusal of ours, syntax that agents cannot use, or a fault in a module.
 *
 * @param refusals What `detail` of a message of ours is an index into.
 * @param entry Where a message without a place is shown.
 */
export function toError(message: ServiceMessage, refusals: readonly Refusal[], entry: string): DataError {
  const { location } = message;
  const position = location === undefined || location.file === "" ? { file: entry, line: 1, column: 1 } : {
    file: withoutNamespace(location.file),
    line: location.line,
    column: utf16Column(location.lineText, location.column),
  };
  const refusal = message.detail === undefined ? undefined : refusals[message.detail];
  if (refusal !== undefined) return refused(position, refusal);
  const pattern = /^Could not resolve (import|require)\(/.exec(message.text)?.[1]; // with a computed part in its path
  const byPattern = pattern === undefined ? undefined : pattern === "import" ? DYNAMIC_IMPORT : REQUIRE;
  const syntax = byPattern ?? REFUSED_SYNTAX.get(message.id);
  if (syntax !== undefined) return refused(position, { code: "agent_import_refused", ...syntax });
  return refused(position, {
    code: "agent_syntax",
    message: message.text.replaceAll(`"${NAMESPACE}:`, '"'),
    fix: "correct the module at this place",
  });
}

/** 1-based column in UTF-16 code units of a 0-based one in UTF-8 bytes. */
function utf16Column(line: string, column: number): number {
  return new TextDecoder().decode(new TextEncoder().encode(line).subarray(0, column)).length + 1;
}

/** A module's name without the namespace that esbuild puts in front. */
export function withoutNamespace(path: string): string {
  return path.startsWith(NAMESPACE + ":") ? path.slice(NAMESPACE.length + 1) : path;
}

/**
 * Compares errors by place.
 *
 * esbuild reports as its threads find errors; sorted, the first one is the same each time.
 */
export function byPosition(a: DataError, b: DataError): number {
  const [left, right] = [a.position, b.position];
  if (left === undefined || right === undefined) return 0;
  if (left.file !== right.file) return left.file < right.file ? -1 : 1;
  return left.line - right.line || left.column - right.column;
}
