"""Runs that do not end by themselves: Ctrl-C, a killed worker, a killed OpenCode. Nothing of them is left."""

from __future__ import annotations

import os
import signal

import pytest
from normalising import normal, section
from projects import DEADLINE, GREETING

posix = pytest.mark.skipif(os.name != "posix", reason="signals, and /dev/tcp of a real bash")

# A tool that says which process runs it, and then runs for longer than any test waits.
LONG = """
script:
  - call: {bash: {command: exec 3<>/dev/tcp/127.0.0.1/%d; echo $PPID >&3; sleep 300}}
  - say: Done.
steps:
  - prompt: Build it.
expect:
  - answer: Done.
"""
ENDLESS = """
guard: {path: tells.js}
script:
  - say: Let me check the containers.
    repeat: forever
steps:
  - prompt: Start the stack.
"""
TELLS = """\
import { connect } from "node:net"
export const Tells = async () => {
  let told = false
  return {
    event: async ({ event }) => {
      if (told || event.type !== "message.part.delta") return
      told = true
      connect(%d, "127.0.0.1").end(`${process.pid}\\n`)
    },
  }
}
"""
# Stops the loop of the fake model once the first stream has begun.
BREAKS = """\
import asyncio
from fakemodel.server import FakeModel

opened = FakeModel.open
broken = []

def open_and_break(self, script, listener, **given):
    def listen(event):
        listener(event)
        if event.kind == "first_chunk" and not broken:
            broken.append(True)
            asyncio.get_running_loop().stop()
    return opened(self, script, listen, **given)

FakeModel.open = open_and_break
"""


@posix
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_ctrl_c_twice_in_the_middle_of_a_tool(project, door, workers):
    project.scenario("long", LONG % door.port)
    run = project.start(*workers)
    opencode = door.knock()
    run.interrupt()
    opencode.wait(DEADLINE)  # by now the run is cleaning up
    run.interrupt()
    assert_interrupted(project, run)


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_one_signal_in_the_middle_of_a_tool(project, door, number):
    project.scenario("long", LONG % door.port)
    run = project.start()
    door.knock()
    run.process.send_signal(number)
    assert_interrupted(project, run)


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_guardlab_cleans_up_after_one_signal_and_is_not_broken_off_by_the_next(project, door, number):
    project.scenario("long", LONG % door.port)
    run = project.start_guardlab("play", ".")
    opencode = door.knock()
    run.process.send_signal(number)
    opencode.wait(DEADLINE)  # by now the run is cleaning up
    run.process.send_signal(number)
    ended = run.wait()
    assert (ended.code, project.left(), project.kept()) == (2, [], [])
    assert ended.text.endswith("guardlab: 0 passed\nguardlab: interrupted\n")


def assert_interrupted(project, run):
    ended = run.wait()
    assert (ended.code, project.left(), project.kept()) == (2, [], [])
    assert "KeyboardInterrupt !!!" in ended.text
    assert "Traceback" not in ended.text


@posix
def test_a_killed_worker_is_swept_up_after_and_its_neighbour_goes_on(project, door):
    project.scenario("long", LONG % door.port)
    project.scenario("neighbour", GREETING)
    run = project.start("-n", "2")
    worker = door.knock().parent()
    assert worker.ppid() == run.process.pid
    worker.kill()
    ended = run.wait()
    assert (ended.code, project.left(), project.kept()) == (1, [], [])
    assert "crashed while running 'long.scenario.yaml::long'" in ended.text
    assert "guardlab: a process outlived its worker and was killed: " in ended.text
    assert "1 failed, 1 passed" in ended.text
    assert "guardlab: 1 passed, 1 failed (1 crash)" in ended.text


def test_a_fake_model_whose_loop_ends_in_the_middle_of_a_stream(project, golden):
    (project.path / "conftest.py").write_text(BREAKS)
    project.scenario("endless", ENDLESS.replace("guard: {path: tells.js}\n", ""))
    project.scenario("neighbour", GREETING)
    run = project.run()
    assert (run.code, project.left()) == (1, [])
    assert "guardlab: 1 passed, 1 failed (1 crash)" in run.text
    assert "Traceback" not in run.text
    golden("plugin-model-broken", normal(section(run.text, "endless")))


@posix
def test_an_opencode_that_is_killed_in_the_middle_of_a_stream(project, door, golden):
    (project.path / "tells.js").write_text(TELLS % door.port)
    project.scenario("endless", ENDLESS)
    project.scenario("neighbour", GREETING)
    run = project.start()
    door.knock().kill()
    ended = run.wait()
    assert (ended.code, project.left(), project.kept()) == (1, [], ["endless.scenario.yaml"])
    assert "guardlab: 1 passed, 1 failed (1 crash)" in ended.text
    golden("plugin-killed", normal(section(ended.text, "endless")))
