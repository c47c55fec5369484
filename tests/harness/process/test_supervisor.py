from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from harness.errors import DeadlineError, SetupError
from harness.process import supervisor as room
from harness.process import trees
from harness.process.platform import System
from harness.process.readiness import wait_for_line
from harness.process.supervisor import Supervisor, Survivor, sweep_orphans, sweep_tag_prefix

posix = pytest.mark.skipif(os.name != "posix", reason="signals and sessions")
READY = re.compile(r"^ready (\d+)$", re.MULTILINE)
SLEEP = "import time; print('ready 0', flush=True); time.sleep(60)"
# What OpenCode's bash tool does: a child that leads a session of its own.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(61)"], start_new_session=True)
print("ready", child.pid, flush=True)
time.sleep(60)
"""


def ready(child):
    return int(wait_for_line(child, READY, 10).group(1))


def gone(pid):
    return not psutil.pid_exists(pid) or not trees.is_alive(psutil.Process(pid))


def test_a_child_has_its_environment_its_tag_and_nothing_else(start, supervisor, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    child = start("import os; print(*sorted(os.environ)); print(os.environ['GUARDLAB_RUN'])", A="1")
    assert child.wait(10)
    names, tag = child.output().splitlines()
    assert set(names.split()) - {"LC_CTYPE", "SYSTEMROOT"} == {"A", "GUARDLAB_OWNER", "GUARDLAB_RUN", "PATH"}
    assert tag == supervisor.tag


def test_output_and_errors_go_to_the_log_and_the_input_is_empty(start):
    child = start("import sys; print(repr(sys.stdin.read()), flush=True); print('bad', file=sys.stderr); sys.exit(4)")
    assert child.wait(10)
    assert (child.output(), child.returncode, child.alive) == ("''\nbad\n", 4, False)


def test_errors_can_have_a_file_of_their_own(supervisor, tmp_path):
    log, errors = tmp_path / "log", tmp_path / "errors"
    code = "import sys; print('good'); print('bad', file=sys.stderr)"
    for _ in range(2):
        child = supervisor.spawn(
            [sys.executable, "-c", code], env={}, cwd=tmp_path, log=log, errors=errors, name="program"
        )
        assert child.wait(10)
    assert (child.output(), log.read_text(), errors.read_text()) == ("good\n", "good\ngood\n", "bad\nbad\n")


def test_a_restarted_program_appends_and_sees_its_own_output_only(start):
    first = start("print('one')")
    assert first.wait(10)
    second = start("print('two')")
    assert second.wait(10)
    assert (second.output(), second.log.read_text()) == ("two\n", "one\ntwo\n")


def test_a_program_that_can_not_be_started(supervisor, tmp_path):
    with pytest.raises(SetupError) as caught:
        supervisor.spawn(["/nonexistent"], env={}, cwd=tmp_path, log=tmp_path / "log", name="opencode serve")
    assert str(caught.value) == "opencode serve could not be started: /nonexistent: No such file or directory"


def test_a_log_that_can_not_be_written(supervisor, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SetupError) as caught:
        supervisor.spawn(["true"], env={}, cwd=tmp_path, log=tmp_path / "file" / "log", name="opencode serve")
    assert str(caught.value) == f"opencode serve could not be started: {tmp_path}/file: File exists"


def test_stop_takes_a_grandchild_in_a_session_of_its_own(start, supervisor):
    child = start(PARENT)
    grandchild = ready(child)
    supervisor.stop(child)
    assert (child.alive, gone(grandchild), supervisor.sweep()) == (False, True, [])


@posix
def test_stop_asks_first(start, supervisor):
    child = start(
        "import signal, sys\nsignal.signal(15, lambda *_: sys.exit(7))\nprint('ready 0', flush=True)\nsignal.pause()"
    )
    ready(child)
    supervisor.stop(child)
    assert child.returncode == 7


@posix
def test_stop_kills_what_does_not_listen_and_keeps_its_exit_code(start, supervisor, monkeypatch):
    monkeypatch.setattr(room, "_POLITE", 0.1)
    child = start(
        "import signal\nsignal.signal(15, signal.SIG_IGN)\nprint('ready 0', flush=True)\nwhile True: signal.pause()"
    )
    ready(child)
    supervisor.stop(child)
    assert child.returncode == -signal.SIGKILL


def test_stop_of_a_child_that_has_ended(start, supervisor):
    child = start("pass")
    assert child.wait(10)
    supervisor.stop(child)
    assert child.returncode == 0


def test_stop_names_what_still_runs(start, supervisor, monkeypatch):
    child = start(PARENT)
    grandchild = ready(child)
    monkeypatch.setattr(room, "kill_all", lambda _processes: None)
    with pytest.raises(DeadlineError) as caught:
        supervisor.stop(child, deadline=0.3)
    monkeypatch.undo()
    assert str(caught.value) == (
        "program was killed, but after 0.3 s these still run:\n"
        f"  {grandchild} {sys.executable} -c import time; time.sleep(61)"
    )
    assert [survivor.pid for survivor in supervisor.sweep()] == [grandchild]


@posix
def test_kill_takes_the_process_alone_and_sweep_finds_the_rest(start, supervisor):
    child = start(PARENT)
    grandchild = ready(child)
    supervisor.kill(child)
    assert (child.returncode, gone(grandchild)) == (-signal.SIGKILL, False)
    assert supervisor.sweep() == [Survivor(grandchild, f"{sys.executable} -c import time; time.sleep(61)")]
    assert (gone(grandchild), supervisor.sweep()) == (True, [])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux marks a process by a limit")
def test_sweep_finds_what_gave_up_its_environment_its_session_and_its_parent(start, supervisor):
    code = """
