import { describe, expect, test } from "bun:test";
import { DEFAULTS, parseOptions } from "../../src/core/options.ts";

describe("parseOptions", () => {
  test("[INF-60] nothing given means the defaults, silently", () => {
    expect(parseOptions(undefined)).toEqual({ options: DEFAULTS, problems: [] });
    expect(parseOptions({})).toEqual({ options: DEFAULTS, problems: [] });
  });

  test("[INF-60] good options are taken", () => {
    const given = {
      infinity: false,
      threshold: 4,
      windowMs: 0.5,
      streamGuard: false,
      streamThreshold: 10,
      streamRecovery: false,
      streamMaxRecoveries: 0,
      streamIdleWaitMs: 100,
      logFile: "x.log",
    };
    expect(parseOptions(given)).toEqual({ options: given, problems: [] });
  });

  test("[INF-61] notify is accepted and does nothing", () => {
    expect(parseOptions({ notify: "desktop" })).toEqual({ options: DEFAULTS, problems: [] });
  });

  test.each([
    ["threshold", 1, 'Option "threshold" must be an integer of at least 2, not 1. The default is used: 3.'],
    ["threshold", 2.5, 'Option "threshold" must be an integer of at least 2, not 2.5. The default is used: 3.'],
    ["threshold", "4", 'Option "threshold" must be an integer of at least 2, not "4". The default is used: 3.'],
    ["windowMs", 0, 'Option "windowMs" must be a positive number of milliseconds, not 0. The default is used: 60000.'],
    [
      "windowMs",
      NaN,
      'Option "windowMs" must be a positive number of milliseconds, not NaN. The default is used: 60000.',
    ],
    ["streamGuard", 1, 'Option "streamGuard" must be true or false, not 1. The default is used: true.'],
    ["streamThreshold", 2, 'Option "streamThreshold" must be an integer from 3 to 10, not 2. The default is used: 3.'],
    [
      "streamThreshold",
      11,
      'Option "streamThreshold" must be an integer from 3 to 10, not 11. The default is used: 3.',
    ],
    ["streamRecovery", null, 'Option "streamRecovery" must be true or false, not null. The default is used: true.'],
    [
      "streamMaxRecoveries",
      6,
      'Option "streamMaxRecoveries" must be an integer from 0 to 5, not 6. The default is used: 2.',
    ],
    [
      "streamIdleWaitMs",
      99,
      'Option "streamIdleWaitMs" must be a number of milliseconds from 100 to 60000, not 99. The default is used: 10000.',
    ],
    [
      "logFile",
      " ",
      'Option "logFile" must be a path, not " ". The default is used: loop-detector.log in OpenCode\'s global config folder.',
    ],
  ])("[INF-60] %s: %p gets a message that names it, and the default", (name, value, problem) => {
    expect(parseOptions({ [name]: value })).toEqual({ options: DEFAULTS, problems: [problem] });
  });

  test("[INF-60] an unknown option is named, and the good ones still hold", () => {
    const { options, problems } = parseOptions({ treshold: 5, windowMs: 7 });
    expect(options).toEqual({ ...DEFAULTS, windowMs: 7 });
    expect(problems).toEqual([
      'Option "treshold" is unknown and has no effect. Known options: infinity, threshold, windowMs, streamGuard, streamThreshold, ' +
        "streamRecovery, streamMaxRecoveries, streamIdleWaitMs, logFile, notify.",
    ]);
    expect(parseOptions({ constructor: 1 }).problems).toHaveLength(1);
  });

  test.each(["doomLoop", "antiLoop"])("[INF-60] %s asks for a guard that is not built yet", (name) => {
    for (const value of [true, {}, { threshold: 4 }, "yes"]) {
      expect(parseOptions({ [name]: value })).toEqual({
        options: DEFAULTS,
        problems: [`Option "${name}" asks for a guard that this version does not have. It has no effect.`],
      });
    }
    expect(parseOptions({ [name]: false })).toEqual({ options: DEFAULTS, problems: [] });
  });

  test("[INF-60] a value that JSON can't hold is bad, and no fault", () => {
    const circular: unknown[] = [];
    circular.push(circular);
    for (const value of [3n, circular, () => 3, Symbol("three")]) {
      const { options, problems } = parseOptions({ threshold: value });
      expect(options).toEqual(DEFAULTS);
      expect(problems).toEqual([
        expect.stringMatching(/^Option "threshold" must be .*, not \w+\. The default is used: 3\.$/),
      ]);
    }
  });

  test.each([
    [["a"], '["a"]'],
    ["x", '"x"'],
    [5, "5"],
  ])("[INF-60] options that are no object: %p", (raw, shown) => {
    expect(parseOptions(raw)).toEqual({
      options: DEFAULTS,
      problems: [`The options must be an object, not ${shown}. The defaults are used.`],
    });
  });
});
