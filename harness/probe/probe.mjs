// The observer plugin: it tells the harness what happens inside OpenCode's process and, when asked, spoils a guard's API calls.
// It is loaded first, runs unharmed in OpenCode's Bun, and changes nothing that a guard or a model can see. Facts: opencode-facts.md A and L.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import net from "node:net"
import { isAbsolute, resolve } from "node:path"

const KEY = Symbol.for("guardlab.probe")
const CLIP = 4000
const WATCHED = new Set(["session.status", "session.idle", "session.error", "session.deleted", "session.created"])
// A guard may poll or keep house with long timers; only one that can still act in this run holds "settled" back.
const LONGEST_TIMER_MS = 15_000

const now = () => performance.timeOrigin + performance.now()
const clip = (text) => (typeof text === "string" && text.length > CLIP ? `${text.slice(0, CLIP)}…` : text)

/** One line-wise JSON connection to the harness; entries keep their own time and sequence. */
class Link {
  constructor(address, token) {
    const [host, port] = address.split(":")
    this.sequence = 0
    this.waiting = new Map()
    this.socket = net.connect({ host, port: Number(port) })
    this.socket.setNoDelay(true)
    this.socket.unref()
    this.socket.on("error", () => {})
    let rest = ""
    this.socket.on("data", (bytes) => {
      const lines = (rest + bytes).split("\n")
      rest = lines.pop()
      for (const line of lines) this.obey(JSON.parse(line))
    })
    this.send("hello", null, { token, pid: process.pid })
  }

  send(kind, directory, data, session) {
    this.sequence += 1
    this.socket.write(`${JSON.stringify({ seq: this.sequence, t: now(), kind, directory, session, data })}\n`)
  }

  obey(order) {
    if (order.order === "clock") shared().clock.offset += order.ms
    if (order.order === "release") this.open(`${order.directory}\n${order.gate}`)
    this.send("pong", null, { id: order.id })
  }

  open(key) {
    const gate = this.gate(key)
    gate.opened = true
    gate.open()
  }

  gate(key) {
    if (!this.waiting.has(key)) {
      const gate = { opened: false }
      gate.promise = new Promise((done) => (gate.open = done))
      this.waiting.set(key, gate)
    }
    return this.waiting.get(key)
  }
}

/** What lives once a process: OpenCode shares one module cache between its instances. */
function shared() {
  return globalThis[KEY]
}

function start(options) {
  if (globalThis[KEY]) return globalThis[KEY]
  const state = { link: new Link(options.control, options.token), clock: { offset: 0 }, instances: new Map(), roots: new Map(), calls: 0, timers: 0 }
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

// ---- API calls of guards -------------------------------------------------------------------------------------------

/** Name a call as the SDK does: POST /session/ID/abort is session.abort; null for what is no call to OpenCode. */
function nameOf(method, path) {
  const session = /^\/session\/(ses[^/]*)(?:\/([a-z_]+))?/.exec(path)
  if (path === "/session/status") return "session.status"
  if (session?.[2] === "permissions") return "permission.reply"
  if (session?.[2] === "message") return method === "POST" ? "session.prompt" : "session.messages"
  if (session?.[2]) return `session.${session[2]}`
  if (session) return { GET: "session.get", DELETE: "session.delete", PATCH: "session.update" }[method] ?? "session"
  if (path === "/session") return method === "POST" ? "session.create" : "session.list"
  return path.slice(1).replaceAll("/", ".")
}

function headerOf(input, init, name) {
  return new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined)).get(name)
}

async function bodyOf(input, init) {
  try {
    const text = typeof init?.body === "string" ? init.body : input instanceof Request ? await input.clone().text() : ""
    return text ? JSON.parse(text) : {}
  } catch {
    return {}
  }
}

function describe(body) {
  const parts = Array.isArray(body.parts) ? body.parts : []
  const text = parts.map((part) => part.text ?? "").join("\n")
  return {
    keys: Object.keys(body),
    ...(parts.length ? { text: clip(text), synthetic: parts.every((part) => part.synthetic === true) } : {}),
    ...(body.message ? { text: clip(String(body.message)) } : {}),
    ...(body.agent ? { agent: body.agent } : {}),
    ...(body.model ? { model: body.model } : {}),
    ...(body.messageID ? { message: body.messageID } : {}),
  }
}

function patchFetch(state) {
  const real = globalThis.fetch
  const patched = async function fetch(input, init) {
    const url = new URL(input instanceof Request ? input.url : String(input))
    const instance = instanceOf(state, url, input, init)
    if (!instance) return real.call(globalThis, input, init)
    return observed(state, instance, real, { url, input, init })
  }
  globalThis.fetch = Object.assign(patched, real)
}

/** The instance whose server is called; undefined for a provider, a registry or any other address. */
function instanceOf(state, url, input, init) {
  const raw = headerOf(input, init, "x-opencode-directory") ?? url.searchParams.get("directory")
  if (!raw) return undefined
  const found = state.instances.get(raw.startsWith("%") ? decodeURIComponent(raw) : raw)
  return found?.origin === url.origin ? found : undefined
}

