/**
 * Sets of paths, compared exactly: is every path that one policy admits also admitted by another, and if not, which one
 * is not? Paths are infinitely many, but patterns see only finitely many differences between them, so walking both
 * sides as automata at the same time settles it.
 *
 * @module
 */
import { type Atom, parseGlob, type Part } from "./glob.ts";

/** Steps of single patterns that are made before the question counts as undecided: a second or two. */
const MAX_STEPS = 5_000_000;

const SLASH = "/";

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

/** A set of paths: which of the placed patterns a path matches decides whether it belongs. Pure. */
export interface PathSet {
  readonly globs: readonly PlacedGlob[];
  /** `matched[i]` tells whether the path matches `globs[i]`. */
  has(matched: readonly boolean[]): boolean;
  /**
   * What `has` says of every path that goes on from here, where `matched[i]` is `undefined` if that is still open;
   * `undefined` where it is not settled. Only saves work.
   */
  settled?(matched: readonly (boolean | undefined)[]): boolean | undefined;
}

/** Whether one set holds another. */
export type Inclusion =
  | { readonly holds: true }
  /** `witness` is a path of the inner set that the outer one does not have; absent where it could not be decided. */
  | { readonly holds: false; readonly witness?: string };

/** Tells whether every path of `inner` is in `outer`. Where that cannot be decided in bounded work, it does not hold. */
export function includes(outer: PathSet, inner: PathSet): Inclusion {
  // both sides mostly have the same patterns: each is walked once
  const places = new Map<string, number>();
  const placed: PlacedGlob[] = [];
  const [outerAt, innerAt] = [outer, inner].map(({ globs }) =>
    globs.map((glob) => {
      const key = JSON.stringify(glob);
      const place = places.get(key) ?? placed.push(glob) - 1;
      places.set(key, place);
      return place;
    })
  ) as [number[], number[]];
  const machines = placed.map(makeMachine);
  const alphabet = alphabetOf(machines);
  const slash = alphabet.length - 1;
  const walkers = machines.map((machine) => new Walker(machine, alphabet));
  const isWitness = (states: readonly number[]): boolean => {
    const matched = walkers.map((walker, i) => walker.accepts(states[i] ?? 0));
    const pick = (at: readonly number[]) => at.map((place) => matched[place] ?? false);
    return inner.has(pick(innerAt)) && !outer.has(pick(outerAt));
  };
  const isOver = (states: readonly number[]): boolean => {
    const fixed = walkers.map((walker, i) => walker.fixed(states[i] ?? 0));
    const pick = (at: readonly number[]) => at.map((place) => fixed[place]);
    return inner.settled?.(pick(innerAt)) === false || outer.settled?.(pick(outerAt)) === true;
  };
  const start = walkers.map(() => 0);
  const seen = new Set<string>([`${start.join()} /`]);
  const queue: { states: readonly number[]; atStart: boolean; path: string }[] = [
    { states: start, atStart: true, path: "" },
  ];
  let steps = 0;
  for (let at = 0; at < queue.length; at++) {
    const { states, atStart, path } = queue[at] ?? { states: [], atStart: true, path: "" };
    if (!atStart && isWitness(states)) return { holds: false, witness: legible(path, walkers, isWitness) };
    // any other symbol leads where the first one does, which no pattern names
    const symbols = new Set([0, slash]);
    for (const [i, walker] of walkers.entries()) for (const symbol of walker.odd(states[i] ?? 0)) symbols.add(symbol);
    for (const symbol of symbols) {
      // a component is never empty, so a path neither starts with a slash nor has two in a row
      if (symbol === slash && atStart) continue;
      steps += walkers.length;
      if (steps > MAX_STEPS) return { holds: false };
      const next = walkers.map((walker, i) => walker.step(states[i] ?? 0, symbol));
      const key = symbol === slash ? `${next.join()} /` : next.join();
      if (seen.has(key)) continue;
      seen.add(key);
      if (!isOver(next)) queue.push({ states: next, atStart: symbol === slash, path: path + (alphabet[symbol] ?? "") });
    }
  }
  return { holds: true };
}

