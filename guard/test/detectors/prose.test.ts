import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MessageProse } from "../../src/detectors/prose.ts";

const LOOP = "Let me check the logs. ";

function prose(): MessageProse {
  return new MessageProse(3);
}

describe("snapshots and deltas", () => {
  test("[INF-26] deltas append", () => {
    const message = prose();
    message.snapshot("p", "");
    expect(message.delta("p", LOOP)).toBeUndefined();
    expect(message.delta("p", LOOP)).toBeUndefined();
    expect(message.delta("p", LOOP)).toEqual({ kind: "consecutive", blockSize: 1, repeats: 3 });
  });

  test("[INF-26] a snapshot delivered twice is not repeated prose", () => {
    const message = prose();
    for (let i = 0; i < 5; i += 1) expect(message.snapshot("p", LOOP + LOOP)).toBeUndefined();
    expect(message.delta("p", LOOP)).toBeDefined();
  });

  test("[INF-26] growing snapshots are read as they grow", () => {
    const message = prose();
    const verdicts = [1, 2, 3].map((count) => message.snapshot("p", LOOP.repeat(count)) !== undefined);
    expect(verdicts).toEqual([false, false, true]);
  });

  test("[INF-26] another snapshot replaces what was known", () => {
    const message = prose();
    message.snapshot("p", LOOP + LOOP);
    expect(message.snapshot("p", "Something else now. ")).toBeUndefined();
    expect(message.delta("p", LOOP + LOOP)).toBeUndefined();
    expect(message.snapshot("p", LOOP.repeat(3))).toBeDefined();
  });

  test("[INF-27] deltas of a part that no text snapshot began are left out", () => {
    expect(prose().delta("reasoning", LOOP.repeat(9))).toBeUndefined();
  });

  test("[INF-25] the text parts count in order, each on its own line", () => {
    const message = prose();
    message.snapshot("a", LOOP + "Let me check the logs.");
    message.snapshot("b", "Let me check the logs.");
    expect(message.snapshot("c", "")).toBeDefined();
  });

  test("[INF-26] a changed snapshot of an earlier part reads the message again, in order", () => {
    const message = prose();
    message.snapshot("a", "Something else. ");
    message.snapshot("b", LOOP + LOOP);
    expect(message.snapshot("a", LOOP)).toEqual({ kind: "consecutive", blockSize: 1, repeats: 3 });
  });
});

describe("starting empty", () => {
  test("[INF-25] what was said before no longer counts, in a late snapshot neither", () => {
    const message = prose();
    message.snapshot("p", "");
    message.delta("p", LOOP + LOOP);
    message.clear();
    expect(message.snapshot("p", LOOP + LOOP)).toBeUndefined();
    expect(message.delta("p", LOOP + LOOP)).toBeUndefined();
    expect(message.delta("p", LOOP)).toBeDefined();
  });

  test("[INF-25] a rewritten snapshot does not bring it back", () => {
    const message = prose();
    message.snapshot("p", LOOP + LOOP);
    message.clear();
    expect(message.snapshot("p", (LOOP + LOOP).trimEnd())).toBeUndefined();
    expect(message.delta("p", "\n" + LOOP + LOOP)).toBeUndefined();
  });

  const FENCED = "```\n" + "let me = check(logs);\n".repeat(2);

  test("[INF-27] code stays code when the prose starts empty in the middle of it", () => {
    const message = prose();
    message.snapshot("p", FENCED);
    message.clear();
    expect(message.delta("p", "let me = check(logs);\n".repeat(9) + "```\n" + LOOP + LOOP)).toBeUndefined();
    expect(message.delta("p", LOOP)).toBeDefined();
  });

  test("[INF-27] a list marker at the start of the line still is one", () => {
    const message = prose();
    message.snapshot("p", "Like this:\n");
    message.clear();
    expect(message.delta("p", "- ```\n" + LOOP.repeat(9) + "\n  ```\n" + LOOP + LOOP)).toBeUndefined();
    expect(message.delta("p", LOOP)).toBeDefined();
  });

  test("[INF-27] a quote stays a quote", () => {
    const message = prose();
    message.snapshot("p", "> ");
    message.clear();
    expect(message.delta("p", LOOP.repeat(9) + "\n")).toBeUndefined();
  });

  test("[INF-27] a rewritten snapshot is read from its start for the fences in it, and counts from there on", () => {
    const message = prose();
    message.snapshot("p", LOOP + LOOP + "\n" + FENCED);
    message.clear();
    expect(message.snapshot("p", `${LOOP}${LOOP}\n${FENCED}`.trimEnd())).toBeUndefined();
    expect(message.delta("p", "\n" + "let me = check(logs);\n".repeat(9) + "```\n" + LOOP + LOOP)).toBeUndefined();
    expect(message.delta("p", LOOP)).toBeDefined();
  });

  test("a closed message is left out", () => {
    const message = prose();
    message.snapshot("p", "");
    message.close();
    expect(message.delta("p", LOOP.repeat(9))).toBeUndefined();
    expect(message.snapshot("p", LOOP.repeat(9))).toBeUndefined();
  });
});

