"""The servers that are compared: how each is installed, told its answers, started and stopped."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import venv
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil
from rich.console import Console

from tests.benchmarks.fake_model.client import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OURS, FAIR, GREEDY, AIMOCK, LLMOCK = "fakemodel", "writer, fair", "writer, greedy", "aimock", "llmock"
ENDLESS = frozenset({OURS, FAIR})

AIMOCK_PACKAGE = "@copilotkit/aimock@1.43.0"
LLMOCK_PACKAGE = "llmock==0.2.2"

COUNTS = {"short": 20, "many": 500, "long": 20_000}
WORD = "checked"
MOST = 1_000_000_000
"""The bound of an unpaced endless reply, which must have one."""

CHAT = "/v1/chat/completions"
HERE = Path(__file__).parent
DEADLINE = 30.0


@dataclass(frozen=True)
class Program:
    """How to start a server. ``{port}`` in the command is replaced; it prints its path when ``path`` is empty.

    ``tell`` is given the port of the server once it answers, and tells it what to answer.
    """

    command: tuple[str, ...]
    path: str = ""
    tell: Callable[[int], None] = lambda _: None


@dataclass(frozen=True)
class Server:
    """One that runs, and the seconds from the start of its process to the end of its first short answer."""

    process: psutil.Popen
    port: int
    path: str
    started: float


def programs(folder: Path, chunks: int) -> dict[str, Program]:
    """Install the programs of others into the folder and write down what each server shall answer.

    ``chunks`` is what the fake model answers to `huge`.
    """
    Console().print(f"installing {AIMOCK_PACKAGE} and {LLMOCK_PACKAGE}", highlight=False)
    writer = (sys.executable, str(HERE / "writer.py"), "{port}")
    counts = json.dumps({**COUNTS, "endless": None})
    return {
        OURS: Program((sys.executable, "-m", "fakemodel", str(_script(folder, chunks)), "--port", "{port}")),
        FAIR: Program((*writer, "fair", counts), CHAT),
        GREEDY: Program((*writer, "greedy", counts), CHAT),
        AIMOCK: _aimock(folder),
        LLMOCK: _llmock(folder),
    }


def _script(folder: Path, chunks: int) -> Path:
    """Write the fake model's script: replies without a pace, a word of eight characters a chunk."""
    repeats = {**{name: f"repeat: {count}" for name, count in {**COUNTS, "huge": chunks}.items()}}
    repeats["endless"] = f"repeat: forever, max_chunks: {MOST}"
    lines = [
        f"  - {{say: {WORD}, {repeat}, chunks: {{size: 8}}, pace: 0, when: {{user_says: {name}}}, times: 100000}}"
        for name, repeat in repeats.items()
    ]
    script = folder / "script.yaml"
    script.write_text(
        "\n".join(["main: [{say: never, optional: true, when: {user_says: never}}]", "any_time:", *lines])
    )
    return script


def _aimock(folder: Path) -> Program:
    npm, node = shutil.which("npm"), shutil.which("node")
    assert npm, "npm was not found on the PATH"
    assert node, "node was not found on the PATH"
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    subprocess.run([npm, "install", *quiet, "--prefix", str(folder), AIMOCK_PACKAGE], check=True)
    fixtures = folder / "fixtures.json"
    answers = [
        {"match": {"userMessage": name}, "response": {"content": f"{WORD} " * count}} for name, count in COUNTS.items()
    ]
    fixtures.write_text(json.dumps({"fixtures": answers}), encoding="utf-8")
    program = folder / "node_modules" / AIMOCK_PACKAGE.rpartition("@")[0] / "dist" / "cli.js"
    options = ("-p", "{port}", "-f", str(fixtures), "-c", str(len(WORD) + 1), "--log-level", "silent")
    return Program((node, str(program), *options), CHAT)


def _llmock(folder: Path) -> Program:
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", LLMOCK_PACKAGE]
    subprocess.run([str(scripts / "python"), *install], check=True, stderr=subprocess.DEVNULL)
    answers = [
        {"type": "reply", "text": f"{WORD} " * count, "times": None, "match": {"model": name}}
        for name, count in COUNTS.items()
    ]

    def tell(port: int) -> None:
        url = f"http://127.0.0.1:{port}/_llmock/scenario"
        httpx.post(url, json={"behaviors": answers}, trust_env=False).raise_for_status()

    command = (str(scripts / "llmock"), "serve", "--port", "{port}", "--log-level", "critical")
    return Program(command, CHAT, tell)


@contextmanager
def running(program: Program, log: Path) -> Iterator[Server]:
    """Start a server, wait until it answers, and stop it at the end."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [word.replace("{port}", str(port)) for word in program.command]
    with log.open("w") as output:
        began = time.perf_counter()
        process = psutil.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    try:
        while not (path := program.path or _printed_path(log)) or not _answers(port, path):
            assert process.poll() is None, log.read_text()
            assert time.perf_counter() - began < DEADLINE, f"no answer from {command}"
            time.sleep(0.002)
        started = time.perf_counter() - began
        program.tell(port)
        yield Server(process, port, path, started)
    finally:
        process.kill()
        process.wait()


def _printed_path(log: Path) -> str:
    """Return the path of chat requests that the fake model has printed, once it has."""
    found = re.search(r"^openai_chat +http://[^/]+(/\S+)\n", log.read_text(), re.MULTILINE)
    return f"{found[1]}/chat/completions" if found else ""


def _answers(port: int, path: str) -> bool:
    try:
        stream = Stream(port, path, "short")
        with stream.socket:
            stream.ask()
            while stream.read():
                pass
    except OSError:
        return False
    return stream.chunks > 0
