"""What the caller's home and environment hold is neither read nor passed on."""

from __future__ import annotations

import re
import shutil
import sys

import pytest

from harness.process.platform import System

SECRETS = {"OPENAI_API_KEY": "sk-guardlab-decoy-openai", "ANTHROPIC_API_KEY": "sk-ant-guardlab-decoy"}
MARK = "guardlab-decoy"
DECOYS = {
    ".config/opencode/opencode.json": '{"username": "guardlab-decoy-user"}',
    ".config/opencode/AGENTS.md": "guardlab-decoy-agents",
    ".local/share/opencode/auth.json": '{"openai": {"type": "api", "key": "guardlab-decoy-auth"}}',
    ".claude/CLAUDE.md": "guardlab-decoy-claude",
    "AGENTS.md": "guardlab-decoy-home-agents",
    "CLAUDE.md": "guardlab-decoy-home-claude",
}
SCENARIO = """\
format: 1
title: Nothing of the caller comes in
guard: infinity
script:
  - call: {bash: {command: env}}
  - say: done
steps: [{prompt: Go.}]
expect:
  - executed: {tool: bash, times: 1}
  - answer: done
"""


@pytest.fixture
def home(tmp_path):
    for name, text in DECOYS.items():
        path = tmp_path / "decoy home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "decoy home"


@pytest.mark.skipif(System.detect().name != "linux", reason="strace, which shows what is read, is for Linux only")
@pytest.mark.usefixtures("project")
def test_no_secret_is_read_or_passed_on(pytester, home, tmp_path, monkeypatch):
    strace = shutil.which("strace")
    assert strace, "strace is needed to see which files are read; .ci/run installs it"
    pytester.path.joinpath("one.scenario.yaml").write_text(SCENARIO)
    monkeypatch.setenv("HOME", str(home))
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    trace = tmp_path / "trace"
    command = (strace, "-f", "-qq", "-e", "trace=open,openat,execve", "-s", "4096", "-o", str(trace))
    command += (sys.executable, "-m", "pytest", "one.scenario.yaml", "--keep-runs=always")
    result = pytester.run(*command, timeout=90)
    assert result.ret == 0, result.stdout.str()
    seen = trace.read_text(errors="replace")
    assert "one.scenario.yaml" in seen, "the trace shows what is read"
    opened = [line for line in seen.splitlines() if str(home) in line]
    read = [line for line in opened if "O_DIRECTORY" not in line and re.search(r"= \d+$", line)]
    assert read == []
    assert MARK not in seen
    kept = [path for path in (pytester.path / ".guardlab").rglob("*") if path.is_file()]
    assert any(path.name == "timeline.ndjson" for path in kept)
    assert [path for path in kept if MARK.encode() in path.read_bytes()] == []
