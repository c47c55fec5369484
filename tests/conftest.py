"""What every test may use: golden files, which hold texts that people read, and a watch on threads."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]  # for tests/plugin; pytest takes this line from here only

OUTPUT = Path(__file__).parent / "output"


@pytest.fixture(scope="session", autouse=True)
def _interruptible():
    """Let programs that tests start take SIGINT: a shell that runs the tests in the background has them ignore it."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def no_new_threads():
    """Fail if a thread that the test started outlives it. Those of fixtures that outlive tests may come to an end."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before, "a thread outlived its test"


@pytest.fixture(scope="session")
def golden():
    """Compare a text with tests/output/NAME.txt, byte for byte; GUARDLAB_UPDATE_GOLDEN=1 writes the file instead."""

    def compare(name: str, text: str) -> None:
        path = OUTPUT / f"{name}.txt"
        if os.environ.get("GUARDLAB_UPDATE_GOLDEN") == "1":
            path.write_bytes(text.encode())
        assert path.is_file(), f"{path} is missing: run once with GUARDLAB_UPDATE_GOLDEN=1 and read what it wrote"
        assert text == path.read_bytes().decode(), f"{path} differs; GUARDLAB_UPDATE_GOLDEN=1 writes it anew"

    return compare
