/** Events of a session as OpenCode sends them (opencode-facts.md C). */

import type { Hooks } from "@opencode-ai/plugin";
import { emit } from "./plugin.ts";

/** One sentence that loops when it comes three times. */
export const LOOP = "Let me check the logs. ";

/** Speaks in one session through the hooks of a plugin. */
export class Talk {
  readonly hooks: Hooks;
  readonly session: string;
  #events = 0;
  #messages = 0;

  constructor(hooks: Hooks, session = "ses_1") {
    this.hooks = hooks;
    this.session = session;
  }

  get message(): string {
    return `msg_${this.#messages}`;
  }

  send(type: string, properties: object, id?: string): Promise<void> {
    this.#events += 1;
    return emit(this.hooks, type, properties, id ?? `evt_${this.session}_${this.#events}`);
  }

  /** A user message; `parts` are those of the chat.message hook. */
  async user(parts: object[] = [{ type: "text", text: "go" }], id = "msg_user"): Promise<void> {
    await this.hooks["chat.message"]!({ sessionID: this.session } as never, { message: { id }, parts } as never);
  }

  /** Begins an assistant message with an empty text part. */
  async assistant(more: object = {}): Promise<void> {
    this.#messages += 1;
    await this.update({ time: { created: 1 }, ...more });
    await this.part("text", { text: "" });
  }

  async update(more: object): Promise<void> {
    const info = { id: this.message, sessionID: this.session, role: "assistant", ...more };
    await this.send("message.updated", { info });
  }

  async part(type: string, more: object = {}, id = `prt_${type}`): Promise<void> {
    await this.send("message.part.updated", {
      part: { id, type, sessionID: this.session, messageID: this.message, ...more },
    });
  }

  async delta(delta: string, part = "prt_text", event?: string): Promise<void> {
    await this.send(
      "message.part.delta",
      { sessionID: this.session, messageID: this.message, partID: part, field: "text", delta },
      event,
    );
  }

  /** A whole message that loops. */
  async loop(more: object = {}): Promise<void> {
    await this.assistant(more);
    await this.delta(LOOP.repeat(3));
  }
}
