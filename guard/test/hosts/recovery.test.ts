import { describe, expect, test } from "bun:test";
import { held, settled } from "./client.ts";
import { call } from "./plugin.ts";
import { start } from "./start.ts";
import { LOOP, Talk } from "./talk.ts";

const SPEAKER = { agent: "plan", mode: "plan", providerID: "test", modelID: "m", variant: "high" };

describe("abort and continuation", () => {
  test("[INF-28] [INF-29] [INF-31] abort, then status, then one synthetic message", async () => {
    const { talk, order, named, events } = await start();
    await talk.loop(SPEAKER);
    await settled();
    expect(order()).toEqual(["abort", "status", "promptAsync"]);
    expect(named("abort")).toEqual([{ path: { id: "ses_1" } }]);
    const [sent] = named("promptAsync");
    expect(sent!["path"]).toEqual({ id: "ses_1" });
    expect(sent!["body"]).toEqual({
      messageID: expect.stringMatching(/^msg_[0-9a-f]{12}[0-9A-Za-z]{14}$/),
      agent: "plan",
      model: { providerID: "test", modelID: "m" },
      variant: "high",
      parts: [
        {
          type: "text",
          synthetic: true,
          metadata: { guard: "opencode-infinity-loop-guard" },
          text: expect.stringContaining("[ANTI-LOOP STREAM]"),
        },
      ],
    });
    expect(events()).toEqual(["stream.loop", "stream.aborted", "stream.continued"]);
  });

  test("[INF-31] an unknown speaker is left to OpenCode", async () => {
    const { talk, named } = await start();
    await talk.loop();
    await settled();
    expect(Object.keys(named("promptAsync")[0]!["body"])).toEqual(["messageID", "parts"]);
  });

  test("[INF-29] the hook does not wait for the recovery", async () => {
    const abort = held<object>();
    const { talk, order } = await start({ abort: () => abort.promise });
    await talk.loop();
    expect(order()).toEqual(["abort"]);
    abort.release({ data: true });
    await settled();
    expect(order()).toEqual(["abort", "status", "promptAsync"]);
  });

  test("[INF-29] the status is asked until the session is idle", async () => {
    const statuses = [{ ses_1: { type: "busy" } }, { ses_1: { type: "retry" } }, { ses_2: { type: "busy" } }];
    const { talk, order } = await start({ status: () => ({ data: statuses.shift() }) });
    await talk.loop();
    await Bun.sleep(200);
    expect(order()).toEqual(["abort", "status", "status", "status", "promptAsync"]);
  });

  test("[INF-29] a status that says idle is idle", async () => {
    const { talk, order } = await start({ status: () => ({ data: { ses_1: { type: "idle" } } }) });
    await talk.loop();
    await settled();
    expect(order()).toContain("promptAsync");
  });

  test("[INF-25] [INF-28] one loop, one abort, though the rest of the stream and its last snapshot still come", async () => {
    const { talk, order } = await start();
    await talk.loop();
    await talk.delta(LOOP.repeat(9));
    await settled();
    await talk.delta(LOOP.repeat(9));
    await talk.part("text", { text: LOOP.repeat(12) });
    await settled();
    expect(order()).toEqual(["abort", "status", "promptAsync"]);
  });

  test("[INF-37] call counters survive a recovery", async () => {
    const { talk, hooks } = await start();
    for (let i = 0; i < 2; i += 1) await call(hooks, "ses_1", "read", {});
    await talk.loop();
    await settled();
    await talk.user([{ type: "text", text: "x", synthetic: true }]);
    expect(await call(hooks, "ses_1", "read", {})).toStartWith("[ANTI-LOOP]");
  });

  test("[INF-12] two sessions recover at the same time", async () => {
    const { talk, hooks, named } = await start();
    await talk.loop();
    await new Talk(hooks, "ses_2").loop();
    await settled();
    expect(named("promptAsync").map((options) => options["path"].id)).toEqual(["ses_1", "ses_2"]);
  });

  test("[INF-12] a child is aborted and not continued", async () => {
    const { talk, order, events } = await start();
    await talk.send("session.created", { info: { id: "ses_1", parentID: "ses_0" } });
    await talk.loop();
    await settled();
    expect(order()).toEqual(["abort"]);
    expect(events()).toEqual(["stream.loop", "stream.aborted", "stream.stopped"]);
  });

  test("a compaction is aborted and not continued", async () => {
    const { talk, order } = await start();
    await talk.loop({ summary: true });
    await settled();
    expect(order()).toEqual(["abort"]);
  });

  test("[INF-36] streamRecovery false stops only", async () => {
    const { talk, order } = await start({}, { streamRecovery: false });
    await talk.loop();
    await settled();
    expect(order()).toEqual(["abort"]);
  });
});

describe("the allowance", () => {
  test.each([0, 1, 2, 5])("[INF-32] streamMaxRecoveries %i, then a stop without a restart", async (allowed) => {
    const { talk, named, toasts, events } = await start({}, { streamMaxRecoveries: allowed });
    for (let i = 0; i < allowed + 2; i += 1) {
      await talk.loop();
      await settled();
    }
    expect(named("abort")).toHaveLength(allowed + 2);
    expect(named("promptAsync")).toHaveLength(allowed);
    expect(toasts().at(-1)).toBe(
      `The model repeated itself and was stopped for good: continuations are used up (${allowed} of ${allowed}). Send a message to go on.`,
    );
    expect(events().at(-1)).toBe("stream.exhausted");
  });

  async function continuationsAfter(speak: (talk: Talk, ownId: string) => Promise<void>): Promise<number> {
    const { talk, named } = await start();
    for (let i = 0; i < 3; i += 1) {
      await talk.loop();
      await settled();
    }
    await speak(talk, named("promptAsync").at(-1)!["body"].messageID);
    await talk.loop();
    await settled();
    return named("promptAsync").length;
  }

  test.each([
    ["a user message", [{ type: "text", text: "x" }]],
    [
      "one that names a file",
      [{ type: "text", text: "x" }, { type: "text", text: "content", synthetic: true }, { type: "file" }],
    ],
    ["one that quotes the guard", [{ type: "text", text: "[ANTI-LOOP STREAM] what is that?" }]],
  ])("[INF-33] %s resets it", async (_name, parts) => {
    expect(await continuationsAfter((talk) => talk.user(parts))).toBe(3);
  });

  test.each([
    ["a synthetic message", [{ type: "text", text: "x", synthetic: true }]],
    ["a compaction", [{ type: "compaction" }]],
    [
      "a message with the guard's metadata",
      [{ type: "text", text: "x", metadata: { guard: "opencode-infinity-loop-guard" } }],
    ],
  ])("[INF-33] %s does not", async (_name, parts) => {
    expect(await continuationsAfter((talk) => talk.user(parts))).toBe(2);
  });

  test("[INF-33] a message with the id that the guard chose does not", async () => {
    expect(await continuationsAfter((talk, ownId) => talk.user([{ type: "text", text: "x" }], ownId))).toBe(2);
  });
});
