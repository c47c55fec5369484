from __future__ import annotations

import os
import sys
from uuid import uuid4

import pytest

from harness.process.supervisor import Supervisor

BARE = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}


@pytest.fixture
def bare():
    """What a program needs to start at all."""
    return dict(BARE)


@pytest.fixture
def supervisor():
    with Supervisor(f"test-{uuid4()}") as made:
        yield made


@pytest.fixture
def start(supervisor, tmp_path):
    """Start a Python program under the supervisor."""

    def run(code, **env):
        command = [sys.executable, "-c", code]
        return supervisor.spawn(command, env={**BARE, **env}, cwd=tmp_path, log=tmp_path / "log", name="program")

    return run
