import { expect, test } from "bun:test";
import { recordingClient, settled } from "./client.ts";
import { load } from "./plugin.ts";
import { Talk } from "./talk.ts";

test("[INF-60] a bad option is logged at load and shown once, at the first user message", async () => {
  const { client, toasts } = recordingClient();
  const { hooks, logLines } = await load({ threshold: 1 }, client);
  const problem = 'Option "threshold" must be an integer of at least 2, not 1. The default is used: 3.';
  expect(logLines()).toEqual([
    { time: expect.any(String), level: "warn", guard: "infinity", event: "option.bad", problem },
  ]);
  expect(toasts()).toEqual([]);
  const talk = new Talk(hooks);
  await talk.user();
  await talk.user();
  await settled();
  expect(toasts()).toEqual([problem]);
});

test("[INF-60] infinity false takes the guard away, and bad options are still shown", async () => {
  const { client, calls, toasts } = recordingClient();
  const { hooks, logLines } = await load({ infinity: false, doomLoop: true }, client);
  const problem = 'Option "doomLoop" asks for a guard that this version does not have. It has no effect.';
  expect(Object.keys(hooks)).toEqual(["chat.message"]);
  await new Talk(hooks).user();
  await settled();
  expect(toasts()).toEqual([problem]);
  expect(calls).toHaveLength(1);
  expect(logLines()).toHaveLength(1);
});
