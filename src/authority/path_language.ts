/**
 * Sets of paths, compared exactly: is every path that one policy admits also admitted by another, and if not, which one
 * is not? Paths are infinitely many, but patterns see only finitely many differences between them, so walking both
 * sides as automata at the same time settles it.
 *
 * @module
 */
import { type Atom, parseGlob, type Part } from "./glob.ts";

/** States that are looked at before the question counts as undecided. */
const MAX_STATES = 60_000;

const SLASH = "/";

/** A pattern below a folder: `["${project}", "src"]` and a glob over what follows. */
export interface PlacedGlob {
  readonly root: readonly string[];
  /** `null` stands for the folder itself and everything below it. */
  readonly glob: string | null;
}

/** A set of paths: which of the placed patterns a path matches decides whether it belongs. Pure. */
export interface PathSet {
  readonly globs: readonly PlacedGlob[];
  /** `matched[i]` tells whether the path matches `globs[i]`. */
  has(matched: readonly boolean[]): boolean;
}

/** Whether one set holds another. */
export type Inclusion =
  | { readonly holds: true }
  /** `witness` is a path of the inner set that the outer one does not have; absent where it could not be decided. */
  | { readonly holds: false; readonly witness?: string };

/** Tells whether every path of `inner` is in `outer`. Where that cannot be decided in bounded work, it does not hold. */
export function includes(outer: PathSet, inner: PathSet): Inclusion {
  const machines = [...outer.globs, ...inner.globs].map(makeMachine);
  const alphabet = alphabetOf(machines);
  const cut = outer.globs.length;
  const start = machines.map((machine) => machine.start);
  const seen = new Set<string>([keyOf(start, true)]);
  const queue: { states: readonly bigint[]; atStart: boolean; path: string }[] = [
    { states: start, atStart: true, path: "" },
  ];
  for (let at = 0; at < queue.length; at++) {
    const { states, atStart, path } = queue[at] ?? { states: [], atStart: true, path: "" };
    if (!atStart) {
      const matched = machines.map((machine, i) => machine.accepts(states[i] ?? 0n));
      if (inner.has(matched.slice(cut)) && !outer.has(matched.slice(0, cut))) return { holds: false, witness: path };
    }
    for (const symbol of alphabet) {
      // a component is never empty, so a path neither starts with a slash nor has two in a row
      if (symbol === SLASH && atStart) continue;
      const next = machines.map((machine, i) => machine.step(states[i] ?? 0n, symbol));
      const key = keyOf(next, symbol === SLASH);
      if (seen.has(key)) continue;
      if (seen.size >= MAX_STATES) return { holds: false };
      seen.add(key);
      queue.push({ states: next, atStart: symbol === SLASH, path: path + symbol });
    }
  }
  return { holds: true };
}

function keyOf(states: readonly bigint[], atStart: boolean): string {
  return `${atStart}|${states.join(",")}`;
}

/** One pattern as a non-deterministic automaton over characters; a set of its states is a bit field. */
interface Machine {
  readonly start: bigint;
  readonly atoms: readonly Atom[];
  step(states: bigint, symbol: string): bigint;
  accepts(states: bigint): boolean;
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
}

function makeMachine({ root, glob }: PlacedGlob): Machine {
  const parsed = glob === null ? { parts: [], folderOnly: false } : parseGlob(glob);
  // a pattern that is none matches nothing
  if (parsed === null) return { start: 0n, atoms: [], step: () => 0n, accepts: () => false };
  const literal = (text: string): Part => ({ atoms: [...text].map((char) => ({ literal: char })) });
  const parts: Part[] = [...root.map(literal), ...parsed.parts];
  const states = build(parts, parsed.folderOnly);
  const closures = states.map((_, i) => closureOf(states, i));
  return {
    start: closures[0] ?? 0n,
    atoms: parts.flatMap((part) => typeof part === "string" ? [] : part.atoms),
    step(set, symbol) {
      let next = 0n;
      for (const [i, { on, slash }] of states.entries()) {
        if ((set & (1n << BigInt(i))) === 0n) continue;
        if (symbol === SLASH) {
          if (slash !== undefined) next |= closures[slash] ?? 0n;
        } else if (on !== undefined && fits(on.atom, symbol)) next |= closures[on.to] ?? 0n;
      }
      return next;
    },
    accepts: (set) => states.some(({ accept }, i) => accept === true && (set & (1n << BigInt(i))) !== 0n),
  };
}

/**
 * Lays a pattern out as states. Behind the last component lies a tail that takes everything: who matches a folder
 * matches all below it.
 */
function build(parts: readonly Part[], folderOnly: boolean): State[] {
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
    set(end, { slash: next, ...(last && !folderOnly ? { accept: true } : {}) });
    at = next;
  }
  // the tail: at least one more component
  const tail = add();
  set(at, { on: { atom: "one", to: tail } });
  set(tail, { on: { atom: "one", to: tail }, slash: at, accept: true });
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

function closureOf(states: readonly State[], from: number): bigint {
  let set = 0n;
  const stack = [from];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const bit = 1n << BigInt(at);
    if ((set & bit) !== 0n) continue;
    set |= bit;
    stack.push(...states[at]?.free ?? []);
  }
  return set;
}

function fits(atom: Atom, symbol: string): boolean {
  if (atom === "one" || atom === "star") return true;
  if ("literal" in atom) return atom.literal === symbol;
  const unit = symbol.charCodeAt(0);
  return atom.ranges.some(([low, high]) => unit >= low && unit <= high) !== atom.negated;
}

/** One character of each kind that the patterns tell apart, one that none of them names, and the slash. */
function alphabetOf(machines: readonly Machine[]): readonly string[] {
  const points = new Set<number>();
  for (const atom of machines.flatMap(({ atoms }) => atoms)) {
    if (atom === "one" || atom === "star") continue;
    if ("literal" in atom) points.add(atom.literal.charCodeAt(0));
    else {
      for (const [low, high] of atom.ranges) {
        for (const point of [low, high, low - 1, high + 1]) if (point > 0x20) points.add(point);
      }
    }
  }
  points.delete(SLASH.charCodeAt(0));
  const other = "xyzabcdefghijklmnopqrstuvw0123456789".split("").find((char) => !points.has(char.charCodeAt(0))) ??
    "\u00b7";
  return [...[...points].map((point) => String.fromCharCode(point)), other, SLASH];
}
