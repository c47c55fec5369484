/** A unit of prose: one completed sentence or line, in the form in which units are compared. */

/** `text` is the normalised form. A unit that is not substantial stands in the sequence but is no loop by itself. */
export interface Unit {
  readonly text: string;
  readonly substantial: boolean;
}

const LEAST_CODE_POINTS = 12;
const LEAST_TOKENS = 3;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

/** Returns the unit of a raw sentence or line; undefined when it is blank. */
export function unitOf(raw: string): Unit | undefined {
  const text = raw.normalize("NFC").toLowerCase().replace(/\s+/gu, " ").trim();
  return text === "" ? undefined : { text, substantial: isSubstantial(text) };
}

function isSubstantial(text: string): boolean {
  // Most units are far longer than the limit: the exact count is for the short ones.
  const longEnough = text.length >= 2 * LEAST_CODE_POINTS || [...text].length >= LEAST_CODE_POINTS;
  return longEnough && text.split(" ").filter((token) => LETTER_OR_DIGIT.test(token)).length >= LEAST_TOKENS;
}