import subprocess
child = subprocess.Popen(["/bin/sleep", "61"], env={}, start_new_session=True)
print("ready", child.pid, flush=True)
"""
    program = start(code)
    orphan = ready(program)
    assert program.wait(10)
    assert Supervisor("another").sweep() == []
    assert supervisor.sweep() == [Survivor(orphan, "/bin/sleep 61")]
    assert gone(orphan)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux marks a process by a limit")
def test_a_process_of_another_run_is_left_to_it(supervisor, tmp_path, bare):
    """Even if both runs happen to mark theirs alike."""
    with Supervisor("another") as another:
        child = another.spawn([sys.executable, "-c", SLEEP], env=bare, cwd=tmp_path, log=tmp_path / "x", name="p")
        ready(child)
        supervisor.system.mark(child.pid, supervisor.tag)
        assert supervisor.sweep() == []
        assert child.alive


def test_a_process_that_has_ended_is_not_marked(start, supervisor):
    child = start("pass")
    assert child.wait(10)
    supervisor.system.mark(child.pid, supervisor.tag)
    assert not supervisor.system.is_marked(child.pid, supervisor.tag)


def test_sweep_leaves_other_runs_alone(start):
    child = start(SLEEP)
    ready(child)
    assert Supervisor("another").sweep() == []
    assert child.alive


def test_sweep_spares_itself_and_its_parents():
    code = "from harness.process.supervisor import Supervisor; print(Supervisor('outer').sweep())"
    inner = [sys.executable, "-c", code]
    outer = [sys.executable, "-c", f"import subprocess; subprocess.run({inner!r}, check=True)"]
    done = subprocess.run(outer, env=os.environ | {"GUARDLAB_RUN": "outer"}, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_controller_sweeps_for_a_worker_by_prefix(tmp_path, bare):
    def run(supervisor):
        command, log = [sys.executable, "-c", SLEEP], tmp_path / supervisor.tag
        child = supervisor.spawn(command, env=bare, cwd=tmp_path, log=log, name="p")
        ready(child)
        return child

    with Supervisor("sweep-1-gw0") as one, Supervisor("sweep-10-gw0") as ten:
        mine, other = run(one), run(ten)
        assert [survivor.pid for survivor in sweep_tag_prefix("sweep-1-")] == [mine.pid]
        assert other.alive


def test_orphans_are_those_whose_owner_is_gone(tmp_path, bare):
    """A worker that was killed leaves its processes to its controller, not to the next lab that starts."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(10)

    def run(supervisor):
        command, log = [sys.executable, "-c", SLEEP], tmp_path / supervisor.tag
        child = supervisor.spawn(command, env=bare, cwd=tmp_path, log=log, name="p")
        ready(child)
        return child

    with Supervisor("orphan-gone", owner=gone.pid) as left, Supervisor("orphan-here", owner=os.getppid()) as kept:
        orphan, other = run(left), run(kept)
        assert [survivor.pid for survivor in sweep_orphans("orphan-")] == [orphan.pid]
        assert other.alive


def test_the_supervisor_ends_everything_whatever_happens(tmp_path, bare):
    children, pids = [], []

    def run():
        with Supervisor("ends-everything") as supervisor:
            for log in (tmp_path / "log1", tmp_path / "log2"):
                child = supervisor.spawn([sys.executable, "-c", PARENT], env=bare, cwd=tmp_path, log=log, name="p")
                children.append(child)
                pids.append(ready(child))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert [child.alive for child in children] == [False, False]
    assert [gone(pid) for pid in pids] == [True, True]


def test_a_process_is_told_from_a_later_one_with_its_id():
    own = trees.identity(os.getpid())
    pid, began = own.split()
    assert int(pid) == os.getpid()
    assert trees.still_runs(own)
    assert not trees.still_runs(f"{pid} {int(began) - 3600}")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    named = trees.identity(ended.pid)
    ended.wait(10)
    assert not trees.still_runs(named)
    assert not trees.still_runs(trees.identity(ended.pid))


@pytest.mark.parametrize("named", ["", "x", "x 1", "pid"])
def test_a_process_without_a_name_counts_as_running(named):
    assert trees.still_runs(named.replace("pid", str(os.getpid())))


@posix
def test_members_are_the_tree_and_the_group(start):
    code = """
import os, subprocess, sys, time
if os.fork() == 0:
    child = subprocess.Popen(["sleep", "61"])
    print(child.pid, flush=True)
    os._exit(0)
os.wait()
print("ready 0", flush=True)
time.sleep(60)
"""
    child = start(code)
    ready(child)
    orphan = int(child.output().split()[0])  # its parent has ended: it is in the group but no longer in the tree
    assert [process.pid for process in trees.members(child.pid, System.detect())] == [orphan]


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="makes its zombie with waitid")
def test_a_zombie_is_not_alive(start):
    code = """
import os, time
pid = os.fork()
if pid == 0: os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print("ready", pid, flush=True)
time.sleep(60)
"""
    zombie = psutil.Process(ready(start(code)))
    assert zombie.status() == psutil.STATUS_ZOMBIE
    assert not trees.is_alive(zombie)
    assert trees.wait_gone([zombie], 5) == []


def test_windows_ends_the_whole_tree_at_once(monkeypatch):
    calls = []
    monkeypatch.setattr(trees.subprocess, "run", lambda command, **_: calls.append(command))
    trees.ask_to_end(SimpleNamespace(pid=42), System("windows", "x64"))
    assert calls == [["taskkill", "/pid", "42", "/t", "/f"]]


def test_windows_has_no_groups(start):
    child = start(PARENT)
    grandchild = ready(child)
    assert [process.pid for process in trees.members(child.pid, System("windows", "x64"))] == [grandchild]
