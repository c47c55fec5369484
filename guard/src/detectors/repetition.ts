/** Recognises repeated units: equal blocks in a row, and irregular cycles. */

import { unitOf, type Unit } from "./unit.ts";

/** What was recognised. It holds numbers only, so that it can be logged. */
export type Finding =
  | { readonly kind: "consecutive"; readonly blockSize: number; readonly repeats: number }
  | { readonly kind: "irregular"; readonly distinct: number; readonly repeats: number };

const LONGEST_BLOCK = 8;
const WINDOW = 24;
const LEAST_REPEATING = 18;
const MOST_DISTINCT = 12;
/** How much oftener than a block in a row a unit of an irregular cycle must occur. */
const IRREGULAR_MARGIN = 2;

/** Looks at one unit after the other. Its state is the last 24 units; the work for a unit does not grow. */
export class RepetitionDetector {
  readonly #threshold: number;
  readonly #window: Unit[] = [];
  /** How often each text of the window occurs in it. */
  readonly #occurrences = new Map<string, number>();
  /** For each block size n: how many of the latest units equal the unit n places before them. */
  readonly #matches: number[] = new Array<number>(LONGEST_BLOCK + 1).fill(0);
  #substantialRun = 0;

  constructor(threshold: number) {
    this.#threshold = threshold;
  }

  /** Takes the next completed sentence or line; returns what it completes. A blank one is no unit. */
  push(raw: string): Finding | undefined {
    const unit = unitOf(raw);
    if (unit === undefined) return undefined;
    this.#countMatches(unit);
    this.#remember(unit);
    return this.#consecutive() ?? this.#irregular(unit);
  }

  /** Forgets everything. */
  reset(): void {
    this.#window.length = 0;
    this.#occurrences.clear();
    this.#matches.fill(0);
    this.#substantialRun = 0;
  }

  #countMatches(unit: Unit): void {
    for (let n = 1; n <= LONGEST_BLOCK; n += 1) {
      this.#matches[n] = this.#window.at(-n)?.text === unit.text ? (this.#matches[n] as number) + 1 : 0;
    }
    this.#substantialRun = unit.substantial ? this.#substantialRun + 1 : 0;
  }

  #remember(unit: Unit): void {
    this.#window.push(unit);
    this.#occurrences.set(unit.text, this.#occurrencesOf(unit) + 1);
    if (this.#window.length <= WINDOW) return;
    const oldest = this.#window.shift() as Unit;
    const left = this.#occurrencesOf(oldest) - 1;
    if (left === 0) this.#occurrences.delete(oldest.text);
    else this.#occurrences.set(oldest.text, left);
  }

  #occurrencesOf(unit: Unit): number {
    return this.#occurrences.get(unit.text) ?? 0;
  }

  #consecutive(): Finding | undefined {
    for (let n = 1; n <= LONGEST_BLOCK; n += 1) {
      const equalBlocks = (this.#matches[n] as number) >= (this.#threshold - 1) * n;
      // The blocks are equal, so one substantial block means that all are.
      if (equalBlocks && this.#substantialRun >= n)
        return { kind: "consecutive", blockSize: n, repeats: this.#threshold };
    }
    return undefined;
  }

  #irregular(latest: Unit): Finding | undefined {
    const distinct = this.#occurrences.size;
    if (this.#window.length < WINDOW || distinct > MOST_DISTINCT || this.#occurrencesOf(latest) < 2) return undefined;
    const repeating = this.#window.filter((unit) => this.#occurrencesOf(unit) >= 2).length;
    const repeats = Math.max(
      0,
      ...this.#window.filter((unit) => unit.substantial).map((unit) => this.#occurrencesOf(unit)),
    );
    if (repeating < LEAST_REPEATING || repeats < this.#threshold + IRREGULAR_MARGIN) return undefined;
    return { kind: "irregular", distinct, repeats };
  }
}
