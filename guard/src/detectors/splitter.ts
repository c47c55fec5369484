/** Cuts a stream of Markdown into sentences and lines, one character at a time. */

import { classOf, LINE_BREAK, SPACE } from "./characters.ts";
import { SentenceEnd } from "./sentence-end.ts";

/** Takes one finished sentence or line, as it was written. */
export type Emit = (raw: string) => void;

/** Where in a line the next character stands. */
const LINE_START = 0; // only white space and list markers so far
const FENCE_RUN = 1; // inside the row of ` or ~ that opens or closes a fence, if it gets long enough
const TEXT = 2; // ordinary text; also the info text of a line that may still open a fence
const SKIPPED = 3; // a blockquote, or code that can't close its fence
const CLOSING = 4; // after a row that closes the fence, if only white space follows

const BACKTICK = 0x60;
const TILDE = 0x7e;
const QUOTE = 0x3e;
const LEAST_FENCE = 3;
/** After one, a line begins anew: a fence or a quote may follow. */
const LIST_MARKER = /^(?:[-*+]|\d{1,9}[.)])$/;

/**
 * Emits each sentence and line once it is complete, and never the unfinished end of the text.
 * Fenced code and blockquotes are left out. The cuts depend on the text alone, not on how it was split into chunks,
 * and the work for one character does not grow with the text.
 */
export class SentenceSplitter {
  readonly #emit: Emit;
  readonly #end = new SentenceEnd();
  #position = LINE_START;
  #sentence = "";
  /** Where the first word of the line, or the one after its list markers, starts in the sentence; no number later on. */
  #firstWord: number | undefined = 0;
  /** The fence that is open: its mark and the length of its row; 0 when none is. */
  #fenceMark = 0;
  #fenceLength = 0;
  /** The row of marks at the start of this line. */
  #runMark = 0;
  #runLength = 0;
  /** Sentences of a line that may still turn out to open a fence. */
  #held: string[] | undefined;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  /** Takes the next piece of the text. */
  feed(text: string): void {
    let index = 0;
    while (index < text.length) {
      index = this.#position === TEXT ? this.#text(text, index) : this.#outsideText(text, index);
    }
  }

  /** Ends the line and any open fence: what follows is another part. */
  endPart(): void {
    this.#endLine();
    this.#fenceLength = 0;
  }

  /** Forgets the words so far, and not where they stand: an open fence stays open, a quote a quote. */
  forget(): void {
    if (this.#held !== undefined) this.#held = [];
    this.#startSentence();
    if (this.#position === LINE_START) this.#firstWord = 0;
  }

  /** Forgets everything. */
  reset(): void {
    this.#fenceLength = 0;
    this.#startLine();
  }

  /** Reads text up to the next end, or as far as it goes; returns where to go on. */
  #text(text: string, from: number): number {
    for (let index = from; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code === BACKTICK && this.#held !== undefined && this.#runMark === BACKTICK) this.#isNoFence();
      const kind = classOf(code);
      if (kind === SPACE && this.#firstWord !== undefined && this.#isListMarker(text.slice(from, index))) {
        return index + 1;
      }
      if (kind !== LINE_BREAK && !this.#end.endsAt(kind)) continue;
      this.#sentence += text.slice(from, index);
      if (kind === LINE_BREAK) this.#endLine();
      else this.#endSentence();
      return index + 1;
    }
    this.#sentence += text.slice(from);
    return text.length;
  }

  /** Ends the first word of a line with `rest`. True when it is a list marker: then the line begins anew. */
  #isListMarker(rest: string): boolean {
    const word = this.#sentence.slice(this.#firstWord) + rest;
    this.#firstWord = undefined;
    if (!LIST_MARKER.test(word)) return false;
    this.#sentence += `${rest} `;
    this.#firstWord = this.#sentence.length;
    this.#end.reset();
    this.#position = LINE_START;
    return true;
  }

  /** Takes one character outside ordinary text; returns where to go on. */
  #outsideText(text: string, index: number): number {
    const code = text.charCodeAt(index);
    const kind = classOf(code);
    if (kind === LINE_BREAK) this.#endLine();
    else if (this.#position === LINE_START) return kind === SPACE ? index + 1 : this.#firstCharacter(code, index);
    else if (this.#position === FENCE_RUN) return this.#inRun(code, index);
    else if (this.#position === CLOSING && kind !== SPACE) this.#position = SKIPPED;
    return index + 1;
  }

  #firstCharacter(code: number, index: number): number {
    const mayBeFence = this.#fenceLength > 0 ? code === this.#fenceMark : code === BACKTICK || code === TILDE;
    if (mayBeFence) {
      this.#runMark = code;
      this.#position = FENCE_RUN;
    } else {
      this.#position = this.#fenceLength > 0 || code === QUOTE ? SKIPPED : TEXT;
    }
    return index;
  }

  #inRun(code: number, index: number): number {
    if (code === this.#runMark) {
      this.#runLength += 1;
      return index + 1;
    }
    if (this.#fenceLength > 0) {
      this.#position = this.#runLength >= this.#fenceLength ? CLOSING : SKIPPED;
      return index;
    }
    this.#position = TEXT;
    this.#text(this.#row(), 0);
    if (this.#runLength >= LEAST_FENCE) this.#held = [];
    return index;
  }

  /** The row of marks as text. */
  #row(): string {
    return String.fromCharCode(this.#runMark).repeat(this.#runLength);
  }

  #endSentence(): void {
    if (this.#held === undefined) this.#emit(this.#sentence);
    else this.#held.push(this.#sentence);
    this.#startSentence();
  }

  /** The line went on with a backtick after its row of backticks: inline code, as CommonMark reads it. */
  #isNoFence(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const sentence of held) this.#emit(sentence);
  }

  #endLine(): void {
    if (this.#fenceLength > 0) this.#endCodeLine();
    else if (this.#held !== undefined || (this.#position === FENCE_RUN && this.#runLength >= LEAST_FENCE))
      this.#openFence();
    else if (this.#position === FENCE_RUN) this.#emit(this.#sentence + this.#row());
    else if (this.#position === TEXT || this.#position === LINE_START) this.#emit(this.#sentence);
    this.#startLine();
  }

  #endCodeLine(): void {
    const closes = this.#position === CLOSING || (this.#position === FENCE_RUN && this.#runLength >= this.#fenceLength);
    if (closes) this.#fenceLength = 0;
  }

  #openFence(): void {
    this.#fenceMark = this.#runMark;
    this.#fenceLength = this.#runLength;
  }

  #startLine(): void {
    this.#position = LINE_START;
    this.#runMark = 0;
    this.#runLength = 0;
    this.#held = undefined;
    this.#startSentence();
    this.#firstWord = 0;
  }

  #startSentence(): void {
    this.#sentence = "";
    this.#firstWord = undefined;
    this.#end.reset();
  }
}
