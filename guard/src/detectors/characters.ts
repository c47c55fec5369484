/** What a character means for the end of a sentence. */

/** Character classes; small numbers, because they are compared for every character of a stream. */
export const LETTER = 1;
/** Digits, symbols and every other character that is part of a word. */
export const WORD = 2;
/** Combining marks: part of the letter before them. */
export const MARK = 3;
export const SPACE = 4;
export const LINE_BREAK = 5;
export const DOT = 6;
/** `!`, `?` and the ellipsis. */
export const STOP = 7;
/** Quotes and brackets that may close a sentence after its end. */
export const CLOSER = 8;
/** Brackets and quotes that only open. */
export const OPENER = 9;

const NAMED: ReadonlyMap<string, number> = new Map([
  ...spread("\n\r\u2028\u2029", LINE_BREAK),
  ...spread(".", DOT),
  ...spread("!?\u2026", STOP),
  ...spread("\"')]}\u2019\u2018\u201d\u201c\u00bb\u00ab\u203a\u2039\uff09\u3011\u300d\u300f\u300b\u3009", CLOSER),
  ...spread("([{\u201e\u201a\uff08\u3010\u300c\u300e\u300a\u3008", OPENER),
]);

const ASCII: readonly number[] = Array.from({ length: 128 }, (_unused, code) => classify(String.fromCharCode(code)));

/**
 * Returns the class of one UTF-16 code unit.
 * Both halves of a surrogate pair are letters, so that a pair is never a single letter.
 */
export function classOf(code: number): number {
  if (code < 128) return ASCII[code] as number;
  if (code >= 0xd800 && code <= 0xdfff) return LETTER;
  return classify(String.fromCharCode(code));
}

function classify(character: string): number {
  const named = NAMED.get(character);
  if (named !== undefined) return named;
  if (/\p{L}/u.test(character)) return LETTER;
  if (/\s/u.test(character)) return SPACE;
  return /\p{M}/u.test(character) ? MARK : WORD;
}

function spread(characters: string, kind: number): [string, number][] {
  return [...characters].map((character) => [character, kind]);
}
