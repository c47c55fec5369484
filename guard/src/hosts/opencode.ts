/** The guard as a plugin of OpenCode 1.18: hooks in, decisions out. */

import type { Hooks, PluginInput, PluginOptions } from "@opencode-ai/plugin";
import { isRecord } from "../core/canonical.ts";
import { fileLog, type Log } from "../core/log.ts";
import { parseOptions } from "../core/options.ts";
import { optionPath } from "../core/paths.ts";
import { CallGuard } from "../guards/calls.ts";
import { Decisions } from "../guards/decisions.ts";
import { StreamGuard } from "../guards/stream.ts";
import { GUARD_ID, OpenCodeControl } from "./client.ts";
import { readEvent } from "./events.ts";
import { guardTools } from "./tools.ts";

/** What OpenCode hands to a plugin, and the options of the wrapper form in `config`. */
export type AntiLoopInput = PluginInput & { readonly config?: PluginOptions };

/**
 * Builds the hooks of one OpenCode instance. Options come as the second argument (tuple form of the configuration)
 * or as `config` (wrapper form). All state lives in this call: OpenCode shares modules between instances
 * (opencode-facts.md G), so nothing may live in a module.
 */
export async function AntiLoop(input: AntiLoopInput, tupleOptions?: PluginOptions): Promise<Hooks> {
  const { options, problems } = parseOptions(tupleOptions ?? input.config);
  const log = fileLog(optionPath(options.logFile ?? "loop-detector.log"));
  for (const problem of problems) log.warn("option.bad", { problem });
  const control = new OpenCodeControl(input.client);
  const unseen = [...problems];
  // Bad options are shown at a message: while plugins load, no interface is there to show a toast.
  const tellProblems = (): void => {
    for (const problem of unseen.splice(0)) control.toast("warning", problem);
  };
  if (!options.infinity) return { "chat.message": async () => shielded(log, "chat.message", tellProblems) };
  const calls = new CallGuard(options, log);
  const stream = options.streamGuard ? new StreamGuard(options, control, log) : undefined;
  return {
    tool: guardTools(new Decisions(calls, options.threshold, log)),
    event: async ({ event }) => shielded(log, "event", () => readEvent(event, { calls, stream })),
    "chat.message": async ({ sessionID }, { message, parts }) =>
      shielded(log, "chat.message", () => {
        stream?.userMessage(sessionID, message.id, parts.some(isTyped));
        tellProblems();
      }),
    "tool.execute.before": async ({ tool, sessionID }, { args }) => {
      const rejection = shielded(log, "tool.execute.before", () => calls.before(sessionID, tool, args));
      if (rejection !== undefined) throw new Error(rejection);
    },
    dispose: async () => shielded(log, "dispose", () => stream?.dispose()),
  };
}

/** Runs `decide`; a fault of the guard is logged and must not reach OpenCode. */
function shielded<T>(log: Log, hook: string, decide: () => T): T | undefined {
  try {
    return decide();
  } catch (error) {
    log.warn("guard.fault", { hook, error: error instanceof Error ? error.name : typeof error });
    return undefined;
  }
}

/**
 * True for a part that the user gave. A message of plugins and of OpenCode itself is synthetic throughout; one of the
 * user can hold synthetic parts too, with the content of the files that it names.
 */
function isTyped(part: { type: string; synthetic?: boolean; metadata?: unknown }): boolean {
  const own = isRecord(part.metadata) && part.metadata["guard"] === GUARD_ID;
  return part.synthetic !== true && part.type !== "compaction" && !own;
}
