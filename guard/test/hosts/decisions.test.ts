import { beforeEach, describe, expect, test } from "bun:test";
import type { Hooks } from "@opencode-ai/plugin";
import { call, load, type Loaded } from "./plugin.ts";

const A = { command: "git status" };
const B = { command: "git diff" };
const REASONS = {
  observedResult: "The tree had no changes so far.",
  rationale: "The build has just written files.",
  expectedInformation: "The names of the written files.",
};

let guard: Loaded;

beforeEach(async () => {
  guard = await load();
});

function run(hooks: Hooks, name: string, session: string, args: object): Promise<string> {
  const tool = hooks.tool![name]!;
  const context = { sessionID: session } as never;
  return tool.execute(args as never, context).then(String, (error: Error) => `error: ${error.message}`);
}

function decide(decision: string, args: object, more: object = {}): Promise<string> {
  return run(guard.hooks, "loop_decide", "s", {
    decision,
    ...REASONS,
    nextTool: "bash",
    argsJson: JSON.stringify(args),
    ...more,
  });
}

function check(args: object, session = "s"): Promise<string> {
  return run(guard.hooks, "loop_check", session, { toolName: "bash", argsJson: JSON.stringify(args) });
}

/** Makes the calls; "b" for a blocked one, "r" for one that ran. */
async function calls(...args: object[]): Promise<string> {
  const verdicts: string[] = [];
  for (const one of args) verdicts.push((await call(guard.hooks, "s", "bash", one)) === "runs" ? "r" : "b");
  return verdicts.join("");
}

describe("loop_check", () => {
  test("[INF-50] reports that call's count and block, and grants nothing", async () => {
    await calls(A, A, B);
    expect(await check(A)).toBe("tool: bash\ncount: 2 of 3\nblocked: no\nfresh cycle authorised: no");
    expect(await check(A, "other")).toBe("tool: bash\ncount: 0 of 3\nblocked: no\nfresh cycle authorised: no");
    expect(await calls(A)).toBe("b");
    expect(await check(A)).toBe("tool: bash\ncount: 2 of 3\nblocked: yes\nfresh cycle authorised: no");
    expect(await check(B)).toBe("tool: bash\ncount: 1 of 3\nblocked: no\nfresh cycle authorised: no");
    expect(await calls(A)).toBe("b");
  });

  test("[INF-50] sees the call through another key order and a description", async () => {
    await calls({ command: "ls", workdir: "/" });
    expect(await check({ workdir: "/", description: "d", command: "ls" })).toContain("count: 1 of 3");
  });

  test.each([
    [{ argsJson: "{}" }, "toolName must be a string, not missing"],
    [{ toolName: " ", argsJson: "{}" }, "toolName must not be empty"],
    [{ toolName: "bash", argsJson: {} }, "argsJson must be a JSON object encoded as a string, not an object"],
    [{ toolName: "bash", argsJson: "[1]" }, "argsJson must be a JSON object encoded as a string, but holds an array"],
    [{ toolName: "bash", argsJson: "{" }, "argsJson must be a JSON object encoded as a string, but is no valid JSON"],
    [
      { toolName: 5, argsJson: null },
      "toolName must be a string, not a number; argsJson must be a JSON object encoded as a string, not null",
    ],
  ])("[INF-50] a bad field is named: %p", async (args, problem) => {
    expect(await run(guard.hooks, "loop_check", "s", args)).toBe(
      `error: loop_check: ${problem}. Nothing was recorded.`,
    );
  });
});

describe("loop_decide continue", () => {
  test("[INF-52] a fresh cycle for exactly one key", async () => {
    expect(await calls(A, A, A, B, B, B)).toBe("rrbrrb");
    expect(await decide("continue", A)).toBe(
      "Recorded: continue. The next run of bash with exactly these arguments counts as 1 of 3. No other call is affected.",
    );
    expect(await check(A)).toBe("tool: bash\ncount: 2 of 3\nblocked: yes\nfresh cycle authorised: yes");
    expect(await calls(B, { command: "pwd" }, A, A, A, B)).toBe("brrrbb");
  });

  test("[INF-52] says so when the call was not blocked", async () => {
    expect(await decide("continue", A)).toBe(
      "Recorded: continue. The next run of bash with exactly these arguments counts as 1 of 3. " +
        "Note that this call was not blocked: check nextTool and argsJson if you meant another one.",
    );
  });

  test("[INF-12] holds for its own session only", async () => {
    await calls(A, A, A);
    await run(guard.hooks, "loop_decide", "other", {
      decision: "continue",
      ...REASONS,
      nextTool: "bash",
      argsJson: JSON.stringify(A),
    });
    expect(await calls(A)).toBe("b");
  });
});

