import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CallCounter } from "../../src/detectors/call-counter.ts";

const LIMITS = { threshold: 3, windowMs: 60_000 };

/** Admits the keys one after the other at the same time; true for each that was blocked. */
function blocks(counter: CallCounter, keys: string, now = 0): boolean[] {
  return [...keys].map((key) => counter.admit(key, "bash", now).blocked);
}

describe("CallCounter", () => {
  test("[INF-01] [INF-02] the first and second run, the third is blocked", () => {
    const counter = new CallCounter(LIMITS);
    expect([0, 1, 2].map((now) => counter.admit("A", "bash", now))).toEqual([
      { blocked: false, count: 1 },
      { blocked: false, count: 2 },
      { blocked: true, count: 3 },
    ]);
  });

  test("[INF-04] A, A, A(blocked), B, B, B(blocked), C", () => {
    expect(blocks(new CallCounter(LIMITS), "AAABBBC")).toEqual([false, false, true, false, false, true, false]);
  });

  test("[INF-01] the window slides: a run counts up to windowMs and no longer", () => {
    const counter = new CallCounter(LIMITS);
    expect([0, 30_000, 60_001, 90_000].map((now) => counter.admit("A", "bash", now).blocked)).toEqual([
      false,
      false,
      false,
      true,
    ]);
    const edge = new CallCounter(LIMITS);
    expect([0, 1, 60_000].map((now) => edge.admit("A", "bash", now).blocked)).toEqual([false, false, true]);
  });

  test("[INF-05] a block outlives the window", () => {
    const counter = new CallCounter(LIMITS);
    blocks(counter, "AAA");
    expect(counter.admit("A", "bash", 10 * LIMITS.windowMs).blocked).toBe(true);
    expect(counter.inspect("A", 10 * LIMITS.windowMs)).toEqual({
      count: 0,
      blocked: true,
      authorised: false,
      known: true,
    });
  });

  test("[INF-05] no number of other calls frees a block", () => {
    const counter = new CallCounter(LIMITS);
    blocks(counter, "AAA");
    for (let i = 0; i < 10_000; i += 1) counter.admit(`other ${i}`, "read", 0);
    expect(counter.admit("A", "bash", 0).blocked).toBe(true);
  });

  test.each([2, 3, 7])("[INF-14] threshold %i blocks exactly that call", (threshold) => {
    const counter = new CallCounter({ ...LIMITS, threshold });
    const verdicts = blocks(counter, "A".repeat(threshold + 2));
    expect(verdicts.indexOf(true)).toBe(threshold - 1);
    expect(verdicts.slice(threshold - 1)).toEqual([true, true, true]);
  });

  test("[INF-03] what happens to one key never depends on the others", () => {
    const call = fc.record({ key: fc.constantFrom("A", "B", "C"), wait: fc.integer({ min: 0, max: 40_000 }) });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 40 }), (calls) => {
        const together = new CallCounter(LIMITS);
        const apart = new Map(["A", "B", "C"].map((key) => [key, new CallCounter(LIMITS)]));
        let now = 0;
        for (const { key, wait } of calls) {
          now += wait;
          expect(together.admit(key, "t", now)).toEqual(apart.get(key)!.admit(key, "t", now));
        }
      }),
    );
  });

  test("[INF-52] an authorised key starts at 1 again, and only that key", () => {
    const counter = new CallCounter(LIMITS);
    blocks(counter, "AAABBB");
    counter.authorise("A");
    expect(blocks(counter, "CBAAAB")).toEqual([false, true, false, false, true, true]);
  });

  test("[INF-52] two authorisations before a run are one", () => {
    const counter = new CallCounter(LIMITS);
    counter.authorise("A");
    counter.authorise("A");
    expect(blocks(counter, "AAAA")).toEqual([false, false, true, true]);
  });

  test("[INF-54] abandoning takes the authorisation of the call rejected last", () => {
    const counter = new CallCounter(LIMITS);
    expect(counter.abandonLastBlocked()).toBeUndefined();
    blocks(counter, "AAABBBA");
    counter.authorise("A");
    counter.authorise("B");
    expect(counter.abandonLastBlocked()).toBe("bash");
    expect(blocks(counter, "AB")).toEqual([true, false]);
  });

  test("[INF-50] inspecting changes nothing", () => {
    const counter = new CallCounter(LIMITS);
    for (let i = 0; i < 5; i += 1) counter.inspect("A", 0);
    expect(counter.inspect("A", 0)).toEqual({ count: 0, blocked: false, authorised: false, known: false });
    expect(blocks(counter, "AAA")).toEqual([false, false, true]);
  });
});
