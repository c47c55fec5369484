/** loop_check and loop_decide as tools of OpenCode. */

import type { Hooks } from "@opencode-ai/plugin";
import type { Decisions } from "../guards/decisions.ts";

type Tools = NonNullable<Hooks["tool"]>;
type Tool = Tools[string];

const CHECK = {
  toolName: text("Exact name of the tool that you plan to call."),
  argsJson: text("Its arguments: a JSON object encoded as a string."),
};

const DECIDE = {
  decision: {
    type: "string",
    enum: ["continue", "change", "stop"],
    description:
      "continue: retry a blocked call in a fresh cycle. change: take another approach. stop: give the blocked call up.",
  },
  observedResult: text("What the attempts so far really showed. At least 20 characters."),
  rationale: text("Why this decision is useful now. At least 20 characters."),
  expectedInformation: text("What new evidence you expect, or what is missing. At least 20 characters."),
  nextTool: text("Exact name of the tool to retry or to change to. May be empty for stop."),
  argsJson: text("Its arguments: a JSON object encoded as a string. May be {} for stop."),
};

/** Returns the tool hook. */
export function guardTools(decisions: Decisions): Tools {
  return {
    loop_check: tool(
      "Shows how often one exact call ran and whether it is blocked. Grants nothing.",
      CHECK,
      (args, context) => decisions.check(context.sessionID, args),
    ),
    loop_decide: tool(
      "Records a decision about a call that was blocked with [ANTI-LOOP]. Not needed before a different call.",
      DECIDE,
      (args, context) => decisions.decide(context.sessionID, args),
    ),
  };
}

function tool(description: string, args: object, run: (args: unknown, context: { sessionID: string }) => string): Tool {
  // OpenCode takes plain JSON Schema properties (opencode-facts.md L). Its type knows only zod, a runtime dependency.
  return { description, args: args as Tool["args"], execute: async (given, context) => run(given, context) };
}

function text(description: string): object {
  return { type: "string", description };
}
