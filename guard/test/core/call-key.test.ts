import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalJson } from "../../src/core/canonical.ts";
import { callKey } from "../../src/core/call-key.ts";

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, nested]) => [key, reversed(nested)]),
  );
}

describe("callKey", () => {
  test("[INF-06] key order does not matter, at any depth", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        (args) => callKey("t", args) === callKey("t", reversed(args)),
      ),
    );
  });

  test("[INF-03] other arguments and other tools have other keys", () => {
    expect(callKey("read", { filePath: "a" })).not.toBe(callKey("read", { filePath: "b" }));
    expect(callKey("read", { filePath: "a" })).not.toBe(callKey("write", { filePath: "a" }));
    expect(callKey("a", "b")).not.toBe(callKey("ab", ""));
    expect(callKey("t", { a: [1, 2] })).not.toBe(callKey("t", { a: [2, 1] }));
    expect(callKey("t", { a: "1" })).not.toBe(callKey("t", { a: 1 }));
  });

  test("[INF-03] no arguments and {} are the same call", () => {
    expect(callKey("telegram_status", {})).toBe(callKey("telegram_status", undefined));
  });

  test.each(["bash", "shell", "powershell"])("[INF-07] %s: description and timeout do not count", (tool) => {
    const bare = callKey(tool, { command: "ls" });
    expect(callKey(tool, { command: "ls", description: "List", timeout: 9 })).toBe(bare);
    expect(callKey(tool, { command: "ls", workdir: "/" })).not.toBe(bare);
  });

  test("[INF-07] the command counts byte for byte", () => {
    const commands = ["ls", "ls ", " ls", "LS", "ls\n", "e\u0301", "\u00e9", "\ud800", "\ufffd"];
    expect(new Set(commands.map((command) => callKey("bash", { command }))).size).toBe(commands.length);
  });

  test("[INF-07] description and timeout count for every other tool", () => {
    expect(callKey("task", { description: "a" })).not.toBe(callKey("task", { description: "b" }));
  });
});

describe("canonicalJson", () => {
  test("writes what JSON writes, with sorted keys", () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }], a: undefined })).toBe('{"b":[{"c":null,"d":1}]}');
    expect(canonicalJson(undefined)).toBe("null");
  });

  test("keeps a key called __proto__", () => {
    expect(canonicalJson(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}');
  });
});
