"""Gives tests of the plugin a project to run pytest in."""

from __future__ import annotations

import os
import socket
import tempfile

import pytest
from projects import DEADLINE, Door, Project

from harness.opencode.binary import resolve, ripgrep
from harness.settings import Settings

# What a build server, a developer or an outer pytest may have set for runs of their own.
NOT_PASSED_ON = ("CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "LOOP_GUARD_ENTRY", "PYTEST_ADDOPTS")


@pytest.fixture(scope="session")
def programs():
    """The real OpenCode and ripgrep, found once, for runs whose home is empty; none is an error, not a skip."""
    settings = Settings.from_environment(os.environ)
    ripgrep(settings)
    return {"OPENCODE_TEST_BINARY": str(resolve(settings).path), "GUARDLAB_CACHE": str(settings.cache_dir)}


@pytest.fixture
def project(pytester, monkeypatch, programs, tmp_path_factory):
    """A project without scenarios. A test that fails in the middle leaves no process behind either."""
    tempfile.gettempdir()  # settled before TMPDIR changes: this process keeps its own
    made = Project(pytester, tmp_path_factory.mktemp("temporary"))
    for name in NOT_PASSED_ON:
        monkeypatch.delenv(name, raising=False)
    for name, value in {**programs, "TMPDIR": str(made.temporary), "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    yield made
    for process in made.processes():
        process.kill()
    for run in made.started:
        run.process.wait(DEADLINE)


@pytest.fixture
def door():
    """A door for runs of this test."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(DEADLINE)
        yield Door(listening)
