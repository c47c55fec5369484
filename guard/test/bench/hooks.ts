/** Prints what the guard's hooks cost for each event: `npm run bench`. Flat means that a part of a long run costs what the first did. */

import { load } from "../hosts/plugin.ts";
import { recordingClient } from "../hosts/client.ts";
import { removeScratchFolders } from "../scratch.ts";

const DELTAS = 100_000;
const MESSAGE = 65_536;
const CHUNK = 7;

/** Prose without a loop: every sentence is another. */
function* prose(alphabet: string): Generator<string> {
  for (let i = 0; ; i += 1) {
    const word = alphabet.slice(i % 7, (i % 7) + 4);
    yield `${word} ${i} is what the ${word} number ${i * 7} of this long text says, in z. B. file_${i}.md.${i % 5 === 0 ? "\n" : " "}`;
  }
}

/** One unit without an end, the worst case for whoever looks back. */
function* endless(): Generator<string> {
  for (;;) yield "a. ";
}

function chunks(source: Generator<string>): string[] {
  let text = "";
  while (text.length < DELTAS * CHUNK) text += source.next().value;
  return Array.from({ length: DELTAS }, (_unused, index) => text.slice(index * CHUNK, (index + 1) * CHUNK));
}

/** Microseconds of each delta. A new message begins when the last one is full. */
async function measure(texts: readonly string[]): Promise<number[]> {
  const { hooks } = await load({}, recordingClient().client);
  const send = (type: string, properties: object, id: string): Promise<void> =>
    hooks.event!({ event: { id, type, properties } as never });
  const costs: number[] = [];
  let room = 0;
  let messageID = "";
  for (const [index, delta] of texts.entries()) {
    if (room < CHUNK) {
      room = MESSAGE;
      messageID = `msg_${index}`;
      await send("message.updated", { info: { id: messageID, sessionID: "s", role: "assistant" } }, "");
      await send("message.part.updated", { part: { id: "p", type: "text", text: "", sessionID: "s", messageID } }, "");
    }
    room -= CHUNK;
    const properties = { sessionID: "s", messageID, partID: "p", field: "text", delta };
    const begin = Bun.nanoseconds();
    await send("message.part.delta", properties, `evt_${index}`);
    costs.push((Bun.nanoseconds() - begin) / 1000);
  }
  return costs;
}

function percentile(costs: readonly number[], share: number): string {
  const sorted = [...costs].sort((a, b) => a - b);
  return (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(2).padStart(8);
}

function row(name: string, costs: readonly number[]): void {
  console.log(`${name.padEnd(34)}${percentile(costs, 0.5)}${percentile(costs, 0.99)}${percentile(costs, 0.999)}`);
}

const TEXTS: readonly [string, Generator<string>][] = [
  ["Latin prose", prose("measured")],
  ["Cyrillic prose", prose("\u0438\u0437\u043c\u0435\u0440\u0435\u043d\u043e\u0433\u043e")],
  ["one unit without an end", endless()],
  [
    "a short line each",
    (function* () {
      for (let i = 0; ; i += 1) yield `${i}\n`;
    })(),
  ],
];

console.log(`${"microseconds for each delta".padEnd(34)}  median     p99   p99.9`);
for (const [name, source] of TEXTS) {
  const texts = chunks(source);
  await measure(texts.slice(0, 20_000));
  const costs = await measure(texts);
  row(`${name}, first 10,000`, costs.slice(0, 10_000));
  row(`${name}, last 10,000`, costs.slice(-10_000));
  row(`${name}, all`, costs);
}

removeScratchFolders();
