/**
 * Sends answers in an order that was fixed before they were ready.
 *
 * @module
 */

/** What an answer says, before it has its place and its time. */
export interface Answer {
  readonly id: number;
  /** Whether the text says why there is no result. */
  readonly failed: boolean;
  /** JSON text. */
  readonly text: string;
}

/** Prints the line that carries an answer. @param t What the clock of the agent is set to. */
export function answerLine({ id, failed, text }: Answer, t: number): string {
  return `{"id":${id},"t":${t}${failed ? ',"e":true' : ""}}\t${text}`;
}

/** Holds answers until those before them were sent. */
export class Outbox {
  readonly #send: (line: string) => void;
  readonly #places: { readonly id: number; readonly t: number }[] = [];
  readonly #ready = new Map<number, Answer>();
  #sent = 0;

  constructor(send: (line: string) => void) {
    this.#send = send;
  }

  /** Whether every place that was given out was filled and sent. */
  get empty(): boolean {
    return this.#sent === this.#places.length;
  }

  /** Gives the next place to the answer of this id. */
  place(id: number, t: number): void {
    this.#places.push({ id, t });
  }

  /** Takes an answer that has a place; sends what can be sent now. */
  ready(answer: Answer): void {
    this.#ready.set(answer.id, answer);
    for (let next = this.#places[this.#sent]; next !== undefined; next = this.#places[this.#sent]) {
      const due = this.#ready.get(next.id);
      if (due === undefined) return;
      this.#ready.delete(next.id);
      this.#sent++;
      this.#send(answerLine(due, next.t));
    }
  }
}
