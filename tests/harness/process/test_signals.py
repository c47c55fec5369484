"""A program of ours that is asked to end takes with it what it has started and written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[3]
SCENARIOS = [
    f"scenarios/infinity/inf-10-{name}.scenario.yaml" for name in ("first-two-finish", "running-tool-finishes")
]
DEADLINE = 100  # seconds: many times what it takes on two busy cores


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGTERM")
@pytest.mark.parametrize(
    "command",
    [["harness.proving", "INF-15", "INF-10"], ["harness.cli", "play", *SCENARIOS]],
    ids=["proving", "play"],
)
def test_sigterm_leaves_nothing(tmp_path, command):
    module, *arguments = command
    line = [sys.executable, "-c", f"import sys; from {module} import main; sys.exit(main())", *arguments]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(line, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True) as program:
        assert program.stdout.readline()  # what follows, it does with an OpenCode and folders of its own
        family = psutil.Process(program.pid).children(recursive=True)
        assert list(tmp_path.iterdir())
        program.terminate()
        _, errors = program.communicate(timeout=DEADLINE)
    assert (program.returncode, list(tmp_path.iterdir())) == (2, [])
    assert errors.endswith("interrupted\n")
    assert [process for process in family if process.is_running()] == []
