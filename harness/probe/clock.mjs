// What time is in OpenCode's process: Date can be moved, and timers that a guard has set are told to the harness.
import { createRequire } from "node:module"
import { promisify } from "node:util"

// Not imported: Bun takes the named exports of a module of its own as they are at the first import, and a guard's are to
// be the patched ones. OpenCode has imported node:timers/promises before us.
const timers = createRequire(import.meta.url)("node:timers")

// A guard may poll or keep house with long timers; only one that can still act in this run holds "settled" back. An
// interval that is never cleared holds it back for no longer than this either.
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

/** Tell of a wait that begins; gives what tells that it is over. */
function begin(state, directory, ms) {
  const id = (state.timers += 1)
  state.link.send("timer.open", directory, { id, ms: Number(ms) })
  return () => state.link.send("timer.closed", directory, { id })
}

/** Timers and intervals, under their global names and as exports of node:timers. */
export function patchTimers(state) {
  const { setTimeout: realTimeout, setInterval: realInterval, clearTimeout, clearInterval } = globalThis
  const ends = new Map()
  // By number: both kinds count together, either clear function ends either kind, and takes a number too.
  const end = (handle) => {
    const number = Number(handle)
    ends.get(number)?.()
    ends.delete(number)
  }
  const clearing = (real) => likeReal(real, (handle) => (end(handle), real(handle)))
  state.realTimeout = realTimeout
  const patched = {
    setTimeout: likeReal(realTimeout, (callback, ms = 0, ...rest) => {
      const directory = typeof callback === "function" ? ownerOf(state, ms) : undefined
      if (!directory) return realTimeout(callback, ms, ...rest)
      const run = (...given) => {
        try {
          return callback(...given)
        } finally {
          end(handle)
        }
      }
      const handle = realTimeout(run, ms, ...rest)
      ends.set(Number(handle), begin(state, directory, ms))
      return handle
    }),
    setInterval: likeReal(realInterval, (callback, ms = 0, ...rest) => {
      const directory = ownerOf(state, ms)
      const handle = realInterval(callback, ms, ...rest)
      if (!directory) return handle
      ends.set(Number(handle), begin(state, directory, ms))
      realTimeout(end, LONGEST_TIMER_MS, handle).unref()
      return handle
    }),
    clearTimeout: clearing(clearTimeout),
    clearInterval: clearing(clearInterval),
  }
  Object.assign(globalThis, patched)
  Object.assign(timers, patched)
  patchPromises(state)
}

/** The same function to whoever looks at it; promisify finds its own version there. */
function likeReal(real, patched) {
  return Object.defineProperties(patched, Object.getOwnPropertyDescriptors(real))
}

/** The waits that are promises, but for a named import of node:timers/promises. */
function patchPromises(state) {
  const { promises } = timers
  const watched = (real) =>
    likeReal(real, (ms, ...rest) => {
      const directory = ownerOf(state, Number(ms))
      return directory ? real(ms, ...rest).finally(begin(state, directory, ms)) : real(ms, ...rest)
    })
  if (globalThis.Bun?.sleep) globalThis.Bun.sleep = watched(globalThis.Bun.sleep)
  promises.setTimeout = watched(promises.setTimeout)
  promises.scheduler.wait = watched(promises.scheduler.wait)
  Object.defineProperty(globalThis.setTimeout, promisify.custom, { value: promises.setTimeout })
}
