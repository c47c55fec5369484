import { describe, expect, test } from "bun:test";
import { ascendingMessageId } from "../../src/hosts/message-id.ts";

describe("ascendingMessageId", () => {
  test("[INF-31] sorts where OpenCode's ids of the same time do", () => {
    // An id that OpenCode 1.18.33 gave to a message created at this time.
    const theirs = "msg_22daac7fa001tvWNj3LvP5F4qF";
    const at = 1_796_062_496_762;
    expect(ascendingMessageId(at)).toMatch(/^msg_22daac7fa000[0-9A-Za-z]{14}$/);
    expect(ascendingMessageId(at - 1) < theirs).toBe(true);
    expect(ascendingMessageId(at + 1) > theirs).toBe(true);
  });

  test("no two are alike", () => {
    expect(new Set(Array.from({ length: 100 }, () => ascendingMessageId(1))).size).toBe(100);
  });
});
