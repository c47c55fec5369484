"""The whole probe, as OpenCode loads it, at the other end of a real line."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading

import pytest

from harness.probe.control import Control

CODE = """
import probe from "@PROBE@/probe.mjs"
const options = JSON.parse(process.argv[2])
const directory = process.argv[3]
const alive = setInterval(() => {}, 1000)
const print = (value) => console.log(JSON.stringify(value))
globalThis.fetch = async () => new Response("{}")
globalThis.__guardlab = [{ guard: "early", directory, url: "file:///early.js" }]
const context = { directory, serverUrl: new URL("http://127.0.0.1:4096") }
const hooks = await probe.server(context, options)
const other = await probe.server({ ...context, directory: "/other" }, { ...options, api: {}, roots: [] })
const call = (where) => fetch("http://127.0.0.1:4096/session/status", { headers: { "x-opencode-directory": where } })
"""
# It stays until everything that it told has arrived.
END = """
const { link } = globalThis[Symbol.for("guardlab.probe")]
link.send("done", directory, {})
await link.gate(directory + "\\nend").promise
clearInterval(alive)
"""


@pytest.fixture
def control():
    made = Control()
    made.start()
    yield made
    made.stop()


class Played:
    """A script with the probe in it, and what it told; `until` waits for an entry of that kind."""

    def __init__(self, command, control, folder, environment):
        self.entries, self.others = [], []
        self.came = threading.Condition()
        self.let_go = lambda: control.release(str(folder), "end")
        control.watch(str(folder), self.take)
        control.watch("/other", self.others.append)
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def take(self, entry):
        with self.came:
            self.entries.append(entry)
            self.came.notify_all()

    def until(self, kind):
        with self.came:
            assert self.came.wait_for(lambda: kind in self.kinds, 20), self.kinds
        return self

    @property
    def kinds(self):
        return [entry.kind for entry in self.entries]

    @property
    def whole(self):
        """The kinds that it told, to the end."""
        assert self.kinds[-1] == "done"
        return self.kinds[:-1]

    def told(self, kind):
        return [(entry.session, entry.data) for entry in self.entries if entry.kind == kind]

    def end(self):
        """Give what it printed, when everything that it told has arrived."""
        self.until("done")
        self.let_go()
        out, err = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def play(bun, script, environment, control, tmp_path):
    started = []

    def begin(code, options=None):
        given = {"control": control.address, "token": control.token, **(options or {})}
        path = script(CODE + code + END)
        command = [*bun, str(path), json.dumps(given), str(tmp_path)]
        started.append(Played(command, control, tmp_path, environment))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_hooks_are_told_in_order(play, control, tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    played = play("""
await hooks.config()
const part = (text, synthetic, metadata) => ({ type: "text", text, synthetic, metadata })
const message = { id: "msg_1", agent: "build", model: "m" }
hooks["chat.message"]({ sessionID: "ses_1" }, { message, parts: [part("a", true, { guard: 1 }), part("b", true)] })
hooks["chat.message"]({ sessionID: "ses_1" }, { parts: [part("c"), { type: "file" }] })
hooks["chat.message"]({ sessionID: "ses_1" }, { message, parts: [] })
const call_1 = { callID: "call_1", tool: "write", sessionID: "ses_1" }
hooks["tool.execute.before"](call_1, { args: { filePath: "a.txt" } })
hooks["tool.execute.after"]({ ...call_1, args: { filePath: directory + "/a.txt" } })
hooks["tool.execute.before"]({ callID: "call_2", tool: "write", sessionID: "ses_1" }, { args: { filePath: "none" } })
hooks["tool.execute.before"]({ callID: "call_3", tool: "bash", sessionID: "ses_1" }, { args: {} })
""")
    played.end()
    hashed = hashlib.sha256(b"hello").hexdigest()
    assert played.whole == ["loaded", "instance", "config", *["message.user"] * 3, "hook.before", "hook.after",
                            "hook.before", "hook.before"]  # fmt: skip
    assert [entry.seq for entry in played.entries] == sorted(entry.seq for entry in played.entries)
    whole, mixed, empty = [data for _, data in played.told("message.user")]
    assert whole == {
        "message": "msg_1",
        "text": "a\nb",
        "synthetic": True,
        "metadata": [{"guard": 1}, None],
        "agent": "build",
        "model": "m",
    }
    assert (mixed["message"], mixed["text"], mixed["synthetic"], mixed["metadata"]) == (
        None,
        "c\n",
        False,
        [None, None],
    )
    assert (empty["text"], empty["synthetic"]) == ("", False)
    assert played.told("hook.before") == [
        ("ses_1", {"call": "call_1", "tool": "write", "disk": hashed}),
        ("ses_1", {"call": "call_2", "tool": "write", "disk": None}),
        ("ses_1", {"call": "call_3", "tool": "bash", "disk": None}),
    ]
    assert played.told("hook.after") == [("ses_1", {"call": "call_1", "tool": "write", "disk": hashed})]
    assert [entry.kind for entry in played.others] == ["instance"], "one line for both instances"
    assert control.errors == []


def test_only_the_events_that_matter_are_told(play):
    played = play("""
