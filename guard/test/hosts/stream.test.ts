import { describe, expect, test } from "bun:test";
import { recordingClient, settled } from "./client.ts";
import { call, load } from "./plugin.ts";
import { LOOP, Talk } from "./talk.ts";

async function start(options: Record<string, unknown> = {}) {
  const recorder = recordingClient();
  const { hooks, logLines } = await load(options, recorder.client);
  return { ...recorder, hooks, logLines, talk: new Talk(hooks) };
}

/** True when the guard aborted something after what `speak` said. */
async function aborts(speak: (talk: Talk) => Promise<void>, options: Record<string, unknown> = {}): Promise<boolean> {
  const { talk, named } = await start(options);
  await talk.user();
  await talk.assistant();
  await speak(talk);
  await settled();
  return named("abort").length > 0;
}

/** Streams the sentences as one delta each. */
async function stream(talk: Talk, ...sentences: string[]): Promise<void> {
  for (const sentence of sentences) await talk.delta(sentence);
}

describe("what is found", () => {
  test.each([
    ["one sentence", [LOOP, LOOP, LOOP]],
    [
      "container status",
      Array(3)
        .fill([
          "Let me check whether the containers started.\n",
          "The compose file is valid; I will check their status.\n",
        ])
        .flat(),
    ],
    ["a dotfile", Array(3).fill("Ich aktualisiere die .env. ")],
    ["a file name", Array(3).fill("Ich aktualisiere README.md. ")],
  ])("[INF-21] [INF-22] %s at the third", async (_name, sentences) => {
    expect(await aborts((talk) => stream(talk, ...sentences))).toBe(true);
    expect(await aborts((talk) => stream(talk, ...sentences.slice(0, -1)))).toBe(false);
  });

  test("[INF-21] three sentences and then silence do not trigger", async () => {
    expect(await aborts((talk) => talk.delta(LOOP.repeat(3).trimEnd()))).toBe(false);
  });

  test("[INF-20] the stream guard is on by default", async () => {
    expect(await aborts((talk) => talk.delta(LOOP.repeat(3)))).toBe(true);
  });

  test("[INF-20] [INF-60] streamGuard false leaves only the call guard", async () => {
    const { talk, hooks, calls } = await start({ streamGuard: false });
    await talk.user();
    await talk.loop();
    await settled();
    expect(calls).toEqual([]);
    for (let i = 0; i < 2; i += 1) expect(await call(hooks, "ses_1", "read", {})).toBe("runs");
    expect(await call(hooks, "ses_1", "read", {})).toStartWith("[ANTI-LOOP]");
  });

  test("[INF-36] streamThreshold moves the trigger", async () => {
    expect(await aborts((talk) => talk.delta(LOOP.repeat(4)), { streamThreshold: 5 })).toBe(false);
    expect(await aborts((talk) => talk.delta(LOOP.repeat(5)), { streamThreshold: 5 })).toBe(true);
  });
});

describe("what starts the prose empty", () => {
  test.each([
    ["a tool part", (talk: Talk) => talk.part("tool", { tool: "bash", state: { status: "pending" } })],
    ["a user message", (talk: Talk) => talk.user()],
    ["a synthetic user message", (talk: Talk) => talk.user([{ type: "text", text: "x", synthetic: true }])],
    ["a new message", (talk: Talk) => talk.assistant()],
    [
      "a retry of the provider",
      (talk: Talk) => talk.send("session.status", { sessionID: "ses_1", status: { type: "retry", attempt: 1 } }),
    ],
  ])("[INF-25] %s", async (_name, interrupt) => {
    const interrupted = async (talk: Talk): Promise<void> => {
      await stream(talk, LOOP, LOOP);
      await interrupt(talk);
      await stream(talk, LOOP, LOOP);
    };
    expect(await aborts(interrupted)).toBe(false);
    expect(await aborts((talk) => interrupted(talk).then(() => talk.delta(LOOP)))).toBe(true);
  });

  test("[INF-25] busy, a step and a tool of another session do not", async () => {
    expect(
      await aborts(async (talk) => {
        await stream(talk, LOOP, LOOP);
        await talk.send("session.status", { sessionID: "ses_1", status: { type: "busy" } });
        await talk.part("step-start");
        await new Talk(talk.hooks, "ses_2").part("tool");
        await talk.delta(LOOP);
      }),
    ).toBe(true);
  });
});

