"""API faults reach a guard that OpenCode loads before the probe as well as one that it loads after."""

from __future__ import annotations

import json

import pytest

from harness.scenario.loader import loads

# OpenCode loads the plugins that it finds in the workspace before those that its config lists (opencode-facts.md A.4).
FOUND = ".opencode/plugins/aborts.js"
GUARD = """\
export default {
  id: "aborts",
  server: async ({ client }) => {
    let done = false
    return {
      event: async ({ event }) => {
        if (done || event.type !== "message.part.delta") return
        done = true
        await client.session.abort({ path: { id: event.properties.sessionID } })
      },
    }
  },
}
"""
SCENARIO = """\
format: 1
title: A guard aborts at the first word
{place}
opencode: {{api: {api}}}
script:
  - say: I go on and on.
    repeat: {repeat}
steps: [{{prompt: Go.}}]
expect:
  - stream_closed: {{reply: 1, by: {by}}}
"""


@pytest.mark.parametrize(
    ("api", "repeat", "by"), [("{}", "forever", "client"), ("{session.abort: {status: 500}}", 10, "script")]
)
@pytest.mark.parametrize("first", ["guard", "probe"])
def test_an_abort_is_spoiled_in_either_order(lab, tmp_path, first, api, repeat, by):
    (tmp_path / "aborts.js").write_text(GUARD)
    files = json.dumps({"files": {FOUND: GUARD}})
    place = f"workspace: {files}" if first == "guard" else "guard: {path: aborts.js, marker: none}"
    run = lab.play(loads(SCENARIO.format(place=place, api=api, repeat=repeat, by=by), tmp_path / "order.yaml"))
    assert run.passed, run.report()
    calls = [(entry.kind, entry.data["call"]) for entry in run.record.of("api.request")]
    assert ("api.request", "session.abort") in calls
    kinds = [entry.kind for entry in run.record.entries]
    assert ("loaded" in kinds) == (first == "probe")
