"""Runs JavaScript where the probe runs: in the Bun that the OpenCode binary carries."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from harness.opencode.binary import resolve
from harness.settings import Settings

PROBE = Path(str(files("harness.probe")))
# `told` is what the modules said to the harness, `asked` which addresses the real fetch was asked for.
PRELUDE = """
import { patchFetch } from "@PROBE@/calls.mjs"
import { patchDate, patchTimers } from "@PROBE@/clock.mjs"
const told = [], asked = []
const gates = new Map()
const gate = (key) => {
  if (!gates.has(key)) { const one = {}; one.promise = new Promise((open) => (one.open = open)); gates.set(key, one) }
  return gates.get(key)
}
const link = { gate, send: (kind, directory, data, session) => told.push({ kind, directory, session, ...data }) }
const state = { link, instances: new Map(), roots: new Map(), clock: { offset: 0 }, calls: 0, timers: 0 }
const print = (value) => console.log(JSON.stringify(value))
const sessions = new Set(["ses_1", "ses_2"])
const instance = (api = {}) => ({ directory: "/w", origin: "http://127.0.0.1:4096", api, sessions })
const at = { headers: { "x-opencode-directory": "/w" } }
const serve = (answer = () => new Response("{}")) => {
  globalThis.fetch = async (input, init) => { asked.push(String(input?.url ?? input)); return answer(input, init) }
  patchFetch(state)
}
"""


@pytest.fixture(scope="session")
def bun():
    """The command that runs a script."""
    return [str(resolve(Settings.from_environment(os.environ)).path)]


@pytest.fixture
def environment(tmp_path):
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return {**kept, "BUN_BE_BUN": "1", "HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "TMPDIR": str(tmp_path)}


@pytest.fixture
def script(tmp_path):
    """Write a script; `@PROBE@` stands for the probe's folder."""

    def write(code, name="main.mjs"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code.replace("@PROBE@", PROBE.as_uri()), encoding="utf-8")
        return path

    return write


@pytest.fixture
def run(bun, script, environment, tmp_path):
    """Run code after the prelude; gives what it printed, one JSON value a line."""

    def run_it(code):
        command = [*bun, str(script(PRELUDE + code))]
        ended = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()]

    return run_it
