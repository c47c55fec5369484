/** Knows, one character at a time, where a sentence ends inside a line. */

import { CLOSER, DOT, LETTER, MARK, OPENER, SPACE, STOP } from "./characters.ts";

/** Nothing; a dot that ends no sentence; an end that counts once white space follows. */
const NONE = 0;
const WEAK = 1;
const STRONG = 2;

/**
 * A sentence ends at `.` `!` `?` or an ellipsis, with closing quotes or brackets, when white space follows.
 * A dot inside a word (file name, URL, version) has no white space after it. A dot after a single letter (`z. B.`),
 * or before the first letter of the sentence (the list marker `1.`), ends none.
 */
export class SentenceEnd {
  #tail = NONE;
  #hasLetter = false;
  /** Characters of the current word, counted up to two; whether the last one is a letter. */
  #wordLength = 0;
  #endsInLetter = false;

  /** Takes the class of the next character. True when that is the white space after a finished sentence. */
  endsAt(kind: number): boolean {
    if (kind === SPACE) return this.#space();
    if (kind === DOT) this.#dot();
    else if (kind === STOP) this.#tail = STRONG;
    else if (kind === CLOSER) return false;
    else if (kind !== MARK) this.#inWord(kind);
    return false;
  }

  /** Starts a new sentence. */
  reset(): void {
    this.#tail = NONE;
    this.#hasLetter = false;
    this.#wordLength = 0;
  }

  #space(): boolean {
    const ended = this.#tail === STRONG;
    this.#tail = NONE;
    this.#wordLength = 0;
    return ended;
  }

  #dot(): void {
    const single = this.#wordLength === 1 && this.#endsInLetter;
    this.#tail = this.#tail === NONE && (single || !this.#hasLetter) ? WEAK : STRONG;
    this.#wordLength = 0;
  }

  #inWord(kind: number): void {
    this.#tail = NONE;
    if (kind === OPENER) return;
    this.#wordLength = Math.min(this.#wordLength + 1, 2);
    this.#endsInLetter = kind === LETTER;
    if (this.#endsInLetter) this.#hasLetter = true;
  }
}
