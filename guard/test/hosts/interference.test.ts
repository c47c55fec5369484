import { describe, expect, test } from "bun:test";
import { FAILED, held, settled } from "./client.ts";
import { start } from "./start.ts";
import { LOOP, type Talk } from "./talk.ts";

describe("cancelling", () => {
  test.each([
    ["a user message", (talk: Talk) => talk.user()],
    ["deletion of the session", (talk: Talk) => talk.send("session.deleted", { sessionID: "ses_1" })],
    ["OpenCode's end", (talk: Talk) => talk.hooks.dispose!()],
  ])("[INF-34] %s, at abort and at status", async (_name, end) => {
    for (const step of ["abort", "status"] as const) {
      const answer = held<object>();
      const { talk, named, events, toasts } = await start({ [step]: () => answer.promise });
      await talk.loop();
      await settled();
      await end(talk);
      answer.release({ data: {} });
      await settled();
      expect(named("promptAsync")).toEqual([]);
      expect(events().at(-1)).toBe("stream.cancelled");
      expect(toasts()).toHaveLength(1);
    }
  });

  test("[INF-34] a call of the cancelled recovery is given up", async () => {
    const { talk, named } = await start({ status: () => held<object>().promise });
    await talk.loop();
    await settled();
    expect(named("status")[0]!["signal"].aborted).toBe(false);
    await talk.user();
    expect(named("status")[0]!["signal"].aborted).toBe(true);
  });

  test("[INF-34] the guard's own message does not cancel", async () => {
    const answer = held<object>();
    const { talk, order } = await start({ status: () => answer.promise });
    await talk.loop();
    await settled();
    await talk.user([{ type: "text", text: "x", synthetic: true }]);
    answer.release({ data: {} });
    await settled();
    expect(order()).toContain("promptAsync");
  });

  test("[INF-34] the next loop after a cancelled recovery is dealt with, though its abort never answered", async () => {
    let first = true;
    const { talk, order } = await start({
      abort: () => {
        if (!first) return { data: true };
        first = false;
        return held<object>().promise;
      },
    });
    await talk.loop();
    await talk.user();
    await talk.loop();
    await settled();
    expect(order()).toEqual(["abort", "abort", "status", "promptAsync"]);
  });

  test("[INF-35] an abort that is not the guard's is followed by nothing", async () => {
    const { talk, calls } = await start();
    await talk.assistant();
    await talk.delta(LOOP + LOOP);
    await talk.send("session.error", { sessionID: "ses_1", error: { name: "MessageAbortedError", data: {} } });
    await talk.send("session.idle", { sessionID: "ses_1" });
    await settled();
    expect(calls).toEqual([]);
  });
});

describe("one at a time", () => {
  test("a loop during abort or status starts nothing, and is found again afterwards", async () => {
    const answer = held<object>();
    const { talk, order } = await start({ status: () => answer.promise });
    await talk.loop();
    await settled();
    await talk.loop();
    await settled();
    expect(order()).toEqual(["abort", "status"]);
    answer.release({ data: {} });
    await settled();
    await talk.delta(LOOP.repeat(3));
    await settled();
    expect(order()).toEqual(["abort", "status", "promptAsync", "abort", "status", "promptAsync"]);
  });

  test("a loop in the continued turn is dealt with, though the continuation was never answered", async () => {
    const { talk, order } = await start({ promptAsync: () => held<object>().promise });
    await talk.loop();
    await settled();
    await talk.loop();
    await settled();
    expect(order()).toEqual(["abort", "status", "promptAsync", "abort", "status", "promptAsync"]);
  });
});

