/** What makes two tool calls the same call. */

import { createHash } from "node:crypto";
import { canonicalJson, isRecord } from "./canonical.ts";

/** Tools that run a command line. Their other fields say how to show or limit the run, not what runs. */
const SHELLS: ReadonlySet<string> = new Set(["bash", "shell", "powershell"]);
const COSMETIC: ReadonlySet<string> = new Set(["description", "timeout"]);

/**
 * Returns the key of a call: equal for the same tool with the same arguments.
 * Key order does not matter; `description` and `timeout` of a shell do not count; the command counts byte for byte.
 * The key is a digest, so that no argument stays in memory.
 */
export function callKey(tool: string, args: unknown): string {
  const counted = SHELLS.has(tool) && isRecord(args) ? withoutCosmetics(args) : args;
  return createHash("sha256")
    .update(JSON.stringify(tool))
    .update(canonicalJson(counted ?? {}))
    .digest("base64");
}

function withoutCosmetics(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !COSMETIC.has(name)));
}