async function observed(state, instance, real, { url, input, init }) {
  const method = (init?.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase()
  const call = nameOf(method, url.pathname)
  const session = /\/(ses[^/]*)/.exec(url.pathname)?.[1]
  state.calls += 1
  const id = state.calls
  const tell = (kind, data) => state.link.send(kind, instance.directory, { id, call, ...data }, session)
  tell("api.request", { method, path: url.pathname, ...describe(await bodyOf(input, init)) })
  const fault = takeFault(instance, call)
  try {
    const response = await spoil(state, instance, fault, () => real.call(globalThis, input, init), tell)
    tell("api.response", { status: response.status, error: null, fault: fault?.kind ?? null })
    return response
  } catch (error) {
    tell("api.response", { status: null, error: clip(String(error?.message ?? error)), fault: fault?.kind ?? null })
    throw error
  }
}

/** The rule for this call, if its `first`, `nth` or every call is to be spoiled. */
function takeFault(instance, call) {
  const rule = instance.api[call]
  if (!rule) return undefined
  rule.seen = (rule.seen ?? 0) + 1
  if (rule.first !== undefined && rule.seen > rule.first) return undefined
  if (rule.nth !== undefined && rule.seen !== rule.nth) return undefined
  const kind = ["delay", "gate", "status", "hang", "throw", "busy"].find((name) => rule[name] !== undefined && rule[name] !== false)
  return { ...rule, kind }
}

async function spoil(state, instance, fault, call, tell) {
  if (!fault) return call()
  if (fault.delay) await new Promise((done) => state.realTimeout(done, fault.delay * 1000))
  if (fault.gate) {
    tell("api.gate", { gate: fault.gate })
    await state.link.gate(`${instance.directory}\n${fault.gate}`).promise
  }
  const answer = fault.forward ? await call() : undefined
  if (fault.hang) {
    tell("api.hung", {})
    return new Promise(() => {})
  }
  if (fault.throw) throw new TypeError("fetch failed (guardlab fault)")
  if (fault.status) return json({ name: "GuardlabFault", data: { message: "spoiled by the scenario" } }, fault.status)
  if (fault.busy) return busy(answer ?? (await call()), instance)
  return answer ?? call()
}

const json = (value, status = 200) => new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json" } })

/** A status answer in which every session of this instance is still busy: "never idle". */
async function busy(response, instance) {
  const known = await response.json()
  for (const id of instance.sessions) known[id] ??= { type: "busy" }
  return json(known)
}

// ---- clock and timers ----------------------------------------------------------------------------------------------

/** Date moves with the scenario's `elapsed`; timers and performance.now do not. */
function patchDate(state) {
  const Real = Date
  class Moved extends Real {
    constructor(...given) {
      if (given.length) super(...given)
      else super(Real.now() + state.clock.offset)
    }
    static now() {
      return Real.now() + state.clock.offset
    }
  }
  globalThis.Date = Moved
}

/** The directory of the guard whose code is on the stack, if any: timers of guards are work still to come. */
function guardOnStack(state) {
  if (!state.roots.size) return undefined
  const stack = new Error("where").stack ?? ""
  for (const [root, directory] of state.roots) if (stack.includes(root)) return directory
  return undefined
}

function patchTimers(state) {
  const realTimeout = (state.realTimeout = globalThis.setTimeout)
  const realClear = globalThis.clearTimeout
  const open = new Map()
  const close = (handle) => {
    const timer = open.get(handle)
    if (!timer) return
    open.delete(handle)
    state.link.send("timer.closed", timer.directory, { id: timer.id })
  }
  globalThis.setTimeout = Object.assign(function setTimeout(callback, ms = 0, ...rest) {
    const directory = ms > 0 && ms <= LONGEST_TIMER_MS ? guardOnStack(state) : undefined
    if (!directory || typeof callback !== "function") return realTimeout(callback, ms, ...rest)
    const id = (state.timers += 1)
    const handle = realTimeout((...given) => {
      try {
        return callback(...given)
      } finally {
        close(handle)
      }
    }, ms, ...rest)
    open.set(handle, { id, directory })
    state.link.send("timer.open", directory, { id, ms })
    return handle
  }, realTimeout)
  globalThis.clearTimeout = function clearTimeout(handle) {
    close(handle)
    return realClear(handle)
  }
  patchSleep(state)
}

function patchSleep(state) {
  const real = globalThis.Bun?.sleep
  if (!real) return
  globalThis.Bun.sleep = (given) => {
    const directory = guardOnStack(state)
    if (!directory) return real(given)
    const id = (state.timers += 1)
    state.link.send("timer.open", directory, { id, ms: Number(given) })
    return real(given).finally(() => state.link.send("timer.closed", directory, { id }))
  }
}

// ---- the plugin ----------------------------------------------------------------------------------------------------

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
  if (type === "session.created" && session) instance.sessions.add(session)
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
      if (input.callID) output.env.GUARDLAB_CALL = input.callID
    },
  }
}

export default {
  id: "guardlab-probe",
  /** options: {control: "host:port", token, roots: [folder of a guard], api: {call: fault rule}} */
  server: async (context, options) => {
    const state = start(options)
    const instance = {
      directory: context.directory,
      origin: new URL(String(context.serverUrl)).origin,
      api: structuredClone(options.api ?? {}),
      sessions: new Set(),
    }
    state.instances.set(context.directory, instance)
    for (const root of options.roots ?? []) state.roots.set(root, context.directory)
    state.link.send("instance", context.directory, { guards: options.roots ?? [] })
    return hooksOf(state, instance)
  },
}
