/** Stops a looping turn and sets it going again: one state machine for each session. */

import { pause, within } from "../core/deadline.ts";
import type { Log } from "../core/log.ts";
import type { Options } from "../core/options.ts";
import type { Finding } from "../detectors/repetition.ts";
import type { IdleOutcome, Outcome, SessionControl, Speaker } from "./session-control.ts";
import { continuationText } from "./texts.ts";

/**
 * - watching: nothing to do, or the last recovery came to its end
 * - aborting: a loop was found and the turn is being aborted
 * - waiting: the abort succeeded; the session must become idle
 * - continuing: the continuation is being sent
 * - exhausted: a loop was stopped after the last allowed continuation
 * - cancelled: a user message or the end of the session made the recovery pointless
 */
type RecoveryState = "watching" | "aborting" | "waiting" | "continuing" | "exhausted" | "cancelled";

/** The loop that was found and who was speaking. `resumable` is false for a child session and a compaction. */
export interface Loop {
  readonly finding: Finding;
  readonly speaker: Speaker;
  readonly resumable: boolean;
}

type RecoveryOptions = Pick<Options, "streamRecovery" | "streamMaxRecoveries" | "streamIdleWaitMs">;

/** An abort of an unpaced stream has been seen to return after 41 s (opencode-facts.md L). */
const CALL_DEADLINE_MS = 60_000;
const IDLE_POLL_MS = 50;

/** The recovery of one session. It runs outside every hook, and one at a time. */
export class Recovery {
  readonly #session: string;
  readonly #options: RecoveryOptions;
  readonly #control: SessionControl;
  readonly #log: Log;
  #state: RecoveryState = "watching";
  #continuations = 0;
  /** Aborted when the attempt at hand is cancelled or over. */
  #attempt = new AbortController();
  #ownMessage: string | undefined;

  constructor(session: string, options: RecoveryOptions, control: SessionControl, log: Log) {
    this.#session = session;
    this.#options = options;
    this.#control = control;
    this.#log = log;
  }

  /** True while the session must not be forgotten. */
  get active(): boolean {
    return this.#state === "aborting" || this.#state === "waiting" || this.#state === "continuing";
  }

  /** True for the id of the last message that this recovery sent. */
  sent(messageId: string): boolean {
    return messageId === this.#ownMessage;
  }

  /**
   * Starts a recovery and returns at once. False when one is already on its way to abort or idle.
   * A continuation that waits for its answer does not hold up the next recovery, since its turn may be the one that
   * loops. It is given up, or its answer would end the recovery that has begun meanwhile.
   */
  start(loop: Loop): boolean {
    if (this.#state === "aborting" || this.#state === "waiting") return false;
    this.#attempt.abort();
    this.#attempt = new AbortController();
    this.#state = "aborting";
    // The abort goes out first: the stream is running.
    void this.#run(this.#attempt.signal, loop);
    this.#note("stream.loop", { ...loop.finding });
    this.#control.toast("warning", "The model repeats itself. Its turn is being stopped.");
    return true;
  }

  /** A real user message: whatever was pending is cancelled, and the allowance is whole again. */
  userSpoke(): void {
    this.cancel("user message");
    this.#continuations = 0;
    if (this.#state === "exhausted") this.#state = "watching";
  }

  /** Ends what is pending, except an abort on its way: the turn loops, whatever comes next. */
  cancel(reason: string): void {
    if (!this.active) return;
    this.#attempt.abort();
    this.#state = "cancelled";
    this.#note("stream.cancelled", { reason });
  }

  async #run(signal: AbortSignal, loop: Loop): Promise<void> {
    const aborted = await this.#call(this.#control.abort(this.#session));
    if (signal.aborted) return;
    if (!aborted.ok) return this.#fail("abort", aborted.reason);
    this.#note("stream.aborted");
    if (!loop.resumable || !this.#options.streamRecovery) return this.#stopOnly();
    if (this.#continuations >= this.#options.streamMaxRecoveries) return this.#exhaust();

    this.#state = "waiting";
    const idle = await this.#untilIdle(signal);
    if (signal.aborted) return;
    if (!idle.ok) return this.#fail("status", idle.reason);

    this.#state = "continuing";
    const sent = await this.#continue(loop.speaker, signal);
    if (signal.aborted) return;
    if (!sent.ok) return this.#fail("continuation", sent.reason);
    this.#state = "watching";
    this.#note("stream.continued", { continuation: this.#continuations, allowed: this.#options.streamMaxRecoveries });
  }

  #continue(speaker: Speaker, signal: AbortSignal): Promise<Outcome> {
    this.#continuations += 1;
    const messageId = this.#control.ownMessageId();
    this.#ownMessage = messageId;
    return this.#call(this.#control.resume(this.#session, { messageId, speaker, text: continuationText() }, signal));
  }

  /** Asks for the status until the session is idle. An idle event is no answer: it comes without the abort too. */
  async #untilIdle(signal: AbortSignal): Promise<Outcome> {
    const wait = this.#options.streamIdleWaitMs;
    const end = performance.now() + wait;
    const late = (): IdleOutcome => ({ ok: false, reason: `not idle within ${wait} ms` });
    for (;;) {
      const left = end - performance.now();
      const status = left > 0 ? await within(this.#control.idle(this.#session, signal), left, late) : late();
      if (!status.ok || status.idle || signal.aborted) return status;
      await pause(IDLE_POLL_MS);
    }
  }

  #call(call: Promise<Outcome>): Promise<Outcome> {
    return within(call, CALL_DEADLINE_MS, () => ({ ok: false, reason: `no answer within ${CALL_DEADLINE_MS} ms` }));
  }

  #stopOnly(): void {
    this.#state = "watching";
    this.#note("stream.stopped");
  }

  #exhaust(): void {
    this.#state = "exhausted";
    const allowed = this.#options.streamMaxRecoveries;
    this.#note("stream.exhausted", { allowed });
    const message = `The model repeated itself and was stopped for good: continuations are used up (${allowed} of ${allowed}).`;
    this.#control.toast("warning", `${message} Send a message to go on.`);
  }

  #fail(step: "abort" | "status" | "continuation", reason: string): void {
    this.#state = "watching";
    // A call that never answered must not linger.
    this.#attempt.abort();
    this.#log.warn("stream.failed", { session: this.#session, step, reason });
    this.#control.toast("error", `Recovery from repeated text failed at: ${step} (${reason}). It is not tried again.`);
  }

  #note(event: string, fields: Readonly<Record<string, string | number>> = {}): void {
    this.#log.info(event, { session: this.#session, ...fields });
  }
}
