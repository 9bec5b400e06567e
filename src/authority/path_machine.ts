/**
 * Patterns as automata over the characters of a path, for comparing what they match.
 *
 * @module
 */
import { type Atom, parseGlob, type Part } from "./glob.ts";

/** What separates the components of a path. */
export const SLASH = "/";

/** A pattern below a folder: `["${project}", "src"]` and a glob over what follows. */
export interface PlacedGlob {
  readonly root: readonly string[];
  /** `null` stands for the folder itself and everything below it. */
  readonly glob: string | null;
  /** Whether upper and lower case count as the same in the folder and in the pattern; default: they do not. */
  readonly folded?: boolean;
  /**
   * Patterns below the same folder that make exceptions: the path then matches if it, or a folder above it, fits the
   * pattern to its end and none of these to its end.
   */
  readonly but?: readonly string[];
}

/** States that a machine is in at the same time: sorted, each once. */
export type States = readonly number[];

/** One pattern as a non-deterministic automaton over characters. */
export interface Machine {
  readonly start: States;
  readonly atoms: readonly Atom[];
  /** How many states it has; they are numbered from 0. */
  readonly size: number;
  step(states: States, symbol: string): States;
  accepts(states: States): boolean;
  /** What holds for every path from here on; `undefined` where that is still open. */
  fixed(states: States): boolean | undefined;
}

/** What a state waits for, and where it goes. */
interface State {
  /** On one character of a component. */
  readonly on?: { readonly atom: Atom; readonly to: number };
  /** On the slash that ends a component. */
  readonly slash?: number;
  /** Without reading anything. */
  readonly free?: readonly number[];
  /** Whether a path that ends here belongs. */
  readonly accept?: boolean;
  /** Whether every path that goes on from here belongs. */
  readonly below?: boolean;
}

/** Makes the machine of a pattern. */
export function makeMachine({ root, glob, folded = false, but }: PlacedGlob): Machine {
  if (but === undefined) return plainMachine(root, glob, { folded, exact: false });
  return latchedMachine([
    plainMachine(root, glob, { folded, exact: true }),
    ...but.map((exception) => plainMachine(root, exception, { folded: false, exact: true })),
  ]);
}

function plainMachine(
  root: readonly string[],
  glob: string | null,
  { folded, exact }: { readonly folded: boolean; readonly exact: boolean },
): Machine {
  const parsed = glob === null ? { parts: [], folderOnly: false } : parseGlob(glob);
  // a pattern that is none matches nothing
  if (parsed === null) {
    return { start: [], atoms: [], size: 0, step: () => [], accepts: () => false, fixed: () => false };
  }
  const literal = (text: string): Part => ({ atoms: text.split("").map((unit) => ({ literal: unit })) });
  const placed: Part[] = [...root.map(literal), ...parsed.parts];
  const parts = folded ? placed.map(foldPart) : placed;
  const states = build(parts, { folderOnly: parsed.folderOnly, exact });
  const closures = states.map((_, i) => closureOf(states, i));
  // one state stands for "below what matched": what else could still match does not multiply the states then
  const sink = states.length;
  const isSink = (set: States) => set[0] === sink;
  return {
    start: closures[0] ?? [],
    atoms: parts.flatMap((part) => typeof part === "string" ? [] : part.atoms),
    size: states.length + 1,
    step(set, symbol) {
      if (isSink(set)) return set;
      const next = new Set<number>();
      for (const at of set) {
        const { on, slash } = states[at] ?? {};
        const to = symbol === SLASH ? slash : on !== undefined && fits(on.atom, symbol) ? on.to : undefined;
        if (to === undefined) continue;
        for (const one of closures[to] ?? []) {
          if (states[one]?.below === true) return [sink];
          next.add(one);
        }
      }
      return [...next].sort((a, b) => a - b);
    },
    accepts: (set) => isSink(set) || set.some((at) => states[at]?.accept === true),
    fixed: (set) => isSink(set) ? true : set.length === 0 ? false : undefined,
  };
}

/** Holds from the first component on whose end the first machine accepts and no other one does. */
function latchedMachine(machines: readonly Machine[]): Machine {
  const offsets: number[] = [];
  let size = 1;
  for (const machine of machines) {
    offsets.push(size);
    size += machine.size;
  }
  // state 0 is the latch; behind it each machine has its own states
  const isLatched = (set: States) => set[0] === 0;
  const partOf = (set: States, i: number): States => {
    const from = offsets[i] ?? 0;
    const end = from + (machines[i]?.size ?? 0);
    return set.filter((at) => at >= from && at < end).map((at) => at - from);
  };
  const join = (parts: readonly States[]) => parts.flatMap((part, i) => part.map((at) => at + (offsets[i] ?? 0)));
  const ends = (set: States) => machines.every(({ accepts }, i) => accepts(partOf(set, i)) === (i === 0));
  return {
    start: join(machines.map(({ start }) => start)),
    atoms: machines.flatMap(({ atoms }) => atoms),
    size,
    step(set, symbol) {
      if (isLatched(set) || (symbol === SLASH && ends(set))) return [0];
      return join(machines.map(({ step }, i) => step(partOf(set, i), symbol)));
    },
    accepts: (set) => isLatched(set) || ends(set),
    fixed: (set) => isLatched(set) ? true : partOf(set, 0).length === 0 ? false : undefined,
  };
}