describe("a continuation that is answered late", () => {
  test.each([
    ["well", { data: {} }],
    ["badly", FAILED],
  ])("[INF-34] %s: the recovery that has begun meanwhile can be cancelled", async (_name, late) => {
    const first = held<object>();
    const second = held<object>();
    const statuses = [Promise.resolve({ data: {} }), second.promise];
    const { talk, named, events } = await start({ promptAsync: () => first.promise, status: () => statuses.shift()! });
    await talk.loop();
    await settled();
    await talk.loop();
    await settled();
    first.release(late);
    await settled();
    await talk.user();
    second.release({ data: {} });
    await settled();
    expect(named("promptAsync")).toHaveLength(1);
    expect(events().at(-1)).toBe("stream.cancelled");
  });

  test("[INF-39] badly: the recovery that has begun meanwhile goes on", async () => {
    const first = held<object>();
    const answers = [first.promise, Promise.resolve({ data: {} })];
    const second = held<object>();
    const statuses = [Promise.resolve({ data: {} }), second.promise];
    const { talk, named, events } = await start({
      promptAsync: () => answers.shift()!,
      status: () => statuses.shift()!,
    });
    await talk.loop();
    await settled();
    await talk.loop();
    await settled();
    first.release(FAILED);
    await settled();
    second.release({ data: {} });
    await settled();
    expect(named("promptAsync")).toHaveLength(2);
    expect(events().at(-1)).toBe("stream.continued");
  });
});

describe("failures", () => {
  const thrown = (): never => {
    throw new TypeError("fetch failed");
  };

  test.each([
    ["abort", "abort", FAILED, "HTTP 500", ["abort"]],
    ["abort", "abort", thrown, "TypeError", ["abort"]],
    ["status", "status", FAILED, "HTTP 500", ["abort", "status"]],
    ["status", "status", { data: "odd" }, "no status in the answer", ["abort", "status"]],
    ["continuation", "promptAsync", FAILED, "HTTP 500", ["abort", "status", "promptAsync"]],
    ["continuation", "promptAsync", thrown, "TypeError", ["abort", "status", "promptAsync"]],
  ] as const)(
    "[INF-30] [INF-39] [INF-40] a failed %s (%s): one warning, one toast, no retry",
    async (step, name, answer, reason, calls) => {
      const { talk, order, logLines, toasts } = await start({
        [name]: typeof answer === "function" ? answer : () => answer,
      });
      await talk.loop();
      await talk.send("session.idle", { sessionID: "ses_1" });
      await settled();
      await talk.delta(LOOP.repeat(3));
      await settled();
      expect(order()).toEqual([...calls]);
      expect(logLines().filter((line) => line["level"] === "warn")).toEqual([
        {
          time: expect.any(String),
          level: "warn",
          guard: "infinity",
          event: "stream.failed",
          session: "ses_1",
          step,
          reason,
        },
      ]);
      expect(toasts()).toEqual([
        "The model repeats itself. Its turn is being stopped.",
        `Recovery from repeated text failed at: ${step} (${reason}). It is not tried again.`,
      ]);
    },
  );

  test("[INF-29] [INF-39] a session that stays busy is not continued", async () => {
    const { talk, named, logLines } = await start(
      { status: () => ({ data: { ses_1: { type: "busy" } } }) },
      { streamIdleWaitMs: 100 },
    );
    await talk.loop();
    await Bun.sleep(250);
    expect(named("promptAsync")).toEqual([]);
    expect(named("status").length).toBeLessThan(5);
    expect(logLines().at(-1)).toMatchObject({ level: "warn", step: "status", reason: "not idle within 100 ms" });
  });

  test("[INF-29] [INF-39] a status that never answers ends with the wait, and the call is given up", async () => {
    const { talk, named, logLines } = await start({ status: () => held<object>().promise }, { streamIdleWaitMs: 100 });
    await talk.loop();
    await Bun.sleep(200);
    expect(named("status")[0]!["signal"].aborted).toBe(true);
    expect(logLines().at(-1)).toMatchObject({ step: "status", reason: "not idle within 100 ms" });
  });

  test("[INF-40] a toast that fails changes nothing", async () => {
    const { talk, order, events } = await start({ showToast: thrown });
    await talk.loop();
    await settled();
    expect(order()).toEqual(["abort", "status", "promptAsync"]);
    expect(events()).not.toContain("guard.fault");
  });

  test("[INF-61] the log never holds what was repeated", async () => {
    const { talk, logLines } = await start();
    await talk.loop({ agent: "plan" });
    await settled();
    expect(JSON.stringify(logLines()).toLowerCase()).not.toContain("check the logs");
  });
});
