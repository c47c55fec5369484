"""Process trees: who belongs to a child, and how all of them are ended for certain."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.process.platform import System

__all__ = ["ask_to_end", "command_line", "identity", "is_alive", "kill_all", "members", "still_runs", "wait_gone"]

_SLICE = 0.05  # seconds between two looks at processes that are not our own children
_CLOCK = 60.0  # seconds; when a process began is reckoned by the system's clock, which may be set in between


def is_alive(process: psutil.Process) -> bool:
    """Whether the process runs. A zombie does not: in a container without an init nobody ever collects it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def identity(pid: int) -> str:
    """Name the process that has this id now, for a note that may be read when it has ended and another one has the id.

    It is the id and when the process began, in seconds since the epoch; the id alone when it has ended already.
    """
    try:
        return f"{pid} {psutil.Process(pid).create_time():.0f}"
    except psutil.Error:
        return str(pid)


def still_runs(named: str) -> bool:
    """Whether the process that `identity` has named still runs; True where that cannot be told."""
    pid, _, began = named.partition(" ")
    try:
        now = psutil.Process(int(pid)).create_time()
        return not began or abs(now - float(began)) < _CLOCK
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, ValueError):
        return True


def command_line(process: psutil.Process) -> str:
    """Return the command line, else the name, of a process; for messages."""
    try:
        return " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        return "(command line unreadable)"


def members(pid: int, system: System) -> list[psutil.Process]:
    """Return the processes below `pid` and those of its process group, without `pid` itself.

    Take this list while the process lives: afterwards its children belong to init, and its id may be another's.
    Children of OpenCode's bash tool lead sessions of their own (opencode-facts.md H), so neither way alone finds all.
    """
    try:
        found = {process.pid: process for process in psutil.Process(pid).children(recursive=True)}
    except psutil.NoSuchProcess:
        found = {}
    if system.posix:
        for process in psutil.process_iter():
            with contextlib.suppress(OSError):
                if os.getpgid(process.pid) == pid and process.pid != pid:
                    found.setdefault(process.pid, process)
    return list(found.values())


def ask_to_end(process: subprocess.Popen[bytes], system: System) -> None:
    """Ask a child to end: SIGTERM; on Windows, which has no asking, its whole tree is ended at once."""
    if system.posix:
        process.terminate()
    else:  # Windows keeps no tree once the parent is gone: /t walks it while it still stands
        command = ["taskkill", "/pid", str(process.pid), "/t", "/f"]
        subprocess.run(command, capture_output=True, check=False, timeout=10)


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Kill each of the processes.

    One that ended in between is no error; one that may not be killed is found by the caller's wait.
    """
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            process.kill()


def wait_gone(processes: Iterable[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait until none of the processes is alive, at most `seconds`; return those that still are."""
    until = time.monotonic() + seconds
    alive = [process for process in processes if is_alive(process)]
    while alive and time.monotonic() < until:
        psutil.wait_procs(alive, timeout=_SLICE)
        alive = [process for process in alive if is_alive(process)]
    return alive
