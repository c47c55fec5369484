/** The decision log: one JSON line for each thing that the guard decided. */

import { appendFileSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Facts of one line: names, ids, counts. Never arguments or output of the model. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where decisions are recorded. */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
}

/**
 * Returns a log that appends to `file` and creates its folder when needed.
 * Lines are written at once, because `opencode run` ends with the turn that the guard stops.
 * A log that can't be written is no reason to disturb OpenCode: the line is dropped.
 */
export function fileLog(file: string): Log {
  const write = (level: string, event: string, fields: LogFields = {}): void => {
    const line = JSON.stringify({ time: new Date().toISOString(), level, guard: "infinity", event, ...fields });
    try {
      mkdirSync(dirname(file), { recursive: true });
      appendFileSync(file, `${line}\n`);
    } catch {
      // No place to say so: the log is the place.
    }
  };
  return {
    info: (event, fields) => write("info", event, fields),
    warn: (event, fields) => write("warn", event, fields),
  };
}
