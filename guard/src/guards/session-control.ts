/** What the stream guard needs from its host. A host implements it; nothing here knows OpenCode. */

/** How a call to the host ended. `reason` is short and holds no text of the session. */
export type Outcome = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** The same for the question whether a session is idle. */
export type IdleOutcome =
  { readonly ok: true; readonly idle: boolean } | { readonly ok: false; readonly reason: string };

/** Who was speaking when a turn was cut. Fields that are not known are absent. */
export interface Speaker {
  readonly agent?: string;
  readonly model?: { readonly providerID: string; readonly modelID: string };
  readonly variant?: string;
}

/** One synthetic user message. `messageId` comes from `ownMessageId`. */
export interface Continuation {
  readonly messageId: string;
  readonly speaker: Speaker;
  readonly text: string;
}

/** Calls to the host. They never reject: a failure is an outcome. An aborted `signal` gives the call up. */
export interface SessionControl {
  abort(session: string): Promise<Outcome>;
  idle(session: string, signal: AbortSignal): Promise<IdleOutcome>;
  resume(session: string, continuation: Continuation, signal: AbortSignal): Promise<Outcome>;
  /** A new message id that sorts after every message so far. */
  ownMessageId(): string;
  toast(variant: "info" | "warning" | "error", message: string): void;
}
