import { describe, expect, test } from "bun:test";
import { MessageProse } from "../../src/detectors/prose.ts";

function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_unused, index) => `${line(index)}\n`).join("");
}

/** True when the text, streamed in chunks of seven characters, is taken for a loop. */
function loops(text: string): boolean {
  const message = new MessageProse(3);
  message.snapshot("p", "");
  for (let at = 0; at < text.length; at += 7) {
    if (message.delta("p", text.slice(at, at + 7)) !== undefined) return true;
  }
  return false;
}

const STANZA = (n: number): string =>
  `The river number ${n} ran down\nPast the mill of town ${n}\nUnder bridge and stone ${n}\nAnd the water sings along\n\n`;

const LANGUAGES = [
  (n: number) => `Step ${n} reads the file, changes line ${n * 3} and runs the tests again.`,
  (n: number) =>
    `Schritt ${n} liest die Datei, \u00e4ndert Zeile ${n * 3} und startet die Tests. Danach folgt z. B. Schritt ${n + 1}.`,
  (n: number) =>
    `El paso ${n} lee el archivo, cambia la l\u00ednea ${n * 3} y repite las pruebas. \u00bfSigue el paso ${n + 1}?`,
  (n: number) =>
    `\u0428\u0430\u0433 ${n} \u0447\u0438\u0442\u0430\u0435\u0442 \u0444\u0430\u0439\u043b \u0438 \u043c\u0435\u043d\u044f\u0435\u0442 \u0441\u0442\u0440\u043e\u043a\u0443 ${n * 3}.`,
];

describe("[INF-21] [INF-24] healthy text is no loop, and is one with a repetition past the threshold", () => {
  test.each([
    [
      "names with one prefix",
      lines(20, (n) => `projects/demo/locations/europe-west1/clusters/main/nodePools/pool-${n}`),
    ],
    [
      "a table with equal cells",
      "| name | type | needed |\n|---|---|---|\n" + lines(33, (n) => `| field_${n} | string | required |`),
    ],
    [
      "headings and bullets",
      lines(30, (n) => (n % 3 === 0 ? `## Part ${n}` : n % 3 === 1 ? "- required" : "- string")),
    ],
    [
      "JSON objects of one shape",
      "[\n" + lines(33, (n) => `  {"id": ${n}, "type": "string", "required": true},`) + "]\n",
    ],
    ["a poem with a refrain", Array.from({ length: 12 }, (_unused, n) => STANZA(n)).join("")],
    ["a checklist", lines(40, (n) => `- [${n % 2 === 0 ? "x" : " "}] done`)],
    [
      "a licence header in ten files",
      Array.from(
        { length: 10 },
        (_unused, n) =>
          "```ts\n// Copyright by the authors of this.\n// All rights are reserved here.\n```\nThat was file " +
          n +
          ".\n",
      ).join(""),
    ],
    ["SQL inserts", lines(60, (n) => `INSERT INTO users (id, name) VALUES (${n}, 'user ${n}');`)],
    ["CSV", lines(60, (n) => `${n},open,2024-01-0${n % 9},none`)],
    ["400 lines in four languages", lines(400, (n) => (LANGUAGES[n % 4] as (n: number) => string)(n))],
  ])("%s", (_name, text) => {
    expect(loops(text)).toBe(false);
    expect(loops(`${text}\n${"The last line of it all.\n".repeat(3)}`)).toBe(true);
  });
});
