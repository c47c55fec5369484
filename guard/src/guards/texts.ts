/** Every text by which the guard speaks to the model. */

import type { CallLimits } from "../detectors/call-counter.ts";

/** The marker of a blocked call. */
export const BLOCK_MARKER = "[ANTI-LOOP]";

/** What the model sees instead of the result of a blocked call. */
export function blockText(tool: string, { threshold, windowMs }: CallLimits): string {
  const limit = `${threshold} equal calls within ${windowMs / 1000} s`;
  return [
    `${BLOCK_MARKER} Blocked before it ran: this call of ${tool} has reached the limit of ${limit}.`,
    "Nothing was executed. Only this exact call is blocked; every other call works at once and needs no decision.",
    "Use the results that you already have, or make a different call that can bring new information.",
    "If this very call is needed again because something has changed, justify it with loop_decide (decision continue).",
  ].join("\n");
}

/** The marker of a continuation after repeated prose. */
export const STREAM_MARKER = "[ANTI-LOOP STREAM]";

/** What the model is asked after its turn was cut. */
export function continuationText(): string {
  return [
    `${STREAM_MARKER} Your last output was stopped because it repeated the same text.`,
    "Look at the last result that you really have, and go on with the original task from there.",
    "Take a different, useful action now; do not announce it again and do not redo what is done.",
    "All permissions and tool limits hold as before. If no progress is possible, stop and name the reason once.",
  ].join("\n");
}
