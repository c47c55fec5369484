import { describe, expect, test } from "bun:test";
import { RepetitionDetector, type Finding } from "../../src/detectors/repetition.ts";
import { unitOf } from "../../src/detectors/unit.ts";

/** Feeds the units; returns the first finding and the number of the unit that completed it. */
function watch(units: readonly string[], threshold = 3): { at: number; finding: Finding } | undefined {
  const detector = new RepetitionDetector(threshold);
  for (const [index, unit] of units.entries()) {
    const finding = detector.push(unit);
    if (finding !== undefined) return { at: index + 1, finding };
  }
  return undefined;
}

function sentence(index: number): string {
  return `This is sentence number ${index}.`;
}

/** `count` different sentences, from number `first` on. */
function different(count: number, first = 0): string[] {
  return Array.from({ length: count }, (_unused, index) => sentence(first + index));
}

/** One sentence for each letter. */
function spelt(letters: string): string[] {
  return [...letters].map((letter) => sentence(letter.charCodeAt(0)));
}

function times(count: number, units: readonly string[]): string[] {
  return Array.from({ length: count }, () => units).flat();
}

describe("equal blocks in a row", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])("[INF-21] a strict cycle of %i is found at unit 3n", (n) => {
    expect(watch(times(5, different(n)))).toEqual({
      at: 3 * n,
      finding: { kind: "consecutive", blockSize: n, repeats: 3 },
    });
    expect(watch([...different(5, 100), ...times(5, different(n))])?.at).toBe(5 + 3 * n);
  });

  test.each([3, 4, 5, 10])("[INF-36] streamThreshold %i moves the trigger", (threshold) => {
    expect(watch(times(20, different(2)), threshold)).toEqual({
      at: 2 * threshold,
      finding: { kind: "consecutive", blockSize: 2, repeats: threshold },
    });
  });

  test("[INF-21] two equal blocks are no loop", () => {
    expect(watch([...times(2, different(3)), ...different(3, 50)])).toBeUndefined();
  });

  test("[INF-21] case and white space do not count, punctuation does", () => {
    expect(watch(["I check the status.", "i CHECK  the\u00a0status.", " I check\tthe status. "])?.at).toBe(3);
    expect(watch(["I check the status.", "I check the status!", "I check the status"])).toBeUndefined();
    expect(watch(["Ich pr\u00fcfe das jetzt.", "Ich pru\u0308fe das jetzt.", "ICH PR\u00dcFE DAS JETZT."])?.at).toBe(3);
  });

  test("[INF-21] a short unit stays in the sequence and spoils a block", () => {
    expect(watch(times(9, ["Let me check the logs.", "OK."]))).toBeUndefined();
    expect(watch([sentence(1), "OK.", sentence(1), sentence(1)])).toBeUndefined();
  });

  test("[INF-21] blank lines are no units", () => {
    expect(watch(times(3, [sentence(1), "", "  "]))?.finding.kind).toBe("consecutive");
  });

  test("[INF-23] short meaningful status sentences are found, short repeated words never", () => {
    expect(watch(times(3, ["Ich r\u00e4ume auf."]))?.at).toBe(3);
    for (const word of [
      "Ja.",
      "done done",
      "- [ ] done",
      "ok go now",
      "Wait... wait!",
      "| string | required |",
      "a b c d e f",
    ]) {
      expect(watch(times(40, [word]))).toBeUndefined();
    }
  });

  test("[INF-41] a strict cycle of nine escapes while each unit is rare in the window", () => {
    expect(watch(times(20, different(9)))).toBeUndefined();
  });
});

describe("a substantial unit", () => {
  test.each([
    ["abc def ghij", true],
    ["abc def ghi", false],
    ["abcdefghi jk", false],
    ["abc -- defghi", false],
    ["1 2 3 4 5 6 7", true],
    ["\u{1F389}\u{1F389}\u{1F389} a b c", false],
    ["\u{1F389}\u{1F389}\u{1F389}\u{1F389}\u{1F389}\u{1F389} a b c", true],
  ])("[INF-21] %p: %p", (text, substantial) => {
    expect(unitOf(text)?.substantial).toBe(substantial);
  });
});

describe("irregular cycles", () => {
  const order = "abacdabedcfbagecdafbgdce";

  test("[INF-24] a full window of few sentences in changing order is found at its end", () => {
    const found = watch(spelt(order));
    expect(found).toEqual({ at: 24, finding: { kind: "irregular", distinct: 7, repeats: 5 } });
  });

  test("[INF-24] a window that is not full is not judged", () => {
    expect(watch(spelt(order.slice(0, 23)))).toBeUndefined();
  });

  test("[INF-24] the latest unit must be one that repeats", () => {
    const units = spelt(order.slice(0, 23));
    expect(watch([...units, sentence(1)])).toBeUndefined();
    expect(watch([...units, sentence(1), sentence(98)])?.at).toBe(25);
  });

  test("[INF-24] one substantial unit must occur streamThreshold + 2 times", () => {
    const units = spelt(order);
    expect(watch(units, 4)).toBeUndefined();
    const short = [...order].map((letter) =>
      letter === "a" ? "Ok then." : letter === "b" ? "Go on." : sentence(letter.charCodeAt(0)),
    );
    expect(watch(short)).toBeUndefined();
  });

  test.each([
    [6, "abacdabedcfabecdaf", true],
    [7, "abacdabedcabecdae", false],
  ])("[INF-24] at least 18 of the 24 belong to repeated units: with %i others", (single, letters, found) => {
    expect(watch([...different(single, 500), ...spelt(letters)]) !== undefined).toBe(found);
  });

  test.each([
    [3, "abcadeafghiabcdaefghi", 12],
    [5, "abcadeafghabcdaefgh", 13],
  ])("[INF-24] at most 12 are distinct: %i others and %p have %i", (single, letters, distinct) => {
    expect(single + new Set(letters).size).toBe(distinct);
    expect(watch([...different(single, 500), ...spelt(letters)]) !== undefined).toBe(distinct === 12);
  });

  test("[INF-24] what left the window no longer counts", () => {
    const units = spelt(order);
    expect(watch([...units.slice(0, 23), ...different(30, 300), ...units.slice(0, 10)])).toBeUndefined();
  });
});
