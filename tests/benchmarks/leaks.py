"""What three hundred scenarios on one server a worker leave behind in the pytest that plays them.

The 20 quickest scenarios that share a server are played 15 times in one pytest with two workers, each of which keeps
its server to the end. This module is a program and that pytest's plugin: after each 20 plays a worker counts its
processes, listening ports, threads, file descriptors and temporary files, and the memory of itself and its OpenCode.

    python -m tests.benchmarks.leaks [--rounds 15] [--times FILE]

`--times` is the junit file of a run of the suite, which tells the quickest; the suite is played first without it.
Exits with 1 when a scenario is red, or when the last look shows more than the first: of what is counted anything, of
OpenCode 8 MB a scenario, of the worker one arena. What is no scenario's is put aside before each look: the reports that
pytest itself keeps (three a test), the caches of the standard library, and what malloc holds in reserve.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from concurrent.futures import wait
from itertools import filterfalse, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from rich.console import Console
from rich.table import Table

from harness.collect import lab_of
from harness.opencode import pool
from harness.runner import plays_alone
from tests.benchmarks.quickest import ROOT, by_time, play_all

if TYPE_CHECKING:
    from harness.lab import Lab

QUICK = 20
ROUNDS = "GUARDLAB_LEAKS_ROUNDS"
OPENCODE_MB = 8.0  # a scenario: an instance costs 5 to 8 MB that OpenCode does not give back (opencode-facts.md G)
ARENA_MB = 1.1  # by which Python's allocator grows; by chance one more or less is in use
COUNTED = ("processes", "ports", "threads", "descriptors", "files")


class Watch:
    """The pytest plugin of a worker: repeats its scenarios and looks after each 20 of them."""

    def __init__(self, config: pytest.Config) -> None:
        """Look at nothing yet."""
        self.looks: list[dict[str, float]] = []
        self._config = config
        self._played = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Play every scenario as often as asked, on one server."""
        items[:] = items * int(os.environ[ROUNDS])
        pool.MOST_SCENARIOS = pool.MOST_MEMORY = sys.maxsize

    def pytest_runtest_logfinish(self) -> None:
        """Look after each 20 plays."""
        self._played += 1
        if self._played % QUICK == 0:
            self._look()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look a last time, and tell the controller."""
        if self._played % QUICK:
            self._look()
        session.config.workeroutput["leaks"] = self.looks  # type: ignore[attr-defined]  # xdist's

    def _look(self) -> None:
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        reporter.stats.clear()
        self.looks.append({"plays": self._played, **_look(lab_of(self._config))})


class Told:
    """The pytest plugin of the controller: prints what the workers saw and judges it."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.workers: list[list[dict[str, float]]] = []

    def pytest_testnodedown(self, node: Any) -> None:
        """Take a worker's looks; one that was killed has none."""
        self.workers.append(getattr(node, "workeroutput", {}).get("leaks", []))

    def pytest_terminal_summary(self) -> None:
        """Print them."""
        for looks in filter(None, self.workers):
            table = Table(*looks[0], title="one worker")
            for look in looks:
                table.add_row(*(f"{value:.2f}" if "MB" in name else str(value) for name, value in look.items()))
            Console(width=120).print(table, f"grown: {', '.join(_grown(looks)) or 'nothing'}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Be red when something has grown, or was not looked at twice."""
        if any(len(looks) < 2 or _grown(looks) for looks in self.workers):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    """Watch in a worker, tell in the controller."""
    config.pluginmanager.register(Watch(config) if hasattr(config, "workerinput") else Told(), "guardlab-leaks")


def _look(lab: Lab) -> dict[str, float]:
    """Count what runs could leave behind, while nothing of the next one is being laid out."""
    if lab._next:
        wait([lab._next.props])
    re.purge()
    urllib.parse.clear_cache()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    own, opencode = psutil.Process(), psutil.Process(lab.pool.running[0])
    return {
        "processes": len(own.children(recursive=True)),
        "ports": sum(c.status == psutil.CONN_LISTEN for one in (own, opencode) for c in one.net_connections()),
        "threads": threading.active_count(),
        "descriptors": own.num_fds(),
        "files": sum(len(list(folder.iterdir())) for folder in (lab.root.parent, lab.root)) - bool(lab._next),
        "own MB": own.memory_info().rss / 1e6,
        "OpenCode MB": opencode.memory_info().rss / 1e6,
    }


def _grown(looks: list[dict[str, float]]) -> list[str]:
    """Say what is more at the end than at the start, of what is counted, or too much more, of memory."""
    first, last = looks[0], looks[-1]
    plays = last["plays"] - first["plays"]
    most = dict.fromkeys(COUNTED, 0.0) | {"own MB": ARENA_MB, "OpenCode MB": OPENCODE_MB * plays}
    return [f"{name} by {last[name] - first[name]:g}" for name in most if last[name] - first[name] > most[name]]


def main() -> int:
    """Choose the scenarios and run pytest."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--times", type=Path, metavar="FILE")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        junit = asked.times or Path(folder) / "junit.xml"
        if not asked.times:
            play_all(junit)
        quick = list(islice(filterfalse(plays_alone, by_time(junit)), QUICK))
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-p", "tests.benchmarks.leaks"]
    files = [one.document.file for one in quick]
    environment = {**os.environ, ROUNDS: str(asked.rounds)}
    return subprocess.run([*command, *files], cwd=ROOT, check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
