import { describe, expect, test } from "bun:test";
import { within } from "../../src/core/deadline.ts";

describe("within", () => {
  test("gives the answer that comes in time", async () => {
    expect(await within(Promise.resolve("answer"), 1000, () => "late")).toBe("answer");
  });

  test("ends a wait that takes too long", async () => {
    expect(await within(new Promise<string>(() => undefined), 5, () => "late")).toBe("late");
  });

  test("passes a rejection on", async () => {
    expect(within(Promise.reject(new Error("no")), 1000, () => "late")).rejects.toThrow("no");
  });
});
