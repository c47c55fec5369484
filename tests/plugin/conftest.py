"""Gives tests of the plugin a project to run pytest in."""

from __future__ import annotations

import os
import socket
import tempfile
from contextlib import suppress

import psutil
import pytest
from projects import DEADLINE, Door, Project

from harness.opencode.binary import resolve, ripgrep
from harness.settings import Settings

# What a build server, a developer or an outer pytest may have set for runs of their own.
NOT_PASSED_ON = (
    "CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "GUARDLAB_OPENCODE_VERSION", "LOOP_GUARD_ENTRY",
    "PYTEST_ADDOPTS",
)  # fmt: skip


def pytest_configure(config):
    config.addinivalue_line("markers", "needs_root: mounts a small disk; skipped where that is not allowed")


@pytest.fixture(scope="session")
def settings():
    """Where this machine has its programs."""
    return Settings.from_environment(os.environ)


@pytest.fixture(scope="session")
def opencode(settings):
    """The real OpenCode, found once, for runs whose home is empty; that there is none is an error, not a skip."""
    return resolve(settings)


@pytest.fixture
def project(pytester, monkeypatch, opencode, settings, tmp_path_factory):
    """A project without scenarios. A test that fails in the middle leaves no process behind either."""
    ripgrep(settings)
    tempfile.gettempdir()  # settled before TMPDIR changes: this process keeps its own
    made = Project(pytester, tmp_path_factory.mktemp("temporary"))
    for name in NOT_PASSED_ON:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENCODE_TEST_BINARY", str(opencode.path))
    monkeypatch.setenv("GUARDLAB_CACHE", str(settings.cache_dir))
    monkeypatch.setenv("TMPDIR", str(made.temporary))
    monkeypatch.setenv("COLUMNS", "120")
    yield made
    for process in made.processes():
        with suppress(psutil.NoSuchProcess):
            process.kill()
    for run in made.started:
        run.process.wait(DEADLINE)


@pytest.fixture
def door():
    """A door for runs of this test."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(DEADLINE)
        yield Door(listening)
