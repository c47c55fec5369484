"""What the tests of a run's story share: a scene without OpenCode, and steps that wait for nothing."""

from __future__ import annotations

import pytest
from standin import a_scene

from harness import settling


@pytest.fixture
def no_waiting(monkeypatch):
    """Nothing is waited for unless a test is about that."""
    for name in ("QUIET", "QUIET_FOR_ABSENCE", "STALL"):
        monkeypatch.setattr(settling, name, 0.0)


@pytest.fixture
def scene(tmp_path):
    return a_scene(tmp_path)


@pytest.fixture
def at(tmp_path):
    """Set the scene for these steps."""
    return lambda text: a_scene(tmp_path, text)
