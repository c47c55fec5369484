"""One lab for these tests: they play on the real binary."""

from __future__ import annotations

import pytest

from harness.lab import Lab


@pytest.fixture(scope="session")
def lab():
    with Lab() as opened:
        yield opened
