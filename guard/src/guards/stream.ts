/** The stream guard: watches the prose of every session and hands a loop to that session's recovery. */

import type { Log } from "../core/log.ts";
import type { Options } from "../core/options.ts";
import { MessageProse } from "../detectors/prose.ts";
import type { Finding } from "../detectors/repetition.ts";
import { Recovery } from "./recovery.ts";
import type { SessionControl, Speaker } from "./session-control.ts";

/** Bounds of the state. The least recently used session and the oldest message go first. */
const MOST_SESSIONS = 100;
const MOST_MESSAGES = 8;
const REMEMBERED_EVENTS = 64;

/** An assistant message as its host describes it. */
export interface AssistantMessage {
  readonly id: string;
  readonly completed: boolean;
  readonly speaker: Speaker;
  /** True for a compaction, which can be stopped but not continued. */
  readonly summary: boolean;
}

interface Message {
  readonly prose: MessageProse;
  info: AssistantMessage;
}

interface Session {
  readonly messages: Map<string, Message>;
  readonly recovery: Recovery;
  /** Ids of the latest delta events, to tell a delta that comes twice from one that repeats the text before it. */
  readonly events: Set<string>;
  child: boolean;
}

/** What the stream guard is told. Session, message and part are ids; no method throws or waits. */
export class StreamGuard {
  readonly #options: Options;
  readonly #control: SessionControl;
  readonly #log: Log;
  readonly #sessions = new Map<string, Session>();

  constructor(options: Options, control: SessionControl, log: Log) {
    this.#options = options;
    this.#control = control;
    this.#log = log;
  }

  /** A session exists; `child` is true for a subagent's. */
  session(id: string, child: boolean): void {
    this.#session(id).child = child;
  }

  /** A session was deleted: whatever was pending is cancelled. */
  deleted(id: string): void {
    this.#sessions.get(id)?.recovery.cancel("session deleted");
    this.#sessions.delete(id);
  }

  /** OpenCode is leaving: nothing may be pending. */
  dispose(): void {
    for (const id of [...this.#sessions.keys()]) this.deleted(id);
  }

  /** An assistant message began, changed or was completed. A completed one is no longer watched. */
  assistantMessage(sessionId: string, info: AssistantMessage): void {
    const { messages } = this.#session(sessionId);
    const known = messages.get(info.id);
    if (info.completed) messages.delete(info.id);
    else if (known !== undefined) known.info = info;
    else messages.set(info.id, { prose: new MessageProse(this.#options.streamThreshold), info });
    dropOldest(messages, MOST_MESSAGES);
  }

  /** A user message: the prose starts empty. A real one, typed by the user, also resets the recovery. */
  userMessage(sessionId: string, messageId: string, real: boolean): void {
    const session = this.#session(sessionId);
    clearProse(session);
    if (real && !session.recovery.sent(messageId)) session.recovery.userSpoke();
  }

  /** Something was done, or the provider is asked again: the prose starts empty. */
  interruption(sessionId: string): void {
    const session = this.#sessions.get(sessionId);
    if (session !== undefined) clearProse(session);
  }

  /** The whole text of a live text part. */
  snapshot(sessionId: string, messageId: string, part: string, text: string): void {
    const session = this.#sessions.get(sessionId);
    const message = session?.messages.get(messageId);
    if (session === undefined || message === undefined) return;
    this.#judge(session, message, message.prose.snapshot(part, text));
  }

  /** More text of a part. */
  delta(sessionId: string, messageId: string, part: string, text: string, event: string | undefined): void {
    const session = this.#sessions.get(sessionId);
    const message = session?.messages.get(messageId);
    if (session === undefined || message === undefined || seenBefore(session.events, event)) return;
    this.#judge(session, message, message.prose.delta(part, text));
  }

  #judge(session: Session, message: Message, finding: Finding | undefined): void {
    if (finding === undefined) return;
    const { speaker, summary } = message.info;
    clearProse(session);
    // A message whose loop is being dealt with is left out: its last snapshot still comes, with the whole text.
    if (session.recovery.start({ finding, speaker, resumable: !session.child && !summary })) message.prose.close();
  }

  #session(id: string): Session {
    const session = this.#sessions.get(id) ?? {
      messages: new Map<string, Message>(),
      recovery: new Recovery(id, this.#options, this.#control, this.#log),
      events: new Set<string>(),
      child: false,
    };
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    if (this.#sessions.size > MOST_SESSIONS) this.#forgetOne();
    return session;
  }

  #forgetOne(): void {
    for (const [id, session] of this.#sessions) {
      if (session.recovery.active) continue;
      this.#sessions.delete(id);
      return;
    }
  }
}

function clearProse(session: Session): void {
  for (const message of session.messages.values()) message.prose.clear();
}

function seenBefore(events: Set<string>, event: string | undefined): boolean {
  if (event === undefined) return false;
  if (events.has(event)) return true;
  events.add(event);
  dropOldest(events, REMEMBERED_EVENTS);
  return false;
}

function dropOldest(entries: Set<string> | Map<string, unknown>, most: number): void {
  if (entries.size <= most) return;
  const oldest = entries.keys().next();
  if (!oldest.done) entries.delete(oldest.value);
}
