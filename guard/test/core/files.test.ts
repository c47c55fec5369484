import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileLog } from "../../src/core/log.ts";
import { globalConfigFolder, optionPath } from "../../src/core/paths.ts";
import { antiLoopSkillContent, AntiLoop, installAntiLoopSkill } from "../../src/index.ts";
import { scratchFolder } from "../scratch.ts";

const before = process.env["XDG_CONFIG_HOME"];
let folder = "";

beforeEach(() => {
  folder = scratchFolder();
  process.env["XDG_CONFIG_HOME"] = folder;
});

afterEach(() => {
  if (before === undefined) delete process.env["XDG_CONFIG_HOME"];
  else process.env["XDG_CONFIG_HOME"] = before;
});

function context(config: Record<string, unknown>): Parameters<typeof AntiLoop>[0] {
  return { client: {}, directory: "/ws", config } as unknown as Parameters<typeof AntiLoop>[0];
}

describe("the global config folder", () => {
  test("[INF-61] follows XDG_CONFIG_HOME, else the home folder", () => {
    expect(globalConfigFolder({ XDG_CONFIG_HOME: folder })).toBe(join(folder, "opencode"));
    expect(globalConfigFolder({})).toBe(join(homedir(), ".config", "opencode"));
    expect(globalConfigFolder({ XDG_CONFIG_HOME: "" })).toBe(join(homedir(), ".config", "opencode"));
  });
});

describe("a path in an option", () => {
  test("[INF-61] starts in that folder, in the home folder behind ~, or at the root", () => {
    expect(optionPath("logs/x.log")).toBe(join(folder, "opencode", "logs", "x.log"));
    expect(optionPath("~/x.log")).toBe(join(homedir(), "x.log"));
    expect(optionPath("~x.log")).toBe(join(folder, "opencode", "~x.log"));
    expect(optionPath(join(folder, "x.log"))).toBe(join(folder, "x.log"));
  });
});

describe("the log", () => {
  test("[INF-61] is loop-detector.log in that folder, which is made when needed", async () => {
    await AntiLoop(context({ bad: 1 }));
    expect(readFileSync(join(folder, "opencode", "loop-detector.log"), "utf8")).toContain('"event":"option.bad"');
  });

  test("[INF-61] logFile moves it; a relative path starts in that folder", async () => {
    await AntiLoop(context({ bad: 1, logFile: "logs/guard.log" }));
    expect(existsSync(join(folder, "opencode", "logs", "guard.log"))).toBe(true);
    expect(existsSync(join(folder, "opencode", "loop-detector.log"))).toBe(false);
  });

  test("[INF-61] a line is a JSON object with time, level, guard and event", () => {
    const file = join(folder, "x", "guard.log");
    const log = fileLog(file);
    log.info("one");
    log.warn("two", { session: "s", count: 3, tool: undefined });
    const lines = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      { time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), level: "info", guard: "infinity", event: "one" },
      { time: expect.any(String), level: "warn", guard: "infinity", event: "two", session: "s", count: 3 },
    ]);
  });

  test("[INF-61] a log that can't be written disturbs nobody", () => {
    expect(() => fileLog(folder).info("one")).not.toThrow();
  });
});

describe("the skill", () => {
  test("[INF-62] is written under the config folder, and only when asked for", async () => {
    await AntiLoop(context({}));
    expect(existsSync(join(folder, "opencode", "skills"))).toBe(false);
    const file = installAntiLoopSkill();
    expect(file).toBe(join(folder, "opencode", "skills", "anti-loop", "SKILL.md"));
    expect(readFileSync(file, "utf8")).toBe(antiLoopSkillContent());
    expect(installAntiLoopSkill()).toBe(file);
  });

  test("[INF-62] has the name anti-loop and the rules that README.md recommends", () => {
    const content = antiLoopSkillContent();
    expect(content).toStartWith("---\nname: anti-loop\ndescription: ");
    const rules = content.split("---\n\n")[1]!;
    for (const word of [
      "[ANTI-LOOP]",
      "[ANTI-LOOP STREAM]",
      "loop_check",
      "loop_decide",
      "observedResult",
      "rationale",
      "expectedInformation",
    ]) {
      expect(rules).toContain(word);
    }
    expect(readFileSync(join(import.meta.dir, "..", "..", "README.md"), "utf8")).toContain(rules);
  });
});
