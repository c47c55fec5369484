"""Starts the programs of a run, stops them, and finds whatever they left behind."""

from __future__ import annotations

import os
import subprocess
import time
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

import psutil

from harness.errors import DeadlineError, SetupError
from harness.process.platform import System
from harness.process.trees import (
    ask_to_end,
    command_line,
    identity,
    is_alive,
    kill_all,
    members,
    still_runs,
    wait_gone,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

__all__ = ["TAG_VARIABLE", "Child", "Supervisor", "Survivor", "sweep_orphans", "sweep_tag_prefix"]

TAG_VARIABLE = "GUARDLAB_RUN"
"""The environment variable that marks every process of a run; children inherit it."""

OWNER_VARIABLE = "GUARDLAB_OWNER"
"""The environment variable that names the owner (`identity`) of the run that a process belongs to."""

_POLITE = 1.0  # seconds between asking a child to end and killing it; OpenCode ends within 0.2 (opencode-facts.md H)
_SWEEP = 5.0  # seconds that a killed process may take to go
_PASSES = 3  # a process can start another one between being listed and being killed


class Survivor(NamedTuple):
    """A process that outlived its run: its id and its command line."""

    pid: int
    command_line: str


@dataclass(slots=True, eq=False)
class Child:
    """A program that the supervisor started.

    name: what messages call it. log: the file that its output and, unless they have one of their own,
    its errors go to.
    log_start: where in that file, in bytes, this process begins; a restarted program appends.
    """

    name: str
    log: Path
    log_start: int
    _popen: subprocess.Popen[bytes] = field(repr=False)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._popen.poll() is None

    @property
    def returncode(self) -> int | None:
        """The exit code, None while the process runs; on POSIX minus the signal that ended it."""
        return self._popen.poll()

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds` for the end of the process; return whether it came."""
        try:
            self._popen.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def output(self) -> str:
        """Return everything that this process has written so far."""
        with self.log.open("rb") as log:
            log.seek(self.log_start)
            return log.read().decode("utf-8", errors="replace")

    def tail(self, lines: int = 20) -> str:
        """Return the last lines that this process has written."""
        return "\n".join(deque(self.output().splitlines(), maxlen=lines))

    def kill(self) -> None:
        """Kill this process alone, without warning; its children live on."""
        self._popen.kill()


@dataclass(slots=True)
class Supervisor:
    """Owns the processes of one run.

    tag: the value of GUARDLAB_RUN in every one of them, unique to the run.
    owner: the process that cleans up should this one be killed (an xdist controller), this one by default; while it
    lives, `sweep_orphans` of other runs leaves these processes to it.
    As a context manager it stops and sweeps at the end.
    """

    tag: str
    system: System = field(default_factory=System.detect)
    owner: int = field(default_factory=os.getpid)
    _children: list[Child] = field(default_factory=list, init=False, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything, whatever happened; who needs to know what survived calls `sweep` before."""
        with ExitStack() as last:  # one that can't be stopped does not keep the others alive
            last.callback(self.sweep)
            for child in self._children:
                last.callback(self.stop, child)

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return `env` with the tag of this run and the name of its owner."""
        return {**env, TAG_VARIABLE: self.tag, OWNER_VARIABLE: identity(self.owner)}

    def spawn(
        self,
        args: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        name: str,
        errors: Path | None = None,
    ) -> Child:
        """Start a program in a process group of its own, with no input, and its output appended to `log`.

        `env` is the whole environment of the program, the tag aside. `errors` is the file for its standard error, which
        goes to `log` too by default. Reading the output needs no thread and no pipe.
        Raises SetupError when the program can't be started or its log can't be written.
        """
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as files:
                output = files.enter_context(log.open("ab"))
                start = output.tell()
                popen = subprocess.Popen(
                    list(args),
                    env=self.environment(env),
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,  # `opencode run` waits for ever on an open pipe (opencode-facts.md F.4)
                    stdout=output,
                    stderr=files.enter_context(errors.open("ab")) if errors else subprocess.STDOUT,
                    **self.system.spawn_options(),
                )
        except OSError as error:
            trouble = f"{error.filename or args[0]}: {error.strerror or error}"
            raise SetupError(f"{name} could not be started: {trouble}") from error
        self.system.mark(popen.pid, self.tag)
        child = Child(name=name, log=log, log_start=start, _popen=popen)
        self._children.append(child)
        return child

    def stop(self, child: Child, deadline: float = 10.0) -> None:
        """End a child and everything below it: list the tree, ask, kill, wait. `deadline` is in seconds.

        A child that has ended already is left alone; what it left behind is for `sweep`.
        Raises DeadlineError, with the command lines, when something still runs after that.
        """
        if child.alive:
            self._end(child, deadline)
        if child in self._children:
            self._children.remove(child)

    def _end(self, child: Child, deadline: float) -> None:
        until = time.monotonic() + deadline
        root, tree = psutil.Process(child.pid), members(child.pid, self.system)
        ask_to_end(child._popen, self.system)  # noqa: SLF001  # a child's process is the supervisor's
        if not child.wait(min(_POLITE, deadline / 2)):
            child.kill()
        kill_all(tree)
        left = wait_gone(tree, until - time.monotonic())
        # psutil must not wait for the child itself: it would take the exit code
        if not child.wait(max(0.0, until - time.monotonic())):
            left.insert(0, root)
        if left:
            lines = "\n".join(f"  {process.pid} {command_line(process)}" for process in left)
            raise DeadlineError(f"{child.name} was killed, but after {deadline:g} s these still run:\n{lines}")

    def kill(self, child: Child) -> None:
        """Kill the process alone, as a crash would (SIGKILL), and wait for it.

        What it started lives on until `sweep`.
        """
        child.kill()
        child.wait(_SWEEP)

    def sweep(self, spare: Collection[int] = (), grace: float = 0.0) -> list[Survivor]:
        """Kill and return every process that still carries the tag or the mark of this run, except for these ids.

        `grace` is how long, in seconds, they may take to end by themselves before they count.
        Call it when all other children have been stopped: one that was not is a survivor too, and loses its exit code.
        """
        if grace:
            wait_gone(_found(self._is_mine, spare), grace)
        return _sweep(self._is_mine, spare)

    def _is_mine(self, process: psutil.Process) -> bool:
        """Whether a process belongs to this run: by its tag or, where its environment was emptied, by its mark."""
        tag = _tag(process)
        return tag == self.tag or (not tag and self.system.is_marked(process.pid, self.tag))


def sweep_tag_prefix(prefix: str) -> list[Survivor]:
    """Kill and return every process whose tag begins with `prefix`, for a worker that can no longer do so itself.

    End the prefix with a separator, so that run 1 does not take run 10 with it.
    """
    return _sweep(lambda process: _tag(process).startswith(prefix))


def sweep_orphans(prefix: str) -> list[Survivor]:
    """Kill and return every process whose tag begins with `prefix` and whose run was itself killed."""
    return _sweep(lambda process: _tag(process).startswith(prefix) and not _owned(process))


def _sweep(wanted: Callable[[psutil.Process], bool], spare: Collection[int] = ()) -> list[Survivor]:
    survivors: dict[int, Survivor] = {}
    for _ in range(_PASSES):
        found = _found(wanted, spare)
        if not found:
            break
        survivors |= {process.pid: Survivor(process.pid, command_line(process)) for process in found}
        kill_all(found)
        wait_gone(found, _SWEEP)
    return list(survivors.values())


def _found(wanted: Callable[[psutil.Process], bool], spare: Collection[int]) -> list[psutil.Process]:
    own = psutil.Process()
    spared = {*spare, own.pid, *(parent.pid for parent in own.parents())}  # a lab inside a lab inherits the outer tag
    return [p for p in psutil.process_iter() if p.pid not in spared and wanted(p) and is_alive(p)]


def _owned(process: psutil.Process) -> bool:
    return still_runs(_variable(process, OWNER_VARIABLE))


def _tag(process: psutil.Process) -> str:
    return _variable(process, TAG_VARIABLE)


def _variable(process: psutil.Process, name: str) -> str:
    try:
        return process.environ().get(name, "")
    except (psutil.Error, OSError):
        return ""  # another user's process, or one that has just ended