/** The shortest witness may be `src/q` or `.md`, where `src/example` and `example.md` are as good and read better. */
function legible(path: string, walkers: readonly Walker[], isWitness: (states: readonly number[]) => boolean): string {
  const slash = path.lastIndexOf("/") + 1;
  const [folder, name] = [path.slice(0, slash), path.slice(slash)];
  if (name.length > 1 && !name.startsWith(".")) return path;
  const nicer = `${folder}example${name.startsWith(".") ? name : ""}`;
  return isWitness(walkers.map((walker) => walker.walk(nicer))) ? nicer : path;
}

/** A machine with its sets of states numbered as they are met; the start is 0. */
class Walker {
  readonly #machine: Machine;
  /** Symbols that the machine does not tell apart have one representative: `#kinds[#kindOf[symbol]]`. */
  readonly #kinds: readonly string[];
  readonly #kindOf: readonly number[];
  readonly #numbers = new Map<string, number>();
  readonly #met: { readonly set: States; readonly accepts: boolean; readonly fixed: boolean | undefined }[] = [];
  readonly #steps: number[][] = [];
  readonly #odd: (readonly number[])[] = [];

  constructor(machine: Machine, alphabet: readonly string[]) {
    this.#machine = machine;
    const kinds = new Map<string, number>();
    const representatives: string[] = [];
    const kindOf = makeKindOf(distinct(machine.atoms));
    this.#kindOf = alphabet.map((symbol) => {
      const kind = symbol === SLASH ? SLASH : kindOf(symbol);
      const known = kinds.get(kind) ?? representatives.push(symbol) - 1;
      kinds.set(kind, known);
      return known;
    });
    this.#kinds = representatives;
    this.#number(machine.start);
  }

  accepts(state: number): boolean {
    return this.#met[state]?.accepts ?? false;
  }

  fixed(state: number): boolean | undefined {
    return this.#met[state]?.fixed;
  }

  step(state: number, symbol: number): number {
    return this.#row(state)[this.#kindOf[symbol] ?? 0] ?? 0;
  }

  /** The symbols that lead elsewhere than the first one does. */
  odd(state: number): readonly number[] {
    const known = this.#odd[state];
    if (known !== undefined) return known;
    const row = this.#row(state);
    const usual = row[this.#kindOf[0] ?? 0];
    const odd = this.#kindOf.flatMap((kind, symbol) => row[kind] === usual ? [] : [symbol]);
    this.#odd[state] = odd;
    return odd;
  }

  walk(path: string): number {
    let set = this.#machine.start;
    for (let i = 0; i < path.length; i++) set = this.#machine.step(set, path.charAt(i));
    return this.#number(set);
  }

  #row(state: number): readonly number[] {
    const known = this.#steps[state];
    if (known !== undefined) return known;
    const set = this.#met[state]?.set ?? [];
    const row = this.#kinds.map((symbol) => this.#number(this.#machine.step(set, symbol)));
    this.#steps[state] = row;
    return row;
  }

  #number(set: States): number {
    const key = set.join();
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#met.push({ set, accepts: this.#machine.accepts(set), fixed: this.#machine.fixed(set) }) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}

/** States that a machine is in at the same time: sorted, each once. */
type States = readonly number[];

/** One pattern as a non-deterministic automaton over characters. */
interface Machine {
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

function makeMachine({ root, glob, folded = false, but }: PlacedGlob): Machine {
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

/** One character of each kind that the patterns tell apart: first one that none of them names, last the slash. */
function alphabetOf(machines: readonly Machine[]): readonly string[] {
  const atoms = distinct(machines.flatMap((machine) => machine.atoms));
  const points = new Set<number>();
  for (const atom of atoms) {
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
  const kindOf = makeKindOf(atoms);
  const kinds = new Map<string, string>();
  for (const symbol of [other, ...[...points].map((point) => String.fromCharCode(point))]) {
    const kind = kindOf(symbol);
    if (!kinds.has(kind)) kinds.set(kind, symbol);
  }
  return [...kinds.values(), SLASH];
}

type Choosy = Exclude<Atom, string>;

/** The atoms that some characters fit and others do not, each once. */
function distinct(atoms: readonly Atom[]): readonly Choosy[] {
  const found = new Map<string, Choosy>();
  for (const atom of atoms) {
    if (typeof atom !== "string") found.set("literal" in atom ? atom.literal : JSON.stringify(atom), atom);
  }
  return [...found.values()];
}

/** Characters that every atom answers alike are of one kind. */
function makeKindOf(atoms: readonly Choosy[]): (symbol: string) => string {
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