describe("what is never examined", () => {
  test.each([
    [
      "reasoning",
      async (talk: Talk) => {
        await talk.part("reasoning", { text: "" });
        await talk.delta(LOOP.repeat(9), "prt_reasoning");
      },
    ],
    ["tool output", (talk: Talk) => talk.part("tool", { state: { status: "completed", output: LOOP.repeat(9) } })],
    ["synthetic text", (talk: Talk) => talk.part("text", { text: LOOP.repeat(9), synthetic: true }, "other")],
    [
      "user text",
      async (talk: Talk) => {
        await talk.send("message.updated", { info: { id: "msg_u", sessionID: "ses_1", role: "user" } });
        await talk.send("message.part.updated", {
          part: { id: "p", type: "text", text: LOOP.repeat(9), sessionID: "ses_1", messageID: "msg_u" },
        });
      },
    ],
    [
      "snapshots of completed messages",
      async (talk: Talk) => {
        await talk.update({ time: { created: 1, completed: 2 } });
        await talk.part("text", { text: LOOP.repeat(9) });
        await talk.delta(LOOP.repeat(9));
      },
    ],
    [
      "another field",
      (talk: Talk) =>
        talk.send("message.part.delta", {
          sessionID: "ses_1",
          messageID: "msg_1",
          partID: "prt_text",
          field: "raw",
          delta: LOOP.repeat(9),
        }),
    ],
    ["fenced code", (talk: Talk) => talk.delta("```\n" + "let me check the logs\n".repeat(9))],
    ["blockquotes", (talk: Talk) => talk.delta("> Let me check the logs.\n".repeat(9))],
  ])("[INF-27] %s", async (_name, speak) => {
    expect(await aborts(speak as (talk: Talk) => Promise<void>)).toBe(false);
  });

  test("[INF-27] the same text, live, is", async () => {
    expect(await aborts((talk) => talk.part("text", { text: LOOP.repeat(9) }))).toBe(true);
  });

  test("[INF-26] a delta event that comes twice counts once", async () => {
    const twice = async (talk: Talk): Promise<void> => {
      for (const event of ["a", "a", "b", "b"]) await talk.delta(LOOP, "prt_text", `evt_${event}`);
    };
    expect(await aborts(twice)).toBe(false);
    expect(await aborts((talk) => twice(talk).then(() => talk.delta(LOOP)))).toBe(true);
  });

  test("events of another shape are ignored", async () => {
    const { hooks, logLines, calls } = await start();
    for (const event of [
      undefined,
      null,
      5,
      {},
      { type: "message.updated" },
      { type: "message.updated", properties: { info: null } },
      { type: "message.part.updated", properties: { part: { type: "text" } } },
      { type: "session.deleted", properties: {} },
      { type: "session.status", properties: {} },
      { type: "message.part.delta", properties: {} },
    ]) {
      await hooks.event!({ event: event as never });
    }
    expect(logLines()).toEqual([]);
    expect(calls).toEqual([]);
  });
});

describe("bounds", () => {
  test("[INF-38] 100 sessions: the least recently used goes first", async () => {
    const { hooks, named } = await start();
    const talks = Array.from({ length: 101 }, (_unused, index) => new Talk(hooks, `ses_${index}`));
    for (const talk of talks.slice(0, 100)) {
      await talk.assistant();
      await talk.delta(LOOP + LOOP);
    }
    await talks[0]!.update({ time: { created: 1 } });
    await talks[100]!.assistant();
    for (const talk of talks.slice(0, 2)) await talk.delta(LOOP);
    await settled();
    expect(named("abort")).toEqual([{ path: { id: "ses_0" } }]);
  });

  test("[INF-38] 8 messages a session: the oldest goes first", async () => {
    for (const [newer, found] of [
      [7, true],
      [8, false],
    ] as const) {
      const { talk, named } = await start();
      await talk.assistant();
      await talk.delta(LOOP + LOOP);
      for (let i = 0; i < newer; i += 1)
        await talk.send("message.updated", { info: { id: `n${i}`, sessionID: "ses_1", role: "assistant" } });
      await talk.delta(LOOP);
      await settled();
      expect(named("abort").length > 0).toBe(found);
    }
  });
});
