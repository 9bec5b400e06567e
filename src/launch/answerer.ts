/**
 * Who can be asked what an agent wants to know while its run goes on.
 *
 * @module
 */

/** A question of an agent to a person: all of it is the agent's text, and must be escaped wherever it is shown. */
export interface AgentQuestion {
  /** The tool that asks. */
  readonly tool: string;
  /** Not blank, 4,096 characters at most; may have several lines. */
  readonly question: string;
  /** Answers to choose from, 32 at most; an answer in one's own words is possible all the same. Absent: only that. */
  readonly choices?: readonly string[];
  /** Whether several answers may be given. */
  readonly several: boolean;
}

/** One answer: one of the choices, to the letter, or one's own words. */
export type PersonsAnswer = { readonly choice: string } | { readonly text: string };

/** What became of a question: at least one answer, and one alone where not several may be given; or none. */
export type AnswerReply = { readonly answers: readonly PersonsAnswer[] } | { readonly declined: true };

/**
 * Answers a question. Called for one question at a time, approvals included. Known secrets are taken out of it.
 *
 * One that throws, or gives what does not fit, makes the call an error. `signal` aborts where the answer comes too late:
 * the time that the question gave is over, or the run is.
 */
export type Answerer = (question: AgentQuestion, signal: AbortSignal) => AnswerReply | Promise<AnswerReply>;

/** How the questions of a run are answered. */
export interface QuestionOptions {
  /** Answers the questions of agents. Without it every question is an error, `no_human`; none is ever guessed. */
  readonly answer?: Answerer;
}

/** Longest answer in one's own words, in characters. */
export const MAX_ANSWER_TEXT = 4096;
