import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import plugin, { AntiLoop } from "../../src/index.ts";
import { call, emit, freshLogFile, load } from "./plugin.ts";

const GIT = { command: "git status --short" };

afterEach(() => {
  setSystemTime();
});

describe("the call guard in its hooks", () => {
  test("[INF-02] the third matching call is rejected with a text that says what to do", async () => {
    const { hooks } = await load();
    expect(await call(hooks, "s", "bash", GIT)).toBe("runs");
    expect(await call(hooks, "s", "bash", GIT)).toBe("runs");
    expect(await call(hooks, "s", "bash", GIT)).toBe(
      "[ANTI-LOOP] Blocked before it ran: this call of bash has reached the limit of 3 equal calls within 60 s.\n" +
        "Nothing was executed. Only this exact call is blocked; every other call works at once and needs no decision.\n" +
        "Use the results that you already have, or make a different call that can bring new information.\n" +
        "If this very call is needed again because something has changed, justify it with loop_decide (decision continue).",
    );
  });

  test("[INF-11] calls in flight at the same time: exactly the third is blocked", async () => {
    const { hooks } = await load();
    const verdicts = await Promise.all([1, 2, 3, 4].map(() => call(hooks, "s", "read", { filePath: "a" })));
    expect(verdicts.map((verdict) => verdict === "runs")).toEqual([true, true, false, false]);
  });

  test("[INF-12] sessions are isolated", async () => {
    const { hooks } = await load();
    for (const session of ["parent", "child", "parent", "child"])
      expect(await call(hooks, session, "bash", GIT)).toBe("runs");
    expect(await call(hooks, "child", "bash", GIT)).toStartWith("[ANTI-LOOP]");
  });

  test("[INF-13] loop_check and loop_decide never count", async () => {
    const { hooks } = await load();
    for (let i = 0; i < 9; i += 1) {
      expect(await call(hooks, "s", "loop_check")).toBe("runs");
      expect(await call(hooks, "s", "loop_decide")).toBe("runs");
    }
  });

  test("[INF-15] another load knows nothing of the first", async () => {
    const first = await load();
    for (let i = 0; i < 3; i += 1) await call(first.hooks, "s", "bash", GIT);
    expect(await call((await load()).hooks, "s", "bash", GIT)).toBe("runs");
  });

  test("[INF-05] deleting the session ends its blocks", async () => {
    const { hooks } = await load();
    for (const session of ["s", "s", "s", "t", "t"]) await call(hooks, session, "bash", GIT);
    await emit(hooks, "session.deleted", { sessionID: "s", info: { id: "s" } });
    expect(await call(hooks, "s", "bash", GIT)).toBe("runs");
    expect(await call(hooks, "t", "bash", GIT)).toStartWith("[ANTI-LOOP]");
  });

  test("[INF-01] the time is Date's, at the call", async () => {
    const { hooks } = await load({ windowMs: 1000 });
    for (const at of [10_000, 11_001, 12_002]) {
      setSystemTime(at);
      expect(await call(hooks, "s", "bash", GIT)).toBe("runs");
    }
  });

  test("[INF-60] the wrapper form has the same effect as the tuple form", async () => {
    const context = { client: {}, directory: "/ws" } as unknown as Parameters<typeof AntiLoop>[0];
    const hooks = await AntiLoop({ ...context, config: { threshold: 2, logFile: freshLogFile() } });
    expect(await call(hooks, "s", "bash", GIT)).toBe("runs");
    expect(await call(hooks, "s", "bash", GIT)).toStartWith("[ANTI-LOOP]");
  });

  test("[INF-61] the log names the event and the tool, and never the arguments", async () => {
    const { hooks, logLines } = await load();
    for (let i = 0; i < 3; i += 1) await call(hooks, "s", "bash", { command: "secret" });
    expect(logLines()).toEqual([
      {
        time: expect.any(String),
        level: "info",
        guard: "infinity",
        event: "call.blocked",
        session: "s",
        tool: "bash",
        count: 3,
      },
    ]);
  });

  test("a fault of the guard lets the call run and is logged", async () => {
    const { hooks, logLines } = await load();
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    for (let i = 0; i < 4; i += 1) expect(await call(hooks, "s", "odd", circular)).toBe("runs");
    expect(logLines()[0]).toMatchObject({ level: "warn", event: "guard.fault", hook: "tool.execute.before" });
  });

  test("[INF-62] the default export is {id, server}", () => {
    expect(plugin).toEqual({ id: "opencode-infinity-loop-guard", server: AntiLoop });
  });
});
