/**
 * A policy while flags of the command line are put into it.
 *
 * @module
 */
import type { Position } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import { isInside, pathProblem, resolvePath } from "../authority/path.ts";
import { checkShape, digestPolicy, type LoadedPolicy } from "./load.ts";
import type { Policy } from "./schema.ts";

/** A policy with flags added. */
export interface FlaggedPolicy {
  readonly loaded: LoadedPolicy;
  /** The flags that add authority to what the file grants, as typed (`--fs-read`); empty where they only narrow. */
  readonly added: readonly string[];
}

/** Where a value of the command line stands. */
export const COMMAND_LINE: Position = Object.freeze({ file: "command line", line: 1, column: 1 });

/** A mutable JSON object or list, while flags are put into it. */
type Mutable = { [key: string]: unknown };

/** A policy's value while flags are added, and which value came from which flag. */
export class Merge {
  readonly loaded: LoadedPolicy;
  readonly cwd: string;
  readonly #value: Mutable;
  readonly #origins = new Map<string, string>();
  readonly #added = new Set<string>();

  constructor(loaded: LoadedPolicy, cwd: string) {
    this.loaded = loaded;
    this.cwd = cwd;
    this.#value = structuredClone(loaded.policy) as Mutable;
  }

  /** A flag's path as the merged policy must spell it: as typed where both are relative to the same folder. */
  path(text: string): string {
    const malformed = pathProblem(text) !== null;
    return malformed || this.cwd === this.loaded.base ? text : resolvePath(this.cwd, text);
  }

  adds(flag: string): void {
    this.#added.add(flag);
  }

  from(pointer: string, flag: string): void {
    this.#origins.set(pointer, flag);
  }

  set(pointer: string, flag: string, value: unknown): void {
    if (value === undefined) return;
    const parts = pointer.split("/").slice(1);
    const last = parts.pop() ?? "";
    this.#at(parts)[last] = value;
    this.from(pointer, flag);
  }

  /** Sets a number; more than before is added authority. */
  raise(pointer: string, flag: string, { value, before }: { value: number | undefined; before: number }): void {
    this.set(pointer, flag, value);
    if (value !== undefined && value > before) this.adds(flag);
  }

  /** Appends to a list; returns the JSON Pointer of the new element. */
  append(pointer: string, flag: string, value: unknown): string {
    this.adds(flag);
    return this.narrow(pointer, flag, value);
  }

  /** As `append`, where the element takes authority away. */
  narrow(pointer: string, flag: string, value: unknown): string {
    const parts = pointer.split("/").slice(1);
    const last = parts.pop() ?? "";
    const holder = this.#at(parts);
    const list = (holder[last] ?? []) as unknown[];
    holder[last] = [...list, value];
    const at = `${pointer}/${list.length}`;
    this.from(at, flag);
    return at;
  }

  async finish(): Promise<FlaggedPolicy> {
    const { loaded } = this;
    const nameOf = (pointer: string): string => this.#origin(pointer) ?? loaded.nameOf(pointer);
    const positionOf = (pointer: string): Position =>
      this.#origin(pointer) === undefined ? loaded.positionOf(pointer) : COMMAND_LINE;
    const value = this.#value as unknown as JsonObject;
    const policy: Policy = checkShape(value as Json, { nameOf, positionOf, keyPositionOf: positionOf });
    return {
      added: [...this.#added],
      loaded: {
        ...loaded,
        policy,
        sha256: this.#origins.size === 0 && loaded.sha256 !== "" ? loaded.sha256 : await digestPolicy(value),
        nameOf,
        positionOf,
        isOperators: (pointer) => this.#origin(pointer) !== undefined || loaded.isOperators(pointer),
      },
    };
  }

  /** The flag of the value at a pointer, or of the nearest value around it. */
  #origin(pointer: string): string | undefined {
    for (const [at, flag] of [...this.#origins].toReversed()) if (isInside(at, pointer)) return flag;
    return undefined;
  }

  #at(parts: readonly string[]): Mutable {
    let at = this.#value;
    for (const part of parts) {
      at[part] ??= {};
      at = at[part] as Mutable;
    }
    return at;
  }
}