const event = (type, properties, id = type) => hooks.event({ event: { id, type, properties } })
event("session.created", { info: { id: "ses_1" } })
event("session.status", { sessionID: "ses_1", status: { type: "busy" } })
event("message.part.delta", { sessionID: "ses_1" })
event("session.error", {})
event("session.idle", { sessionID: "ses_1" })
event("session.deleted", { info: { id: "ses_1" } })
event("server.connected")
event("message.updated", { info: { id: "msg_1" } })
event("message.updated", { sessionID: "ses_2", info: { id: "msg_2" } })
print([...globalThis[Symbol.for("guardlab.probe")].instances.get(directory).sessions])
""")
    assert played.end() == [["ses_1", "ses_2"]], "any event makes a session known: a new process creates none"
    assert played.told("hook.event") == [
        ("ses_1", {"type": "session.created", "id": "session.created", "status": None}),
        ("ses_1", {"type": "session.status", "id": "session.status", "status": "busy"}),
        (None, {"type": "session.error", "id": "session.error", "status": None}),
        ("ses_1", {"type": "session.idle", "id": "session.idle", "status": None}),
        ("ses_1", {"type": "session.deleted", "id": "session.deleted", "status": None}),
    ]


def test_a_guard_that_was_evaluated_is_told_early_or_late(play):
    played = play("""
globalThis.__guardlab.push({ guard: "late", directory, url: "file:///late.js" })
""")
    played.end()
    assert [data["guard"] for _, data in played.told("loaded")] == ["early", "late"]


def test_the_shell_gets_its_variables(play):
    played = play(
        """
const [first, second] = [{ env: { A: "1" } }, { env: {} }]
hooks["shell.env"]({ callID: "call_1" }, first); hooks["shell.env"]({}, second)
print([first.env, second.env])
""",
        {"shell": {"LOG": "here"}},
    )
    assert played.end() == [[{"A": "1", "LOG": "here", "GUARDLAB_CALL": "call_1"}, {"LOG": "here"}]]


def test_orders_move_the_clock_and_open_gates(play, control, tmp_path):
    played = play(
        """
const wall = Date.now()
await call(directory)
print(Date.now() - wall)
""",
        {"api": {"session.status": {"gate": "hold"}}},
    )
    played.until("api.gate")
    control.move_clock(str(tmp_path), 26.0)
    control.move_clock(str(tmp_path), 60.0)
    assert "api.response" not in played.kinds
    control.release(str(tmp_path), "hold")
    (moved,) = played.end()
    assert 86_000 <= moved < 146_000
    at = {entry.kind: entry.at for entry in played.entries}
    assert at["api.response"] - at["api.request"] < 60, "entries keep the true time"


def test_a_gate_that_was_opened_before_does_not_hold(play, control, tmp_path):
    played = play(
        """
await call(directory)
for (const _ of Array(2)) await call(directory)
""",
        {"api": {"session.status": {"gate": "hold"}}},
    )
    played.until("api.gate")
    control.release(str(tmp_path), "hold")
    played.end()
    assert played.kinds.count("api.response") == 3


def test_an_instance_that_was_disposed_tells_no_more(play):
    played = play("""
hooks.dispose()
await call(directory)
await call("/other")
print([...globalThis[Symbol.for("guardlab.probe")].roots])
""", {"roots": ["/copies/guard"]})  # fmt: skip
    assert played.end() == [[]]
    assert played.whole == ["loaded", "instance", "disposed"]
    assert [entry.kind for entry in played.others] == ["instance", "api.request", "api.response"]
