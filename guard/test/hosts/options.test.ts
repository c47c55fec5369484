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
