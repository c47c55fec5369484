/** Collects the prose of one assistant message from snapshots and deltas, and watches it for repetition. */

import { RepetitionDetector, type Finding } from "./repetition.ts";
import { SentenceSplitter } from "./splitter.ts";

/** Bounds of a message. Beyond them it is left out from then on: a cut text could lose the start of a code fence. */
const MOST_PARTS = 32;
const MOST_CHARACTERS = 65_536;

interface TextPart {
  text: string;
  /** Where the prose starts that still counts. */
  from: number;
}

/** The text parts of one message, in the order in which they began. */
export class MessageProse {
  readonly #detector: RepetitionDetector;
  readonly #splitter: SentenceSplitter;
  readonly #parts = new Map<string, TextPart>();
  #latest: TextPart | undefined;
  #characters = 0;
  #leftOut = false;
  #skipping = false;
  #finding: Finding | undefined;

  constructor(threshold: number) {
    this.#detector = new RepetitionDetector(threshold);
    this.#splitter = new SentenceSplitter((raw) => {
      if (!this.#skipping) this.#finding ??= this.#detector.push(raw);
    });
  }

  /** Takes the whole text of a part, which replaces what was known of it. */
  snapshot(id: string, text: string): Finding | undefined {
    if (this.#leftOut) return undefined;
    const part = this.#parts.get(id) ?? this.#begin(id);
    if (part === this.#latest && text.startsWith(part.text)) return this.#append(part, text.slice(part.text.length));
    if (part.text === text) return undefined;
    this.#characters += text.length - part.text.length;
    part.text = text;
    return this.#readAgain();
  }

  /** Takes more text of a part that a snapshot has begun. Others are unknown, reasoning for example, and left out. */
  delta(id: string, text: string): Finding | undefined {
    const part = this.#parts.get(id);
    return part === undefined ? undefined : this.#append(part, text);
  }

  /** Starts the prose empty: what was said so far no longer counts. Code and quotes go on where they are. */
  clear(): void {
    for (const part of this.#parts.values()) part.from = part.text.length;
    this.#forgetUnits();
  }

  /** Leaves the message out from now on. */
  close(): void {
    this.#leftOut = true;
    this.#parts.clear();
    this.#latest = undefined;
    this.#forgetUnits();
  }

  #begin(id: string): TextPart {
    const part = { text: "", from: 0 };
    this.#parts.set(id, part);
    this.#turnTo(part);
    return part;
  }

  #append(part: TextPart, text: string): Finding | undefined {
    this.#characters += text.length;
    if (!this.#withinBounds()) return undefined;
    part.text += text;
    this.#turnTo(part);
    this.#splitter.feed(text);
    return this.#taken();
  }

  #readAgain(): Finding | undefined {
    if (!this.#withinBounds()) return undefined;
    this.#splitter.reset();
    this.#forgetUnits();
    for (const part of this.#parts.values()) {
      this.#turnTo(part);
      this.#skip(part.text.slice(0, part.from));
      this.#splitter.feed(part.text.slice(part.from));
    }
    return this.#taken();
  }

  /** Reads what no longer counts for the sake of the fences in it. */
  #skip(text: string): void {
    if (text === "") return;
    this.#skipping = true;
    this.#splitter.feed(text);
    this.#splitter.forget();
    this.#skipping = false;
  }

  #withinBounds(): boolean {
    if (this.#parts.size > MOST_PARTS || this.#characters > MOST_CHARACTERS) this.close();
    return !this.#leftOut;
  }

  /** Another part begins on a line of its own. */
  #turnTo(part: TextPart): void {
    if (this.#latest !== undefined && part !== this.#latest) this.#splitter.endPart();
    this.#latest = part;
  }

  #forgetUnits(): void {
    this.#splitter.forget();
    this.#detector.reset();
    this.#finding = undefined;
  }

  #taken(): Finding | undefined {
    const finding = this.#finding;
    this.#finding = undefined;
    return finding;
  }
}
