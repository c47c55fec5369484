/** A plugin on a make-believe client, one user message into a session. */

import { recordingClient, type Answers } from "./client.ts";
import { load } from "./plugin.ts";
import { Talk } from "./talk.ts";

/** Loads the plugin with `options` on a client that gives `answers`. */
export async function start(answers: Partial<Answers> = {}, options: Record<string, unknown> = {}) {
  const recorder = recordingClient(answers);
  const { hooks, logLines } = await load(options, recorder.client);
  const talk = new Talk(hooks);
  await talk.user();
  return { ...recorder, hooks, talk, events: () => logLines().map((line) => line["event"]), logLines };
}
