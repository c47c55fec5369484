"""What time it is in OpenCode's process, and which timers are told."""

from __future__ import annotations

import pytest


def test_date_moves_and_nothing_else_does(run):
    code = """
const Real = Date
patchDate(state)
const [wall, steady] = [Real.now(), performance.now()]
state.clock.offset = 26_000
const moved = [Date.now() - wall, new Date().getTime() - wall, new Date().valueOf() - wall]
print(moved.every((by) => by >= 26_000 && by < 36_000))
print(performance.now() - steady < 10_000)
state.clock.offset += 60_000
print(Date.now() - wall >= 86_000)
"""
    assert run(code) == [True, True, True]


def test_a_moved_date_is_a_date_in_every_other_way(run):
    code = """
import { statSync } from "node:fs"
const Real = Date
const before = new Date(0)
patchDate(state)
state.clock.offset = 26_000
print([new Date(0).toISOString(), new Date("2026-01-02").getTime(), new Date(2026, 0, 2).getDate()])
print([Date.UTC(2026, 0, 2), Date.parse("2026-01-02"), Date.length, Date.name])
print([before instanceof Date, new Date() instanceof Real, new Date() instanceof Date])
print(statSync(".").mtime instanceof Date)
print(typeof Date() === "string" && Math.abs(Real.parse(Date()) - Date.now()) < 10_000)
class Own extends Date {}
print([new Own(5).getTime(), new Own() instanceof Own, structuredClone(new Date(7)).getTime()])
"""
    assert run(code) == [
        ["1970-01-01T00:00:00.000Z", 1767312000000, 2],
        [1767312000000, 1767312000000, 7, "Date"],
        [True, True, True],
        True,
        True,
        [5, True, 7],
    ]


# Not `return setTimeout(...)`: a call in tail position leaves no frame behind, so nothing tells whose timer it is.
GUARD = """
import promises from "node:timers/promises"
import { promisify } from "node:util"
import { setInterval as namedInterval, setTimeout as named } from "node:timers"
import { scheduler } from "node:timers/promises"
const handles = []
export function wait(...given) { handles.push(setTimeout(...given)); return handles.at(-1) }
export function every(...given) { handles.push(setInterval(...given)); return handles.at(-1) }
export function waitByName(...given) { handles.push(named(...given)); return handles.at(-1) }
export function everyByName(...given) { handles.push(namedInterval(...given)); return handles.at(-1) }
export const sleeps = {
  bun: async (ms) => { await Bun.sleep(ms) },
  scheduler: async (ms) => { await scheduler.wait(ms) },
  promises: async (ms) => { await promises.setTimeout(ms) },
  promisified: async (ms) => { await promisify(setTimeout)(ms) },
}
export const later = async (ms) => { await null; await new Promise((done) => setTimeout(done, ms)) }
"""
TIMERS = """
import { fileURLToPath } from "node:url"
patchTimers(state)
state.roots.set(fileURLToPath(new URL("a gärd", import.meta.url)), "/w")
const guard = await import("./a gärd/index.mjs")
const over = (ms) => new Promise((done) => state.realTimeout(done, ms))
const kinds = () => told.map((one) => `${one.kind} ${one.id}`)
"""


@pytest.fixture
def timers(run, script):
    script(GUARD, "a gärd/index.mjs")
    script("export const wait = (...given) => setTimeout(...given)", "opencode/index.mjs")
    return lambda code, before="": run(before + TIMERS + code)


def test_a_guards_timer_is_told_until_it_has_run(timers):
    code = """
await new Promise((done) => guard.wait((...given) => done(print([given, kinds()])), 5, "a", "b"))
await over(1)
print(told)
"""
    (given, opened), told = timers(code)
    assert (given, opened) == (["a", "b"], ["timer.open 1"])
    assert told == [
        {"kind": "timer.open", "directory": "/w", "id": 1, "ms": 5},
        {"kind": "timer.closed", "directory": "/w", "id": 1},
    ]


def test_the_timers_of_others_are_not_told(timers):
    code = """
const other = await import("./opencode/index.mjs")
await new Promise((done) => other.wait(done, 1))
await new Promise((done) => setTimeout(done, 1))
print(told)
"""
    assert timers(code) == [[]]


