/** Reads OpenCode's bus events and tells the guards what they mean. */

import { isRecord } from "../core/canonical.ts";
import type { CallGuard } from "../guards/calls.ts";
import type { Speaker } from "../guards/session-control.ts";
import type { StreamGuard } from "../guards/stream.ts";

type Fields = Record<string, unknown>;

/** Who hears of an event. */
export interface Listeners {
  readonly calls: CallGuard;
  readonly stream: StreamGuard | undefined;
}

/**
 * Reads one event. The plugin types of 1.18 know neither `message.part.delta` nor the event id, so an event is
 * read as plain data (its shapes: opencode-facts.md C). One of another shape is ignored.
 */
export function readEvent(event: unknown, { calls, stream }: Listeners): void {
  if (!isRecord(event) || !isRecord(event["properties"])) return;
  const { id, type, properties } = event as { id: unknown; type: unknown; properties: Fields };
  if (type === "message.part.delta") return readDelta(properties, text(id), stream);
  if (type === "message.part.updated") return readPart(properties["part"], stream);
  if (type === "message.updated") return readMessage(properties["info"], stream);
  if (type === "session.status") return readStatus(properties, stream);
  if (type === "session.created" || type === "session.updated") return readSession(properties["info"], stream);
  if (type === "session.deleted") readDeletion(properties, calls, stream);
}

/** Deltas of reasoning say `field: "text"` too: the part that they belong to tells them apart. */
function readDelta(properties: Fields, event: string | undefined, stream: StreamGuard | undefined): void {
  const { sessionID, messageID, partID, field, delta } = properties;
  if (field !== "text" || typeof delta !== "string") return;
  stream?.delta(String(sessionID), String(messageID), String(partID), delta, event);
}

function readPart(part: unknown, stream: StreamGuard | undefined): void {
  if (!isRecord(part)) return;
  const { sessionID, messageID, id, type } = part;
  if (type === "tool") stream?.interruption(String(sessionID));
  if (type !== "text" || part["synthetic"] === true || typeof part["text"] !== "string") return;
  stream?.snapshot(String(sessionID), String(messageID), String(id), part["text"]);
}

function readMessage(info: unknown, stream: StreamGuard | undefined): void {
  if (!isRecord(info) || info["role"] !== "assistant") return;
  const completed = isRecord(info["time"]) && info["time"]["completed"] !== undefined;
  const message = { id: String(info["id"]), completed, speaker: speakerOf(info), summary: info["summary"] === true };
  stream?.assistantMessage(String(info["sessionID"]), message);
}

function speakerOf(info: Fields): Speaker {
  const agent = text(info["agent"]) ?? text(info["mode"]);
  const variant = text(info["variant"]);
  const providerID = text(info["providerID"]);
  const modelID = text(info["modelID"]);
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(providerID === undefined || modelID === undefined ? {} : { model: { providerID, modelID } }),
    ...(variant === undefined ? {} : { variant }),
  };
}

/** A retry asks the provider anew, and the answer begins again in the same message. */
function readStatus({ sessionID, status }: Fields, stream: StreamGuard | undefined): void {
  if (isRecord(status) && status["type"] === "retry") stream?.interruption(String(sessionID));
}

function readSession(info: unknown, stream: StreamGuard | undefined): void {
  if (isRecord(info)) stream?.session(String(info["id"]), typeof info["parentID"] === "string");
}

function readDeletion({ sessionID, info }: Fields, calls: CallGuard, stream: StreamGuard | undefined): void {
  const session = text(sessionID) ?? (isRecord(info) ? text(info["id"]) : undefined);
  if (session === undefined) return;
  calls.forget(session);
  stream?.deleted(session);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
