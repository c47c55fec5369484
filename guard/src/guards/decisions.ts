/** The decisions that a model records: loop_check reports, loop_decide authorises one retry, a change or a stop. */

import { callKey } from "../core/call-key.ts";
import type { Log } from "../core/log.ts";
import type { CallCounter } from "../detectors/call-counter.ts";
import type { CallGuard } from "./calls.ts";
import { FieldReader } from "./fields.ts";

const EXPLANATIONS = ["observedResult", "rationale", "expectedInformation"] as const;
const LEAST_CHARACTERS = 20;
const TOOL_NAME = /^[\w.-]{1,64}$/u;
const DECISIONS = ["continue", "change", "stop"] as const;

interface Decision {
  readonly decision: (typeof DECISIONS)[number];
  readonly tool: string;
  readonly key: string;
}

/** Answers the guard's own tools. Both methods throw an error for the model that names every bad field. */
export class Decisions {
  readonly #calls: CallGuard;
  readonly #threshold: number;
  readonly #log: Log;

  constructor(calls: CallGuard, threshold: number, log: Log) {
    this.#calls = calls;
    this.#threshold = threshold;
    this.#log = log;
  }

  /** loop_check: how one planned call stands. Grants nothing. */
  check(session: string, raw: unknown): string {
    const fields = new FieldReader(raw);
    const tool = fields.text("toolName", 1);
    const args = fields.jsonObject("argsJson");
    fields.finish("loop_check");
    const { count, blocked, authorised } = this.#calls.counter(session).inspect(callKey(tool, args), Date.now());
    return [
      `tool: ${tool}`,
      `count: ${count} of ${this.#threshold}`,
      `blocked: ${blocked ? "yes" : "no"}`,
      `fresh cycle authorised: ${authorised ? "yes" : "no"}`,
    ].join("\n");
  }

  /** loop_decide: records a decision and does what it allows, for one call only. */
  decide(session: string, raw: unknown): string {
    const decision = readDecision(raw);
    const counter = this.#calls.counter(session);
    const answer = this.#apply(decision, counter);
    // The name comes from the model: what is no name could be anything, an argument too.
    const tool = TOOL_NAME.test(answer.tool) ? answer.tool : undefined;
    this.#log.info(`decision.${decision.decision}`, { session, tool });
    return answer.text;
  }

  #apply({ decision, tool, key }: Decision, counter: CallCounter): { tool: string; text: string } {
    if (decision === "stop") return stop(counter);
    const text = decision === "continue" ? this.#continue(tool, key, counter) : change(tool, key, counter);
    return { tool, text };
  }

  #continue(tool: string, key: string, counter: CallCounter): string {
    const { blocked } = counter.inspect(key, Date.now());
    counter.authorise(key);
    const note = blocked
      ? "No other call is affected."
      : "Note that this call was not blocked: check nextTool and argsJson if you meant another one.";
    return (
      `Recorded: continue. The next run of ${tool} with exactly these arguments counts as 1 of ${this.#threshold}. ` +
      note
    );
  }
}

function readDecision(raw: unknown): Decision {
  const fields = new FieldReader(raw);
  const decision = fields.choice("decision", DECISIONS);
  for (const name of EXPLANATIONS) fields.text(name, LEAST_CHARACTERS);
  const tool = fields.text("nextTool", decision === "stop" ? 0 : 1);
  const args = fields.jsonObject("argsJson");
  fields.finish("loop_decide");
  return { decision, tool, key: callKey(tool, args) };
}

function change(tool: string, key: string, counter: CallCounter): string {
  if (counter.inspect(key, Date.now()).known) {
    throw new Error(
      `loop_decide: nextTool ${tool} with these argsJson is no change: this call was already made in this session. ` +
        "Name a call that was not made yet, or decide continue to retry this one. Nothing was recorded.",
    );
  }
  return `Recorded: change. Nothing was reset and nothing is blocked by it; ${tool} runs like any other call.`;
}

function stop(counter: CallCounter): { tool: string; text: string } {
  const tool = counter.abandonLastBlocked();
  if (tool === undefined) {
    throw new Error(
      "loop_decide: decision stop abandons a blocked call, and nothing is blocked in this session. " +
        "Nothing was recorded.",
    );
  }
  return {
    tool,
    text: `Recorded: stop. The last blocked call, of ${tool}, stays blocked. Every other call works as before.`,
  };
}
