/** OpenCode's client as the stream guard needs it. */

import type { PluginInput } from "@opencode-ai/plugin";
import { isRecord } from "../core/canonical.ts";
import type { Continuation, IdleOutcome, Outcome, SessionControl } from "../guards/session-control.ts";
import { ascendingMessageId } from "./message-id.ts";

/** The value of `metadata.guard` on each text part that this guard sends. */
export const GUARD_ID = "opencode-infinity-loop-guard";

type Client = PluginInput["client"];
type Variant = Parameters<SessionControl["toast"]>[0];

/** Calls OpenCode. The client does not throw on an HTTP error but returns it in `error` (opencode-facts.md L). */
export class OpenCodeControl implements SessionControl {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  abort(session: string): Promise<Outcome> {
    return outcome(() => this.#client.session.abort({ path: { id: session } }));
  }

  /** The status lists only the sessions that are not idle (opencode-facts.md C). */
  async idle(session: string, signal: AbortSignal): Promise<IdleOutcome> {
    let listed: unknown;
    const asked = await outcome(async () => {
      const answer = await this.#client.session.status({ signal });
      listed = answer.data;
      return answer;
    });
    if (!asked.ok) return asked;
    if (!isRecord(listed)) return { ok: false, reason: "no status in the answer" };
    const status = listed[session];
    return { ok: true, idle: status === undefined || (isRecord(status) && status["type"] === "idle") };
  }

  resume(session: string, { messageId, speaker, text }: Continuation, signal: AbortSignal): Promise<Outcome> {
    const parts = [{ type: "text" as const, text, synthetic: true, metadata: { guard: GUARD_ID } }];
    return outcome(() =>
      this.#client.session.promptAsync({
        path: { id: session },
        body: { messageID: messageId, ...speaker, parts },
        signal,
      }),
    );
  }

  ownMessageId(): string {
    return ascendingMessageId(Date.now());
  }

  /** Nobody waits for a toast, and without an interface to show it nothing is lost. */
  toast(variant: Variant, message: string): void {
    void outcome(() => this.#client.tui.showToast({ body: { title: "Loop guard", message, variant } }));
  }
}

async function outcome(
  call: () => Promise<{ error?: unknown; response?: { ok: boolean; status: number } }>,
): Promise<Outcome> {
  try {
    const { error, response } = await call();
    if (error === undefined && response?.ok !== false) return { ok: true };
    return { ok: false, reason: response === undefined ? "error" : `HTTP ${response.status}` };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.name : "no answer" };
  }
}