def test_which_timers_of_a_guard_count(timers):
    code = """
for (const ms of [0, undefined, 1, 15_000, 15_001]) clearTimeout(guard.wait(() => {}, ms))
print(told.filter((one) => one.kind === "timer.open").map((one) => one.ms))
"""
    assert timers(code) == [[1, 15_000]]


def test_a_timer_that_is_cleared_or_throws_is_over(timers):
    code = """
process.on("uncaughtException", () => {})
clearTimeout(guard.wait(() => print("never"), 5))
print(kinds())
guard.wait(() => { throw new Error("boom") }, 1)
await over(20)
print(kinds())
clearTimeout(undefined); clearTimeout(setTimeout(() => {}, 1))
print(kinds().length)
"""
    assert timers(code) == [
        ["timer.open 1", "timer.closed 1"],
        ["timer.open 1", "timer.closed 1", "timer.open 2", "timer.closed 2"],
        4,
    ]


def test_an_interval_is_told_until_it_is_cleared(timers):
    code = """
let ticks = 0
await new Promise((done) => {
  const handle = guard.every((by) => { if ((ticks += by) === 2) done(clearInterval(handle)) }, 5, 1)
  print(kinds())
})
await over(20)
print([ticks, kinds()])
"""
    assert timers(code) == [["timer.open 1"], [2, ["timer.open 1", "timer.closed 1"]]]


def test_an_interval_for_ever_is_told_as_long_as_the_longest_timer(timers):
    """`early` stands for the probe's own timer, which comes after 15 s."""
    code = """
clearInterval(guard.every(() => {}, 15_001))
print(told)
print(waits)
const kept = guard.every(() => {}, 15_000)
print([kinds(), waits])
early.pop()()
print(kinds())
clearInterval(kept)
print(kinds().length)
"""
    early = """
const waits = [], early = [], real = globalThis.setTimeout
globalThis.setTimeout = (done, ms, ...rest) => {
  waits.push(ms); early.push(() => done(...rest)); return { unref() {} }
}
"""
    assert timers(code, before=early) == [
        [],
        [],
        [["timer.open 1"], [15_000]],
        ["timer.open 1", "timer.closed 1"],
        2,
    ]


@pytest.mark.parametrize("clear", ["clearTimeout(handle)", "clearInterval(handle)", "clearTimeout(Number(handle))"])
@pytest.mark.parametrize("kind", ["wait", "every"])
def test_either_clear_function_ends_either_kind(timers, kind, clear):
    code = f"""
const handle = guard.{kind}(() => print("never"), 5)
{clear}
await over(20)
print(kinds())
"""
    assert timers(code) == [["timer.open 1", "timer.closed 1"]]


@pytest.mark.parametrize("kind", ["wait", "every"])
def test_a_named_import_of_node_timers_counts(timers, kind):
    assert timers(f"clearInterval(guard.{kind}ByName(() => {{}}, '5')); print(told[0])") == [
        {"kind": "timer.open", "directory": "/w", "id": 1, "ms": 5}
    ]


def test_a_timer_after_an_await_counts(timers):
    assert timers("await guard.later(1); print(kinds())") == [["timer.open 1", "timer.closed 1"]]


@pytest.mark.parametrize("way", ["bun", "promises", "promisified", "scheduler"])
def test_a_wait_that_is_a_promise_counts(timers, way):
    code = f"""
const slept = guard.sleeps.{way}(5)
print(told)
await slept; await guard.sleeps.{way}(0); await Bun.sleep(1)
print(kinds())
"""
    assert timers(code) == [
        [{"kind": "timer.open", "directory": "/w", "id": 1, "ms": 5}],
        ["timer.open 1", "timer.closed 1"],
    ]


def test_a_scenario_that_is_over_has_no_timers(timers):
    assert timers("state.roots.clear(); await new Promise((done) => guard.wait(done, 1)); print(told)") == [[]]


def test_the_timers_keep_their_forms(timers):
    code = """
import { promisify } from "node:util"
print([await promisify(setTimeout)(1, "value"), setTimeout.name, setTimeout.length])
const handle = guard.wait(() => {}, 60_000)
print([typeof handle.unref, typeof handle.refresh]); clearTimeout(handle)
"""
    assert timers(code) == [["value", "setTimeout", 1], ["function", "function"]]
