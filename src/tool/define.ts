/**
 * The contract of a tool. A tool is one frozen object: names, two schemas, the authority it needs, and two functions.
 * `prepare` parses and makes canonical; `invoke` acts on what was prepared and on nothing else.
 *
 * @module
 */
import * as v from "valibot";
import { BugError, ToolInputError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { FileAccess } from "../authority/file_access.ts";
import type { ModelEndpoint } from "../authority/model_providers.ts";
import type { Request } from "../authority/requirement.ts";
import type { AskPower, ResolveSkill, SkillPower, TaskPower } from "./context_powers.ts";
import type {
  BasePower,
  BrowsePower,
  EditPower,
  ModelPower,
  ReadPower,
  ResolveBrowse,
  ResolveEdit,
  ResolveModel,
  ResolveRead,
  ResolveSend,
  ResolveSpawn,
  ResolveWrite,
  SendPower,
  SpawnPower,
  Target,
  WritePower,
} from "./powers.ts";

/**
 * What a call does to the world. After `write`, `send`, `spawn` and `ask` nothing can be taken back, so the host waits
 * until the record of the call is on disk before it starts.
 */
export type Effect = "pure" | "read" | "write" | "send" | "spawn" | "ask";

/** Whether the record of a call must be on disk before its effect starts. */
export function mustAwaitRecord(effect: Effect): boolean {
  return effect !== "pure" && effect !== "read";
}

/** What the audit log keeps of a field: its value, its SHA-256 and size, or its name alone. */
export type AuditMode = "keep" | "digest" | "drop";

/** An endpoint: a method and a URL whose path may hold `{name}` segments. */
export interface Endpoint {
  /** Decided on together with the URL. */
  readonly method: "GET" | "POST";
  /**
   * Origin and fixed segments are pinned; a `{name}` segment is filled in and encoded once. A last segment `{+name}`
   * stands for one or more segments, each encoded once.
   */
  readonly url: `https://${string}`;
  /** Names of the query parameters that a request may have; absent: none. */
  readonly query?: readonly string[];
}

/** Named endpoints of one tool. */
export type Endpoints = Readonly<Record<string, Endpoint>>;

/** The authority that a tool needs beside its name. */
export interface ToolAuthority {
  /** What the tool does with files; the policy's roots for it must be there. */
  readonly fs?: FileAccess;
  /** Every request that the tool can send. */
  readonly endpoints?: Endpoints;
  /** Starts programs of the policy's `process` block. */
  readonly process?: true;
  /** Providers of models, by name: the policy's `model` block chooses one, or recorded answers. */
  readonly model?: Readonly<Record<string, ModelEndpoint>>;
  /**
   * The service behind the endpoints, where it has rules of its own. `github`: every endpoint is below
   * `/repos/{owner}/{repo}`, the policy names the repositories, and answers are judged as GitHub means them.
   */
  readonly service?: "github";
  /** Asks a person. The tool's name is all that it takes: whoever runs the agent answers, or nobody does. */
  readonly asks?: true;
  /** Loads skills of the policy's `skills` block. */
  readonly skills?: true;
  /** Keeps the run's list of tasks. The tool's name is all that it takes: nothing outside the run is touched. */
  readonly tasks?: true;
  /** What the host may send along so that the endpoint knows who asks; the tool never sees it. */
  readonly credential?: CredentialSpec;
}

/** How a credential is sent, and whether the tool works without one. */
export interface CredentialSpec {
  /** `bearer`: `authorization: Bearer <value>`. `x-api-key`: a header of that name. */
  readonly header: "bearer" | "x-api-key";
  /** Whether the policy may leave it out. */
  readonly optional: boolean;
}

/** Exactly the keys of a shape: a generic alone would let extra keys through. */
export type Exact<T, Shape> = T & { readonly [K in Exclude<keyof T, keyof Shape>]: never };

/** The resolver that fits a tool's authority. */
export type Resolve<Au extends ToolAuthority> =
  & (Au extends { fs: "read" } ? ResolveRead : unknown)
  & (Au extends { fs: "write" } ? ResolveWrite : unknown)
  & (Au extends { fs: "browse" | "edit" } ? ResolveBrowse : unknown)
  & (Au extends { fs: "edit" } ? ResolveEdit : unknown)
  & (Au extends { endpoints: infer E } ? ResolveSend<keyof E & string> : unknown)
  & (Au extends { process: true } ? ResolveSpawn : unknown)
  & (Au extends { model: object } ? ResolveModel : unknown)
  & (Au extends { skills: true } ? ResolveSkill : unknown);

/** The powers that fit a tool's authority. */
export type Powers<Au extends ToolAuthority> =
  & BasePower
  & (Au extends { fs: "read" } ? ReadPower : unknown)
  & (Au extends { fs: "write" } ? WritePower : unknown)
  & (Au extends { fs: "browse" | "edit" } ? BrowsePower : unknown)
  & (Au extends { fs: "edit" } ? EditPower : unknown)
  & (Au extends { endpoints: Endpoints } ? SendPower : unknown)
  & (Au extends { process: true } ? SpawnPower : unknown)
  & (Au extends { model: object } ? ModelPower : unknown)
  & (Au extends { asks: true } ? AskPower : unknown)
  & (Au extends { skills: true } ? SkillPower : unknown)
  & (Au extends { tasks: true } ? TaskPower : unknown);

/** Every member of every resolver: what the host implements. */
export type FullResolve =
  & ResolveRead
  & ResolveWrite
  & ResolveBrowse
  & ResolveEdit
  & ResolveSend
  & ResolveSpawn
  & ResolveModel
  & ResolveSkill;

/** Every power: what the host implements. */
export type FullPowers =
  & BasePower
  & ReadPower
  & WritePower
  & BrowsePower
  & EditPower
  & SendPower
  & SpawnPower
  & ModelPower
  & AskPower
  & SkillPower
  & TaskPower;

/** What `prepare` returns. */
export interface Draft<X> {
  /** Everything the call needs, as the resolver handed it out. */
  readonly targets: readonly Target[];
  /** The checked input that `invoke` gets. */
  readonly artifact: X;
  /** Further fields of the `tool_call` record. */
  readonly note?: JsonObject;
}

/** Any synchronous valibot schema. Named through a value of the module: documentation ends here, not inside valibot. */
export type AnySchema = Parameters<(typeof import("valibot"))["is"]>[0];

/** What a schema accepts. */
export type InputOf<S extends AnySchema> = NonNullable<S["~types"]>["input"];

/** What a schema gives. */
export type OutputOf<S extends AnySchema> = NonNullable<S["~types"]>["output"];

/** The schema of a tool's arguments: a strict object, so that an unknown key is an error; loose only where any key is meant. */
export type ArgsSchema =
  | ReturnType<(typeof import("valibot"))["strictObject"]>
  | ReturnType<(typeof import("valibot"))["looseObject"]>;

/** The declared keys of an object type, without its index signature. */
export type KnownKeys<T> = keyof { [K in keyof T as string extends K ? never : K]: T[K] } & string;

/** What a tool's author writes. */
export interface ToolSpec<A extends ArgsSchema, R extends AnySchema, Au extends ToolAuthority, X> {
  /** The name that agents use and policies grant. */
  readonly name: string;
  /** Folder below `src/tools` and group in lists. */
  readonly family: string;
  /** One line for people and models. */
  readonly summary: string;
  /** Strict, so that an unknown key is an error. */
  readonly args: A;
  /** Checked on the way out; a result that does not fit is the tool's error. */
  readonly result: R;
  /** What the tool needs beside its name; the resolver and the powers it gets follow from this. */
  readonly authority: Exact<Au, ToolAuthority>;
  /** What a call does to the world. */
  readonly effect: Effect;
  /** Limits of the tool's own; the policy's apply as well. */
  readonly limits?: {
    /** Deadline where the policy names none, in milliseconds. */
    readonly timeoutMs?: number;
    /** Decoded bytes of one reply, at most; the policy's `toolResultBytes` still applies. */
    readonly replyBytes?: number;
  };
  /** How the audit log keeps each argument (`*`: those that a loose schema lets through), and the result. */
  readonly audit: {
    readonly args:
      | Readonly<Record<KnownKeys<OutputOf<A>> | "*", AuditMode>>
      | Readonly<Record<KnownKeys<OutputOf<A>>, AuditMode>>;
    readonly result: AuditMode;
  };
  /** What the tool does not do, where a reader might think it does. */
  readonly nonClaims?: readonly string[];
  /** Makes everything canonical that the call needs, and acts on nothing. `args` is hostile but fits the schema. */
  prepare(args: OutputOf<A>, resolve: Resolve<Au>): Draft<X> | Promise<Draft<X>>;
  /** Acts on what was prepared, once, after the gate allowed every target. */
  invoke(artifact: X, powers: Powers<Au>): InputOf<R> | Promise<InputOf<R>>;
}

/**
 * The handle between preparation and invocation: the request to decide on, and a seal. Only the definition that made a
 * handle can open it, and only once.
 */
export class Prepared {
  /** What the gate decides on. */
  readonly request: Request;
  /** The targets behind the request; powers accept these only. */
  readonly targets: readonly Target[];
  /** Further fields of the `tool_call` record. */
  readonly note: JsonObject;

  /** Made by {@linkcode defineTool} only: a handle made elsewhere opens nothing. */
  constructor(request: Request, targets: readonly Target[], note: JsonObject) {
    this.request = request;
    this.targets = targets;
    this.note = note;
    Object.freeze(this);
  }
}

/** A tool as the host sees it. */
export interface Tool {
  /** The name that agents use and policies grant. */
  readonly name: string;
  /** Group in lists. */
  readonly family: string;
  /** One line for people and models. */
  readonly summary: string;
  /** Schema that `prepare` parses with. */
  readonly args: ArgsSchema;
  /** Schema that the host checks the result with. */
  readonly result: AnySchema;
  /** What the tool needs beside its name. */
  readonly authority: ToolAuthority;
  /** What a call does to the world. */
  readonly effect: Effect;
  /** Milliseconds and decoded bytes; absent: the policy's alone. */
  readonly limits: { readonly timeoutMs?: number; readonly replyBytes?: number };
  /** What the log keeps of each argument and of the result. */
  readonly audit: { readonly args: Readonly<Record<string, AuditMode>>; readonly result: AuditMode };
  /** What the tool does not do, where a reader might think it does. */
  readonly nonClaims: readonly string[];
  /** Parses the arguments and makes canonical what they name. @throws {ToolInputError} If `raw` does not fit `args`, or the tool refuses it. */
  prepare(raw: unknown, resolve: FullResolve): Prepared | Promise<Prepared>;
  /** Acts on what was prepared, once. @throws {BugError} If the handle is foreign or was used before. */
  invoke(prepared: Prepared, powers: FullPowers): unknown;
}

/**
 * Defines a tool. Everything else about it (manifest, JSON Schema, key-1 flags, README row, contract tests, redaction)
 * is derived from the object passed here.
 *
 * Keep `prepare` above `invoke` in the literal: the artifact's type is inferred left to right.
 */
export function defineTool<
  const A extends ArgsSchema,
  const R extends AnySchema,
  const Au extends ToolAuthority,
  X,
>(spec: ToolSpec<A, R, Au, X>): Tool {
  const seals = new WeakMap<Prepared, { readonly artifact: X }>();
  const seal = (draft: Draft<X>): Prepared => {
    const requirements = Object.freeze(draft.targets.map((target) => target.requirement));
    const prepared = new Prepared(
      Object.freeze({ tool: spec.name, requirements }),
      Object.freeze([...draft.targets]),
      draft.note ?? {},
    );
    seals.set(prepared, { artifact: draft.artifact });
    return prepared;
  };
  return Object.freeze({
    name: spec.name,
    family: spec.family,
    summary: spec.summary,
    args: spec.args,
    result: spec.result,
    authority: spec.authority,
    effect: spec.effect,
    limits: spec.limits ?? {},
    audit: spec.audit,
    nonClaims: spec.nonClaims ?? [],
    // Neither of the two waits where the tool does not: most calls need no turn of the microtask queue for them.
    prepare(raw: unknown, resolve: FullResolve): Prepared | Promise<Prepared> {
      assertKnownKeys(spec, raw);
      const parsed = v.safeParse(spec.args, raw, { abortEarly: true });
      if (!parsed.success) throw new ToolInputError("tool_invalid_args", describeIssue(spec.name, parsed.issues[0]));
      const draft = spec.prepare(parsed.output, resolve as unknown as Resolve<Au>);
      return draft instanceof Promise ? draft.then(seal) : seal(draft);
    },
    invoke(prepared: Prepared, powers: FullPowers): unknown {
      const sealed = seals.get(prepared);
      if (sealed === undefined) {
        throw new BugError("bug_bad_handle", `Cannot invoke "${spec.name}": its handle is foreign or was already used`);
      }
      seals.delete(prepared);
      return spec.invoke(sealed.artifact, powers as unknown as Powers<Au>);
    },
  });
}

/**
 * Refuses what the schema library would let pass: a list in the place of an object, and names that every object inherits
 * (`constructor`, `toString`), which it takes for declared keys or drops.
 */
function assertKnownKeys({ name, args }: { readonly name: string; readonly args: ArgsSchema }, raw: unknown): void {
  if (typeof raw !== "object" || raw === null) return;
  if (Array.isArray(raw)) {
    throw new ToolInputError("tool_invalid_args", `Cannot call "${name}": its arguments must be an object, got a list`);
  }
  for (const [key, value] of Object.entries(raw)) {
    if (Object.hasOwn(args.entries, key)) {
      const takesAnyKey = isRecord(args.entries[key]);
      if (takesAnyKey && Array.isArray(value)) {
        throw new ToolInputError("tool_invalid_args", `Cannot call "${name}": "${key}" must be an object, got a list`);
      }
      const dropped = takesAnyKey ? droppedKeyOf(value) : undefined;
      if (dropped === undefined) continue;
      const message = `Cannot call "${name}": "${dropped}" is no name that "${key}" may hold`;
      throw new ToolInputError("tool_invalid_args", message);
    }
    if (args.type === "loose_object" && !DROPPED_KEYS.has(key)) continue;
    const shown = key.slice(0, 64).toWellFormed();
    throw new ToolInputError("tool_invalid_args", `Cannot call "${name}": "${shown}" is not an argument it knows`);
  }
}

/** Whether a schema, or what it makes optional, takes any keys. */
function isRecord(schema: unknown): boolean {
  const { type, wrapped } = schema as { readonly type?: string; readonly wrapped?: unknown };
  return type === "record" || (wrapped !== undefined && isRecord(wrapped));
}

function droppedKeyOf(value: unknown): string | undefined {
  return typeof value === "object" && value !== null
    ? Object.keys(value).find((key) => DROPPED_KEYS.has(key))
    : undefined;
}

/** Characters of a wrong value that a message shows. */
const MAX_RECEIVED = 100;

/** Keys that the schema library leaves out of a parsed object without a word. */
const DROPPED_KEYS: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"]);

/** Says what is wrong with an argument: where it is, what was expected, what came. */
function describeIssue(tool: string, issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  const where = path === null ? "its arguments" : `"${path}"`;
  if (issue.type === "strict_object" && issue.expected === "never") {
    return `Cannot call "${tool}": ${where} is not an argument it knows`;
  }
  if (issue.received === "undefined" && path !== null) {
    return `Cannot call "${tool}": ${where} is missing, expected ${issue.expected}`;
  }
  // A pattern says in words what it wants, where its author gave it any; the library's own words repeat what came.
  const inWords = issue.type === "regex" && !issue.message.startsWith("Invalid format");
  const expected = inWords ? issue.message : issue.expected ?? issue.message;
  return `Cannot call "${tool}": ${where} must be ${expected}, got ${excerpt(issue.received)}`;
}

/** What came, as far as it helps: it may be a long text of the caller, with anything in it. */
function excerpt(received: string): string {
  const cut = received.length <= MAX_RECEIVED ? received : `${received.slice(0, MAX_RECEIVED)}…`;
  return cut.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (unit) => {
    return `\\u{${unit.codePointAt(0)?.toString(16) ?? ""}}`;
  });
}
