// The observer plugin: it tells the harness what happens inside OpenCode's process and, when asked, spoils a guard's API calls.
// It is loaded first and changes nothing that a guard or a model can see. Facts: opencode-facts.md A and L.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { isAbsolute, resolve } from "node:path"

import { patchFetch } from "./calls.mjs"
import { patchDate, patchTimers } from "./clock.mjs"
import { clip, Link } from "./link.mjs"

const KEY = Symbol.for("guardlab.probe")
const WATCHED = new Set(["session.status", "session.idle", "session.error", "session.deleted", "session.created"])

/** Begin once a process: OpenCode shares one module cache between its instances (opencode-facts.md G). */
function start(options) {
  if (globalThis[KEY]) return globalThis[KEY]
  const clock = { offset: 0 }
  const state = { link: new Link(options.control, options.token, clock), clock, instances: new Map(), roots: new Map(), calls: 0, timers: 0 }
  globalThis[KEY] = state
  patchFetch(state)
  patchTimers(state)
  patchDate(state)
  watchLoading(state)
  return state
}

/** The private copies of guards push here as their last statement; a push before the probe came is kept by the array. */
function watchLoading(state) {
  const tell = ({ directory, guard, url }) => state.link.send("loaded", directory, { guard, url })
  const early = globalThis.__guardlab ?? []
  globalThis.__guardlab = { push: tell }
  early.forEach(tell)
}

function hashOf(directory, args) {
  if (typeof args?.filePath !== "string") return null
  try {
    const path = isAbsolute(args.filePath) ? args.filePath : resolve(directory, args.filePath)
    return createHash("sha256").update(readFileSync(path)).digest("hex")
  } catch {
    return null
  }
}

function watchEvent(instance, tell, event) {
  const { type, properties = {} } = event
  const session = properties.sessionID ?? properties.info?.id
  // By any event, not its creation alone: a process that was started again creates nothing.
  if (session?.startsWith("ses_")) instance.sessions.add(session)
  if (!WATCHED.has(type)) return
  tell("hook.event", { type, id: event.id, status: properties.status?.type ?? null }, session)
}

function hooksOf(state, instance) {
  const { directory } = instance
  const tell = (kind, data, session) => state.link.send(kind, directory, data, session)
  return {
    event: ({ event }) => watchEvent(instance, tell, event),
    config: () => tell("config", {}),
    dispose: () => {
      tell("disposed", {})
      for (const [root, owner] of state.roots) if (owner === directory) state.roots.delete(root)
      state.instances.delete(directory)
    },
    "chat.message": (input, output) => {
      const text = output.parts.map((part) => part.text ?? "").join("\n")
      const synthetic = output.parts.length > 0 && output.parts.every((part) => part.synthetic === true)
      const metadata = output.parts.map((part) => part.metadata ?? null)
      tell("message.user", { message: output.message?.id ?? null, text: clip(text), synthetic, metadata, agent: output.message?.agent, model: output.message?.model }, input.sessionID)
    },
    "tool.execute.before": (input, output) =>
      tell("hook.before", { call: input.callID, tool: input.tool, disk: hashOf(directory, output.args) }, input.sessionID),
    "tool.execute.after": (input) =>
      tell("hook.after", { call: input.callID, tool: input.tool, disk: hashOf(directory, input.args) }, input.sessionID),
    "shell.env": (input, output) => {
      Object.assign(output.env, instance.shell, input.callID ? { GUARDLAB_CALL: input.callID } : {})
    },
  }
}

export default {
  id: "guardlab-probe",
  /** options: {control: "host:port", token, roots: [folder of a guard], api: {call: fault rule}, shell: variables} */
  server: async (context, options) => {
    const state = start(options)
    const instance = {
      directory: context.directory,
      origin: new URL(String(context.serverUrl)).origin,
      api: structuredClone(options.api ?? {}),
      shell: options.shell ?? {},
      sessions: new Set(),
    }
    state.instances.set(context.directory, instance)
    for (const root of options.roots ?? []) state.roots.set(root, context.directory)
    state.link.send("instance", context.directory, { guards: options.roots ?? [] })
    return hooksOf(state, instance)
  },
}
