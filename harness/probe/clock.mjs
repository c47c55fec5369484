// What time is in OpenCode's process: Date can be moved, and timers that a guard has set are told to the harness.
import timers from "node:timers"
import { promisify } from "node:util"

// A guard may poll or keep house with long timers; only one that can still act in this run holds "settled" back.
const LONGEST_TIMER_MS = 15_000

/** Date moves with the scenario's `elapsed`; timers and performance.now do not. A Proxy, so that every date stays a Date. */
export function patchDate(state) {
  const Real = Date
  const now = () => Real.now() + state.clock.offset
  globalThis.Date = new Proxy(Real, {
    construct: (target, given, made) => Reflect.construct(target, given.length ? given : [now()], made),
    apply: () => new Real(now()).toString(),
    get: (target, key) => (key === "now" ? now : Reflect.get(target, key)),
  })
}

/** The directory of the guard whose code is on the stack, if any: timers of guards are work still to come. */
function guardOnStack(state) {
  if (!state.roots.size) return undefined
  const stack = new Error("where").stack ?? ""
  for (const [root, directory] of state.roots) if (stack.includes(root)) return directory
  return undefined
}

/** Whether a wait is told: one of a guard that can still act in this run. */
function ownerOf(state, ms) {
  return ms > 0 && ms <= LONGEST_TIMER_MS ? guardOnStack(state) : undefined
}

export function patchTimers(state) {
  const realTimeout = (state.realTimeout = globalThis.setTimeout)
  const realClear = globalThis.clearTimeout
  const open = new Map()
  const close = (handle) => {
    const timer = open.get(handle)
    if (!timer) return
    open.delete(handle)
    state.link.send("timer.closed", timer.directory, { id: timer.id })
  }
  globalThis.setTimeout = likeReal(realTimeout, function setTimeout(callback, ms = 0, ...rest) {
    const directory = typeof callback === "function" ? ownerOf(state, ms) : undefined
    if (!directory) return realTimeout(callback, ms, ...rest)
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
  })
  globalThis.clearTimeout = function clearTimeout(handle) {
    close(handle)
    return realClear(handle)
  }
  patchPromises(state)
}

/** The same function to whoever looks at it; promisify finds its own version there. */
function likeReal(real, patched) {
  return Object.defineProperties(patched, Object.getOwnPropertyDescriptors(real))
}

/** The waits that are promises. A named import of node:timers/promises is not seen: OpenCode has imported that before us. */
function patchPromises(state) {
  const watched = (real) =>
    likeReal(real, (ms, ...rest) => {
      const directory = ownerOf(state, Number(ms))
      if (!directory) return real(ms, ...rest)
      const id = (state.timers += 1)
      state.link.send("timer.open", directory, { id, ms: Number(ms) })
      return real(ms, ...rest).finally(() => state.link.send("timer.closed", directory, { id }))
    })
  if (globalThis.Bun?.sleep) globalThis.Bun.sleep = watched(globalThis.Bun.sleep)
  timers.promises.setTimeout = watched(timers.promises.setTimeout)
  Object.defineProperty(globalThis.setTimeout, promisify.custom, { value: timers.promises.setTimeout })
}