/** Lets a literal character stand for both of its cases. */
function foldPart(part: Part): Part {
  if (typeof part === "string") return part;
  return {
    atoms: part.atoms.map((atom) => {
      if (typeof atom === "string" || !("literal" in atom)) return atom;
      const cases = [atom.literal.toLowerCase(), atom.literal.toUpperCase()].filter((text) => text.length === 1);
      const units = [...new Set([atom.literal, ...cases])].map((text) => text.charCodeAt(0));
      return units.length === 1 ? atom : { ranges: units.map((unit) => [unit, unit] as const), negated: false };
    }),
  };
}

/**
 * Lays a pattern out as states. Behind the last component lies a tail that takes everything, because who matches a
 * folder matches all below it; an `exact` one ends with its last component.
 */
function build(
  parts: readonly Part[],
  { folderOnly, exact }: { readonly folderOnly: boolean; readonly exact: boolean },
): State[] {
  const states: State[] = [];
  const add = (state: State = {}): number => states.push(state) - 1;
  const set = (at: number, state: State): void => void (states[at] = { ...states[at], ...state });
  let at = add();
  for (const [index, part] of parts.entries()) {
    const last = index === parts.length - 1;
    if (part === "folders") {
      // any number of whole components, each with its slash
      const inside = add();
      set(inside, { on: { atom: "one", to: inside }, slash: at });
      const ahead = add();
      const into = add({ on: { atom: "one", to: inside } });
      set(at, { free: [into, ahead] });
      at = ahead;
      continue;
    }
    const end = add();
    if (part === "any") {
      set(at, { on: { atom: "one", to: end } });
      set(end, { on: { atom: "one", to: end } });
    } else layAtoms({ states, add, set }, part.atoms, at, end);
    const next = add();
    set(end, { slash: next, ...(last && (exact || !folderOnly) ? { accept: true } : {}) });
    at = next;
  }
  if (exact) return states;
  // the tail: at least one more component
  set(at, { below: true });
  return states;
}

interface Layout {
  readonly states: State[];
  add(state?: State): number;
  set(at: number, state: State): void;
}

function layAtoms({ add, set, states }: Layout, atoms: readonly Atom[], from: number, end: number): void {
  let at = from;
  const steps = atoms.filter((atom) => atom !== "star").length;
  let step = 0;
  for (const atom of atoms) {
    if (atom === "star") {
      // a star loops where it stands; a state of its own keeps the loop out of what came before
      const loop = add();
      set(loop, { on: { atom: "one", to: loop } });
      set(at, { free: [...states[at]?.free ?? [], loop] });
      const ahead = add();
      set(loop, { free: [ahead] });
      set(at, { free: [...states[at]?.free ?? [], ahead] });
      at = ahead;
      continue;
    }
    step++;
    const to = add();
    set(at, { on: { atom, to } });
    at = to;
  }
  set(at, { free: [...states[at]?.free ?? [], end] });
  if (steps !== step) throw new RangeError("the layout of a pattern lost an atom");
}

function closureOf(states: readonly State[], from: number): States {
  const closure = new Set<number>();
  const stack = [from];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (closure.has(at)) continue;
    closure.add(at);
    stack.push(...states[at]?.free ?? []);
  }
  return [...closure].sort((a, b) => a - b);
}

function fits(atom: Atom, symbol: string): boolean {
  if (atom === "one" || atom === "star") return true;
  if ("literal" in atom) return atom.literal === symbol;
  const unit = symbol.charCodeAt(0);
  return atom.ranges.some(([low, high]) => unit >= low && unit <= high) !== atom.negated;
}

/** An atom that some characters fit and others do not. */
export type Choosy = Exclude<Atom, string>;

/** The atoms that some characters fit and others do not, each once. */
export function distinct(atoms: readonly Atom[]): readonly Choosy[] {
  const found = new Map<string, Choosy>();
  for (const atom of atoms) {
    if (typeof atom !== "string") found.set("literal" in atom ? atom.literal : JSON.stringify(atom), atom);
  }
  return [...found.values()];
}

/** Characters that every atom answers alike are of one kind. */
export function makeKindOf(atoms: readonly Choosy[]): (symbol: string) => string {
  const literals = new Set<string>();
  const classes: Choosy[] = [];
  for (const atom of atoms) {
    if ("literal" in atom) literals.add(atom.literal);
    else classes.push(atom);
  }
  return (symbol) => {
    const answers = classes.map((atom) => fits(atom, symbol) ? "1" : "0").join("");
    return literals.has(symbol) ? answers + symbol : answers;
  };
}
