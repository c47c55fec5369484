import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SentenceSplitter } from "../../src/detectors/splitter.ts";

/** The completed sentences and lines of a text, trimmed, without blank ones. */
function cut(...chunks: string[]): string[] {
  const sentences: string[] = [];
  const splitter = new SentenceSplitter((raw) => sentences.push(raw));
  for (const chunk of chunks) splitter.feed(chunk);
  return sentences.map((sentence) => sentence.trim()).filter(Boolean);
}

describe("where a unit ends", () => {
  test.each([
    ["One is done. Two is done! Three? Four\u2026 ", ["One is done.", "Two is done!", "Three?", "Four\u2026"]],
    ["One line\nAnother\r\nA third\rA fourth\n", ["One line", "Another", "A third", "A fourth"]],
    [
      "He said \u201eFertig.\u201c Then (all is well.) And [so on!] Next \u00bbNun?\u00ab ",
      ["He said \u201eFertig.\u201c", "Then (all is well.)", "And [so on!]", "Next \u00bbNun?\u00ab"],
    ],
    ["What?! Wait... Go!!! ", ["What?!", "Wait...", "Go!!!"]],
    [
      "\u0413\u043e\u0442\u043e\u0432\u043e. \u0414\u0430\u043b\u044c\u0448\u0435.\t",
      ["\u0413\u043e\u0442\u043e\u0432\u043e.", "\u0414\u0430\u043b\u044c\u0448\u0435."],
    ],
  ])("[INF-21] %p", (text, sentences) => {
    expect(cut(text)).toEqual(sentences);
  });

  test("[INF-21] the end of the text so far is no end", () => {
    expect(cut("One is done. Two is done.")).toEqual(["One is done."]);
    expect(cut("One is done. Two is done.", " ")).toEqual(["One is done.", "Two is done."]);
    expect(cut("One line")).toEqual([]);
  });

  test.each([
    "Ich aktualisiere die .env jetzt. ",
    "Ich aktualisiere README.md. ",
    "See https://example.org/a.b?c=d for v1.18.33. ",
    "Siehe z. B. das Protokoll. ",
    "Siehe z.B. das Protokoll. ",
    "Ask J. Smith about it. ",
    "e.g. this one, i.e. that. ",
    "1. Pr\u00fcfe den Status. ",
    "- Pr\u00fcfe den Status. ",
    "**2. Check the status. ",
    "Take cafe\u0301.txt now. ",
  ])("[INF-22] one unit: %p", (text) => {
    expect(cut(text)).toEqual([text.trim()]);
  });

  test.each([
    ["Ich aktualisiere die .env. Ich aktualisiere die .env. ", 2],
    ["I can't. I won't. ", 2],
    ["Run src/a. Run src/b. ", 2],
    ["It is version 2. It works. ", 2],
    ["Use C++. Use C#. ", 2],
    ["Fertig \u{1F389}. Weiter. ", 2],
    ["Steps follow. 1. Do it. ", 2],
  ])("[INF-22] %p has %i", (text, count) => {
    expect(cut(text)).toHaveLength(count);
  });
});

describe("what is left out", () => {
  test.each([
    ["Before.\n```js\nlet a = 1. ;\n```\nAfter.\n", ["Before.", "After."]],
    ["~~~\ncode\n```\nstill code\n~~~\nAfter.\n", ["After."]],
    ["````\ncode\n```\nstill code\n````\nAfter.\n", ["After."]],
    ["```\ncode\n``` no end\ncode\n```   \nAfter.\n", ["After."]],
    ["1. Do this:\n   ```sh\n   ls\n   ```\n   After.\n", ["1. Do this:", "After."]],
    ["```sh\r\ncode\r\n```\r\nAfter.\r\n", ["After."]],
    ["- ```sh\n  code\n  ```\n  After.\n", ["After."]],
    ["1.  ~~~\n    code\n    ~~~\nAfter.\n", ["After."]],
    ["* 2) ```\n  code\n```\nAfter.\n", ["After."]],
    ["```\nnever closed\nOne. Two. ", []],
  ])("[INF-27] fenced code: %p", (text, sentences) => {
    expect(cut(text)).toEqual(sentences);
  });

  test.each([
    ["> quoted. text. \n  > more\nAfter.\n", ["After."]],
    ["a > b is true\n", ["a > b is true"]],
    ["- > quoted. text. \nAfter.\n", ["After."]],
  ])("[INF-27] blockquotes: %p", (text, sentences) => {
    expect(cut(text)).toEqual(sentences);
  });

  test.each([
    ["`code` is text. ``so`` is this.\n", ["`code` is text.", "``so`` is this."]],
    ["```inline. code``` is text. And more.\n", ["```inline.", "code``` is text.", "And more."]],
    ["~~gone~~ is text\n", ["~~gone~~ is text"]],
    ["``\n", ["``"]],
    ["- ``\n", ["- ``"]],
    ["-   `code` is text. And\n", ["- `code` is text.", "And"]],
    ["Run - ```code\nAfter.\n", ["Run - ```code", "After."]],
    ["- - -\n* \n12 ``` is text\n", ["- - -", "*", "12 ``` is text"]],
  ])("[INF-27] no fence: %p", (text, sentences) => {
    expect(cut(text)).toEqual(sentences);
  });
});

describe("parts", () => {
  test("[INF-25] another part begins on a line of its own, outside any fence", () => {
    const sentences: string[] = [];
    const splitter = new SentenceSplitter((raw) => sentences.push(raw));
    splitter.feed("A first part");
    splitter.endPart();
    splitter.feed("```\ncode\n");
    splitter.endPart();
    splitter.feed("A third part\n");
    expect(sentences).toEqual(["A first part", "A third part"]);
  });
});

test("[INF-26] the cuts do not depend on the chunks", () => {
  const piece = fc.constantFrom(
    ..."ab1.!?\u2026 \n\r`~>\"')]-*_\u00e9\u0301\ud83d\ude00\u4f60",
    "\r\n",
    "```",
    "~~~~",
    "> ",
    "README.md. ",
    "z. B. ",
    "- ",
    "1. ",
    "Ich pr\u00fcfe das jetzt. ",
    "```sh\nls\n```\n",
  );
  const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 9 }), (whole, size) => {
      const chunks: string[] = [];
      for (let at = 0; at < whole.length; at += size) chunks.push(whole.slice(at, at + size));
      expect(cut(...chunks)).toEqual(cut(whole));
    }),
    { numRuns: 1000 },
  );
});
