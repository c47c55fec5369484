/** The call guard: rejects the matching call that goes too far, and nothing else. */

import { callKey } from "../core/call-key.ts";
import type { Log } from "../core/log.ts";
import { CallCounter, type CallLimits } from "../detectors/call-counter.ts";
import { blockText } from "./texts.ts";

/** The guard's own tools. They never count. */
const EXEMPT: ReadonlySet<string> = new Set(["loop_check", "loop_decide"]);

/** The call counters of every session of one OpenCode instance. Sessions share nothing. */
export class CallGuard {
  readonly #limits: CallLimits;
  readonly #log: Log;
  readonly #sessions = new Map<string, CallCounter>();

  constructor(limits: CallLimits, log: Log) {
    this.#limits = limits;
    this.#log = log;
  }

  /** Counts a call that is about to run. Returns the text to reject it with, or undefined when it may run. */
  before(session: string, tool: string, args: unknown): string | undefined {
    if (EXEMPT.has(tool)) return undefined;
    const { blocked, count } = this.counter(session).admit(callKey(tool, args), tool, Date.now());
    if (!blocked) return undefined;
    this.#log.info("call.blocked", { session, tool, count });
    return blockText(tool, this.#limits);
  }

  /** The counters of a session. No bound on memory drops them: a block must not vanish on its own. */
  counter(session: string): CallCounter {
    let counter = this.#sessions.get(session);
    if (counter === undefined) {
      counter = new CallCounter(this.#limits);
      this.#sessions.set(session, counter);
    }
    return counter;
  }

  /** Forgets a deleted session. */
  forget(session: string): void {
    this.#sessions.delete(session);
  }
}
