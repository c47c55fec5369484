"""A folder with scenarios in which pytest or guardlab runs as its user starts it, and what is left there afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import psutil
import pytest
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

if TYPE_CHECKING:
    import socket
    from pathlib import Path

# Seconds: many times what a run needs on two busy cores.
DEADLINE = 100
GREETING = "script:\n  - say: Hello.\nsteps:\n  - prompt: Hi.\nexpect:\n  - answer: Hello.\n"
ANSWERS_VERSION = '[ "$1" = --version ] && exec echo 1.18.33\n'


@dataclass
class Finished:
    """A run of pytest that has ended: its exit code and everything that it printed."""

    code: int
    text: str


@dataclass
class Running:
    """A run of pytest that goes on. It leads a process group, as a program does that a shell has started."""

    process: subprocess.Popen
    log: Path

    def interrupt(self):
        """Press Ctrl-C: a terminal sends it to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def wait_for(self, text):
        """Wait until it has printed a text."""
        printed = Retrying(
            retry=retry_if_result(lambda log: text not in log), stop=stop_after_delay(DEADLINE), wait=wait_fixed(0.05)
        )
        printed(self.log.read_text)

    def wait(self):
        """Wait for the end."""
        return Finished(self.process.wait(DEADLINE), self.log.read_text())


@dataclass
class Project:
    """A folder with scenarios. What its runs need for a while lies in `temporary`: whatever they leave is there."""

    pytester: pytest.Pytester
    temporary: Path
    started: list[Running] = field(default_factory=list)

    @property
    def path(self):
        return self.pytester.path

    def scenario(self, name, text):
        """Write a scenario."""
        (self.path / f"{name}.scenario.yaml").write_text(f"format: 1\ntitle: A scenario\n{text}")

    def program(self, name, text):
        """Write a program that stands in for a real one."""
        if os.name != "posix":
            pytest.skip("a shell script stands in for a program")
        path = self.path / name
        path.write_text(f"#!/bin/sh\n{text}")
        path.chmod(0o755)
        return str(path)

    def run(self, *args):
        """Run pytest to its end."""
        result = self.pytester.runpytest_subprocess(*args, timeout=DEADLINE)
        return Finished(int(result.ret), "\n".join((*result.outlines, *result.errlines)))

    def start(self, *args, stdin=subprocess.DEVNULL):
        """Start pytest."""
        return self.start_program("-m", "pytest", f"--basetemp={self.path / 'base'}", *args, stdin=stdin)

    def start_guardlab(self, *args):
        """Start the command guardlab."""
        return self.start_program("-c", "from harness.cli import main; raise SystemExit(main())", *args)

    def start_program(self, *args, stdin=subprocess.DEVNULL):
        """Start a Python with these arguments."""
        log = self.path / "output"
        command = [sys.executable, *args]
        with log.open("w") as file:
            process = self.pytester.popen(
                command, stdin=stdin, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.started.append(Running(process, log))
        return self.started[-1]

    def processes(self):
        """Find what runs have started by the folder that each process got in its environment: tags could be wrong."""
        return [one for one in psutil.process_iter() if str(self.temporary) in environment(one)]

    def left(self):
        """Name the processes and the temporary files that are still there."""
        processes = [f"process {one.pid} {one.cmdline()}" for one in self.processes()]
        return processes + sorted(str(path) for path in self.temporary.rglob("*"))

    def kept(self):
        """Name the scenarios whose files were kept."""
        return sorted(path.parent.name for path in self.path.glob(".guardlab/*/verdicts.json"))

    def junit(self):
        """Read junit.xml: an item's seconds and its properties, by its name."""
        return {
            case.get("name"): (float(case.get("time")), {p.get("name"): p.get("value") for p in case.iter("property")})
            for case in self._cases()
        }

    def junit_ends(self):
        """Read junit.xml: how each item ended (`failure`, `error`), by its name; nothing for one that passed."""
        return {case.get("name"): [one.tag for one in case if one.tag != "properties"] for case in self._cases()}

    def _cases(self):
        return ET.parse(self.path / "junit.xml").iter("testcase")  # noqa: S314 - pytest has just written it


def environment(process):
    """Give the environment of a process as one text; an empty one for a process that has ended."""
    try:
        return str(process.environ())
    except (psutil.Error, OSError):
        return ""


@dataclass
class Door:
    """A port on loopback at which a run knocks when it has come to a certain place."""

    listening: socket.socket

    @property
    def port(self):
        return self.listening.getsockname()[1]

    def knock(self):
        """Wait for a knock and give the process that it names."""
        visitor, _ = self.listening.accept()
        with visitor:
            visitor.settimeout(DEADLINE)
            return psutil.Process(int(visitor.makefile().readline()))
