// The API calls of guards: seen through globalThis.fetch, told apart by their directory, and spoiled where a scenario says so.
// Routes and the directory header: opencode-facts.md D, G and L.
import { clip } from "./link.mjs"

const ID = /^[a-z]{3}_/
const SESSION = /\/(ses_[^/]*)/

/** Name a call as the SDK does: POST /session/ID/abort is session.abort. Any other has its path's name, without ids. */
function nameOf(method, path) {
  const session = /^\/session\/(ses[^/]*)(?:\/([a-z_]+))?/.exec(path)
  if (path === "/session/status") return "session.status"
  if (session?.[2] === "permissions") return "permission.reply"
  if (session?.[2] === "message") return method === "POST" ? "session.prompt" : "session.messages"
  if (session?.[2]) return `session.${session[2]}`
  if (session) return { GET: "session.get", DELETE: "session.delete", PATCH: "session.update" }[method] ?? "session"
  if (path === "/session") return method === "POST" ? "session.create" : "session.list"
  return path.slice(1).split("/").filter((word) => !ID.test(word)).join(".")
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

export function patchFetch(state) {
  const real = globalThis.fetch
  const patched = async function fetch(input, init) {
    const url = new URL(input instanceof Request ? input.url : String(input))
    const instance = instanceOf(state, url, input, init)
    if (!instance) return real.call(globalThis, input, init)
    return observed(state, instance, real, { url, input, init })
  }
  globalThis.fetch = Object.assign(patched, real)
}

/**
 * The instance whose server is called, found as OpenCode finds it: by the directory that the call names, else by its
 * session. Undefined for a provider, a registry or any other address.
 */
function instanceOf(state, url, input, init) {
  const raw = headerOf(input, init, "x-opencode-directory") ?? url.searchParams.get("directory")
  const session = SESSION.exec(url.pathname)?.[1]
  const found = raw
    ? state.instances.get(raw.startsWith("%") ? decodeURIComponent(raw) : raw)
    : [...state.instances.values()].find((instance) => instance.sessions.has(session))
  return found?.origin === url.origin ? found : undefined
}

async function observed(state, instance, real, { url, input, init }) {
  const method = (init?.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase()
  const call = nameOf(method, url.pathname)
  const session = SESSION.exec(url.pathname)?.[1]
  state.calls += 1
  const id = state.calls
  const tell = (kind, data) => state.link.send(kind, instance.directory, { id, call, ...data }, session)
  tell("api.request", { method, path: url.pathname, ...describe(await bodyOf(input, init)) })
  const fault = takeFault(instance, call)
  const spoiled = { fault: fault?.kind ?? null, forwarded: fault?.forward ?? false }
  try {
    const response = await spoil(state, instance, fault, () => real.call(globalThis, input, init), tell)
    tell("api.response", { status: response.status, error: null, ...spoiled })
    return response
  } catch (error) {
    tell("api.response", { status: null, error: clip(String(error?.message ?? error)), ...spoiled })
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
    tell("api.hung", { forwarded: fault.forward ?? false })
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