describe("loop_decide change", () => {
  test("[INF-53] records another approach, resets nothing and blocks nothing", async () => {
    expect(await calls(A, A, A)).toBe("rrb");
    expect(await decide("change", B)).toBe(
      "Recorded: change. Nothing was reset and nothing is blocked by it; bash runs like any other call.",
    );
    expect(await calls(B, B, A)).toBe("rrb");
  });

  test.each([
    ["ran", [A]],
    ["is blocked", [A, A, A]],
  ])("[INF-53] must not name a key that %s", async (_what, made) => {
    await calls(...made);
    expect(await decide("change", A)).toBe(
      "error: loop_decide: nextTool bash with these argsJson is no change: this call was already made in this session. " +
        "Name a call that was not made yet, or decide continue to retry this one. Nothing was recorded.",
    );
  });
});

describe("loop_decide stop", () => {
  test("[INF-54] takes back the authorisation of the last blocked call, which stays blocked", async () => {
    await calls(A, A, A, B, B, B);
    await decide("continue", A);
    await decide("continue", B);
    expect(await decide("stop", {}, { nextTool: "" })).toBe(
      "Recorded: stop. The last blocked call, of bash, stays blocked. Every other call works as before.",
    );
    expect(await calls(B, A)).toBe("br");
  });

  test("[INF-54] with nothing blocked it is an error", async () => {
    await calls(A, A);
    expect(await decide("stop", {}, { nextTool: "" })).toBe(
      "error: loop_decide: decision stop abandons a blocked call, and nothing is blocked in this session. Nothing was recorded.",
    );
  });
});

describe("loop_decide fields", () => {
  test.each(["continue", "change", "stop"])(
    "[INF-51] %s needs each explanation with 20 characters after trimming",
    async (decision) => {
      await calls(A, A, A);
      for (const name of Object.keys(REASONS)) {
        const short = { [name]: `   ${"x".repeat(19)}   ` };
        expect(await decide(decision, { command: "new" }, short)).toBe(
          `error: loop_decide: ${name} needs at least 20 characters after trimming, and has 19. Nothing was recorded.`,
        );
        expect(await decide(decision, { command: `new ${name}` }, { [name]: "x".repeat(20) })).toStartWith(
          "Recorded: ",
        );
      }
    },
  );

  test.each([
    [{ decision: "retry" }, 'decision must be one of continue, change, stop, not "retry"'],
    [{ decision: 5 }, "decision must be one of continue, change, stop, not a number"],
    [{ rationale: undefined }, "rationale must be a string, not missing"],
    [{ nextTool: "" }, "nextTool must not be empty"],
    [{ nextTool: null }, "nextTool must be a string, not null"],
    [{ argsJson: "nonsense" }, "argsJson must be a JSON object encoded as a string, but is no valid JSON"],
    [
      { nextTool: "", rationale: "no" },
      "rationale needs at least 20 characters after trimming, and has 2; nextTool must not be empty",
    ],
  ])("[INF-51] a bad field is named: %p", async (bad, problem) => {
    await calls(A, A, A);
    expect(await decide("continue", A, bad)).toBe(`error: loop_decide: ${problem}. Nothing was recorded.`);
    expect(await calls(A)).toBe("b");
  });

  test("[INF-61] the log holds no nextTool that is no name", async () => {
    await decide("continue", A, { nextTool: "bash curl -H token=secret" });
    expect(guard.logLines()).toEqual([
      { time: expect.any(String), level: "info", guard: "infinity", event: "decision.continue", session: "s" },
    ]);
  });

  test("[INF-61] the log names decision and tool, never arguments or explanations", async () => {
    await calls(A, A, A);
    await decide("continue", A);
    await decide("stop", {}, { nextTool: "" });
    expect(guard.logLines().slice(1)).toEqual([
      {
        time: expect.any(String),
        level: "info",
        guard: "infinity",
        event: "decision.continue",
        session: "s",
        tool: "bash",
      },
      {
        time: expect.any(String),
        level: "info",
        guard: "infinity",
        event: "decision.stop",
        session: "s",
        tool: "bash",
      },
    ]);
  });
});
