"""One lab for these tests: they play on the real binary."""

from __future__ import annotations

import os

import pytest

from harness.lab import Lab
from harness.settings import Settings


@pytest.fixture(scope="session")
def lab():
    with Lab(Settings.from_environment(os.environ, step_timeout=20.0)) as opened:
        yield opened