describe("bounds", () => {
  const filler = (length: number): string => "x".repeat(length - 1) + "\n";

  test("[INF-38] 65,536 characters are watched, one more leaves the message out", () => {
    const room = 65_536 - 3 * LOOP.length;
    const full = prose();
    full.snapshot("p", filler(room));
    expect(full.delta("p", LOOP.repeat(3))).toBeDefined();
    const over = prose();
    over.snapshot("p", filler(room + 1));
    expect(over.delta("p", LOOP.repeat(3))).toBeUndefined();
    expect(over.snapshot("q", LOOP.repeat(3))).toBeUndefined();
  });

  test("[INF-38] the characters of all parts count", () => {
    const message = prose();
    message.snapshot("a", filler(40_000));
    message.snapshot("b", filler(40_000));
    expect(message.snapshot("c", LOOP.repeat(3))).toBeUndefined();
  });

  test("[INF-38] 32 text parts are watched, one more leaves the message out", () => {
    for (const [parts, watched] of [
      [32, true],
      [33, false],
    ] as const) {
      const message = prose();
      for (let i = 0; i < parts; i += 1) message.snapshot(`p${i}`, "");
      expect(message.delta(`p${parts - 1}`, LOOP.repeat(3)) !== undefined).toBe(watched);
    }
  });
});

describe("chunking", () => {
  const sentences = fc.constantFrom(
    "Let me check the logs. ",
    "Ich aktualisiere die .env. ",
    "Ich pr\u00fcfe README.md.\n",
    "The file is valid! ",
    "OK. ",
    "\u0413\u043e\u0442\u043e\u0432\u043e, \u0438\u0434\u0443 \u0434\u0430\u043b\u044c\u0448\u0435.\r\n",
    "\u{1F680} We are go now.\n",
    "```\ncode is here now\n```\n",
    "> quoted text is here\n",
    "Siehe z. B. das Protokoll. ",
  );
  const text = fc
    .array(sentences, { minLength: 1, maxLength: 5 })
    .chain((block) =>
      fc.tuple(fc.array(sentences, { maxLength: 6 }), fc.constant(block), fc.integer({ min: 1, max: 5 })),
    )
    .map(([before, block, repeats]) => before.join("") + block.join("").repeat(repeats));

  /** Characters of the text up to the one that completed the finding; 0 without one. */
  function foundAt(whole: string, cuts: readonly number[], snapshots: boolean): number {
    const message = prose();
    message.snapshot("p", "");
    let from = 0;
    for (const to of cuts) {
      const chunk = whole.slice(from, to);
      from = to;
      if ((snapshots ? message.snapshot("p", whole.slice(0, to)) : message.delta("p", chunk)) !== undefined) return to;
    }
    return 0;
  }

  test("[INF-26] any chunking gives the same verdict at the same unit", () => {
    let found = 0;
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 50 }), fc.boolean(), (whole, size, snapshots) => {
        const single = Array.from({ length: whole.length }, (_unused, index) => index + 1);
        const exact = foundAt(whole, single, false);
        if (exact > 0) found += 1;
        const cuts = single.filter((at) => at % size === 0 || at === whole.length);
        expect(foundAt(whole, cuts, snapshots)).toBe(exact === 0 ? 0 : (cuts.find((at) => at >= exact) ?? -1));
      }),
      { numRuns: 500 },
    );
    expect(found).toBeGreaterThan(50);
  });

  test("[INF-26] CRLF gives the same verdict as LF, at the same unit", () => {
    let found = 0;
    const everyCharacter = (whole: string): number[] => Array.from({ length: whole.length }, (_unused, at) => at + 1);
    fc.assert(
      fc.property(text, (mixed) => {
        const unix = mixed.replaceAll("\r\n", "\n");
        const windows = unix.replaceAll("\n", "\r\n");
        const exact = foundAt(unix, everyCharacter(unix), false);
        if (exact > 0) found += 1;
        // The line break that ends the unit is the LF of the one, and already the CR of the other.
        const breaksBefore = unix.slice(0, Math.max(exact - 1, 0)).split("\n").length - 1;
        expect(foundAt(windows, everyCharacter(windows), false)).toBe(exact + breaksBefore);
      }),
      { numRuns: 500 },
    );
    expect(found).toBeGreaterThan(50);
  });

  test("[INF-26] [INF-27] nor do they, or a rewritten snapshot, where the prose starts empty in the middle", () => {
    const markdown = fc
      .array(fc.oneof(sentences, fc.constantFrom("- ", "1. ", "```", "```\n", "~~~\n", "> ", "\n", "x")), {
        maxLength: 30,
      })
      .map((pieces) => pieces.join(""));
    let found = 0;
    fc.assert(
      fc.property(markdown, markdown, text, fc.integer({ min: 1, max: 9 }), (before, next, last, size) => {
        const after = next + last;
        const verdicts = [1, size, Infinity].map((step) => {
          const message = prose();
          message.snapshot("p", "");
          message.snapshot("p", before);
          message.clear();
          if (step === Infinity) for (const rewritten of ["Something else. ", before]) message.snapshot("p", rewritten);
          let verdict = false;
          for (let at = 0; at < after.length; at += step) {
            verdict = message.delta("p", after.slice(at, at + step)) !== undefined || verdict;
          }
          return verdict;
        });
        if (verdicts[0]) found += 1;
        expect(new Set(verdicts).size).toBe(1);
      }),
      { numRuns: 1000 },
    );
    expect(found).toBeGreaterThan(50);
  });
});
