/** The options of the guard: their defaults, and what is said about a bad one. */

import { isRecord } from "./canonical.ts";

/** The options after validation. Times are milliseconds. */
export interface Options {
  /** False takes the guard away that this package's entry is. */
  readonly infinity: boolean;
  readonly threshold: number;
  readonly windowMs: number;
  readonly streamGuard: boolean;
  readonly streamThreshold: number;
  readonly streamRecovery: boolean;
  readonly streamMaxRecoveries: number;
  readonly streamIdleWaitMs: number;
  /** Where the log goes; undefined means the default file. */
  readonly logFile: string | undefined;
}

/** Valid options, and one sentence for each bad or unknown one. */
export interface ParsedOptions {
  readonly options: Options;
  readonly problems: readonly string[];
}

/** What is used when an option is absent or bad. */
export const DEFAULTS: Options = Object.freeze({
  infinity: true,
  threshold: 3,
  windowMs: 60_000,
  streamGuard: true,
  streamThreshold: 3,
  streamRecovery: true,
  streamMaxRecoveries: 2,
  streamIdleWaitMs: 10_000,
  logFile: undefined,
});

interface Rule {
  readonly wanted: string;
  accepts(value: unknown): boolean;
}

const BOOLEAN: Rule = { wanted: "true or false", accepts: (value) => typeof value === "boolean" };

const RULES: Readonly<Record<string, Rule>> = {
  infinity: BOOLEAN,
  threshold: { wanted: "an integer of at least 2", accepts: (value) => integer(value, 2, Infinity) },
  windowMs: { wanted: "a positive number of milliseconds", accepts: (value) => number(value, 0) && value !== 0 },
  streamGuard: BOOLEAN,
  streamThreshold: { wanted: "an integer from 3 to 10", accepts: (value) => integer(value, 3, 10) },
  streamRecovery: BOOLEAN,
  streamMaxRecoveries: { wanted: "an integer from 0 to 5", accepts: (value) => integer(value, 0, 5) },
  streamIdleWaitMs: {
    wanted: "a number of milliseconds from 100 to 60000",
    accepts: (value) => number(value, 100, 60_000),
  },
  logFile: { wanted: "a path", accepts: (value) => typeof value === "string" && value.trim() !== "" },
  // Accepted because older configurations hold it. It does nothing.
  notify: { wanted: "anything", accepts: () => true },
};

/** Options that add the other guards of this package. None of them is built yet: to ask for one is refused. */
const NOT_BUILT: ReadonlySet<string> = new Set(["doomLoop", "antiLoop"]);

/** Validates `raw` as OpenCode or the wrapper form gives it. Never throws; a bad option falls back to its default. */
export function parseOptions(raw: unknown): ParsedOptions {
  if (raw === undefined || raw === null) return { options: DEFAULTS, problems: [] };
  if (!isRecord(raw)) {
    return {
      options: DEFAULTS,
      problems: [`The options must be an object, not ${shown(raw)}. The defaults are used.`],
    };
  }
  const problems: string[] = [];
  const chosen: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(raw)) {
    if (value === undefined) continue;
    const problem = problemWith(name, value);
    if (problem !== undefined) problems.push(problem);
    else if (Object.hasOwn(DEFAULTS, name)) chosen[name] = value;
  }
  return { options: { ...DEFAULTS, ...chosen }, problems };
}

function problemWith(name: string, value: unknown): string | undefined {
  if (NOT_BUILT.has(name)) {
    if (value === false) return undefined;
    return `Option "${name}" asks for a guard that this version does not have. It has no effect.`;
  }
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  if (rule === undefined) {
    return `Option "${name}" is unknown and has no effect. Known options: ${Object.keys(RULES).join(", ")}.`;
  }
  if (rule.accepts(value)) return undefined;
  return `Option "${name}" must be ${rule.wanted}, not ${shown(value)}. The default is used: ${defaultOf(name)}.`;
}

function defaultOf(name: string): string {
  const value = DEFAULTS[name as keyof Options];
  return value === undefined ? "loop-detector.log in OpenCode's global config folder" : String(value);
}

function integer(value: unknown, low: number, high: number): boolean {
  return Number.isInteger(value) && number(value, low, high);
}

function number(value: unknown, low: number, high = Infinity): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= low && value <= high;
}

function shown(value: unknown): string {
  if (typeof value === "number") return String(value);
  try {
    return (JSON.stringify(value) ?? typeof value).slice(0, 60);
  } catch {
    // A wrapper file can give what JSON can't hold.
    return typeof value;
  }
}
