/** Loads the plugin into a make-believe OpenCode. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Hooks } from "@opencode-ai/plugin";
import plugin from "../../src/index.ts";
import { scratchFolder } from "../scratch.ts";

type Context = Parameters<typeof plugin.server>[0];

/** A plugin whose log goes to a file of its own. */
export interface Loaded {
  readonly hooks: Hooks;
  readonly logLines: () => Record<string, unknown>[];
}

/** A log file in a new folder. */
export function freshLogFile(): string {
  return join(scratchFolder(), "guard.log");
}

/** Loads the plugin with the tuple form of its options. */
export async function load(options: Record<string, unknown> = {}, client: object = {}): Promise<Loaded> {
  const logFile = freshLogFile();
  const hooks = await plugin.server({ client, directory: "/ws" } as unknown as Context, { logFile, ...options });
  const read = (): string => {
    try {
      return readFileSync(logFile, "utf8");
    } catch {
      return "";
    }
  };
  return {
    hooks,
    logLines: () =>
      read()
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
  };
}

/** Runs the before-hook; returns the message of its rejection, or "runs". */
export async function call(hooks: Hooks, session: string, tool: string, args: unknown = {}): Promise<string> {
  try {
    await hooks["tool.execute.before"]!({ tool, sessionID: session, callID: "c" }, { args });
    return "runs";
  } catch (error) {
    return (error as Error).message;
  }
}

/** Sends an event as OpenCode's bus does. */
export async function emit(hooks: Hooks, type: string, properties: object, id = ""): Promise<void> {
  await hooks.event!({ event: { id, type, properties } as never });
}
