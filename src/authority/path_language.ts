/**
 * Sets of paths, compared exactly: is every path that one policy admits also admitted by another, and if not, which one
 * is not? Paths are infinitely many, but patterns see only finitely many differences between them, so walking both
 * sides as automata at the same time settles it.
 *
 * @module
 */
import {
  distinct,
  type Machine,
  makeKindOf,
  makeMachine,
  type PlacedGlob,
  SLASH,
  type States,
} from "./path_machine.ts";

/** Steps of single patterns that are made before the question counts as undecided: a second or two. */
const MAX_STEPS = 5_000_000;

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

/** Tells whether a path is in a set. */
export function contains(set: PathSet, path: string): boolean {
  return set.has(set.globs.map((glob) => {
    if (lacks(path, glob)) return false;
    const machine = makeMachine(glob);
    let states = machine.start;
    for (let i = 0; i < path.length; i++) states = machine.step(states, path.charAt(i));
    return machine.accepts(states);
  }));
}

/** Whether a path has nowhere the letters that a pattern asks for: that rules most patterns out without a machine. */
function lacks(path: string, { glob }: PlacedGlob): boolean {
  if (glob === null || glob.includes("[")) return false;
  const folded = path.toLowerCase();
  return glob.split(/[^A-Za-z0-9._-]+/).some((letters) => !folded.includes(letters.toLowerCase()));
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
