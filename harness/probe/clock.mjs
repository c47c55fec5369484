// What time is in OpenCode's process: Date can be moved, and timers that a guard has set are told to the harness.
// A guard may poll or keep house with long timers; only one that can still act in this run holds "settled" back.
const LONGEST_TIMER_MS = 15_000

/** Date moves with the scenario's `elapsed`; timers and performance.now do not. */
export function patchDate(state) {
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
