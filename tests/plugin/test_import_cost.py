"""Every project that has guardlab installed imports the plugin: that must cost next to nothing."""

from __future__ import annotations

import re
import subprocess
import sys

MILLISECONDS = 30
TRIES = 5
# Says at the very end what the controller has loaded.
LISTS = """\
import atexit, pathlib, sys

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        atexit.register(lambda: pathlib.Path("loaded").write_text("\\n".join(sys.modules)))
"""
HEAVY = ("uvicorn", "httpx", "pydantic", "starlette", "yaml", "rich")


def test_a_project_without_scenarios_loads_none_of_the_libraries(project):
    project.pytester.makepyfile(
        f"""
        import sys

        def test_nothing_heavy_was_loaded():
            assert "harness.plugin" in sys.modules
            assert [name for name in {HEAVY} if name in sys.modules] == []
        """
    )
    assert project.run("-p", "no:anyio", "-p", "no:hypothesispytest").code == 0


def test_workers_without_scenarios_cost_no_sweep(project):
    """Every program of the machine is looked at in a sweep, and all of the harness is loaded for it."""
    (project.path / "conftest.py").write_text(LISTS)
    project.pytester.makepyfile("def test_nothing():\n    pass\n")
    run = project.run("-n", "1")
    assert run.code == 0
    loaded = (project.path / "loaded").read_text().splitlines()
    assert "harness.plugin" in loaded
    assert [name for name in (*HEAVY, "psutil", "harness.collect") if name in loaded] == []


def test_importing_the_plugin_takes_less_than_30_ms():
    """The quickest of several tries: what other programs do at the time only ever adds to it."""
    assert min(milliseconds() for _ in range(TRIES)) < MILLISECONDS


def milliseconds():
    """Import the plugin after pytest, as pytest does, in a new interpreter."""
    command = [sys.executable, "-X", "importtime", "-c", "import pytest; import harness.plugin"]
    timed = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    packages = [re.search(rf"\| +(\d+) \| +{name}$", timed, re.MULTILINE) for name in ("harness", r"harness\.plugin")]
    return sum(int(found[1]) for found in packages) / 1000
