from __future__ import annotations

import pytest
from talking import Talking

from harness.opencode.isolation import Home


@pytest.fixture
def home(tmp_path):
    """A hermetic home, for the git and the bash that it found."""
    return Home.create(tmp_path / "home", "1.18.33", tmp_path / "bin" / "rg", "http://127.0.0.1:9")


@pytest.fixture
def opencode():
    """A stand-in for OpenCode that answers as a test tells it to."""
    made = Talking()
    yield made
    made.stop()
