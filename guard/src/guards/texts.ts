/** Every text by which the guard speaks to the model. */

/** The marker of a blocked call. */
export const BLOCK_MARKER = "[ANTI-LOOP]";

/** What the model sees instead of the result of a blocked call. `count` is the number of this call. */
export function blockText(tool: string, count: number, windowMs: number): string {
  return [
    `${BLOCK_MARKER} Blocked before it ran: ${tool} was called with the same arguments ${count} times within ${seconds(windowMs)}.`,
    "Nothing was executed. Only this exact call is blocked; every other call works at once and needs no decision.",
    "Use the results that you already have, or make a different call that can bring new information.",
    "If this very call is needed again because something has changed, justify it first with loop_decide (decision continue).",
  ].join("\n");
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
