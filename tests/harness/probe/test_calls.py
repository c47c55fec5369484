"""The guard's API calls, as the probe's patched fetch sees and spoils them."""

from __future__ import annotations

import json

import pytest

from harness.scenario.calls import CALLS

NAMES = [
    *((method, path, name) for name, (method, path) in CALLS.items()),
    ("POST", "/permission/per_1/reply", "permission.reply"),
    ("PUT", "/session/ses_1", "session"),
]


def test_a_call_has_the_name_that_the_sdk_gives_it(run):
    calls = json.dumps([name[:2] for name in NAMES])
    code = f"""
serve(); state.instances.set("/w", instance())
for (const [method, path] of {calls}) await fetch("http://127.0.0.1:4096" + path, {{ ...at, method }})
print(told.filter((entry) => entry.kind === "api.request").map((e) => [e.method, e.path, e.call, e.session]))
"""
    (seen,) = run(code)
    sessions = [("ses_1" if "ses_1" in path else None) for _, path, _ in NAMES]
    assert seen == [[*name, session] for name, session in zip(NAMES, sessions, strict=True)]


def test_a_call_is_told_before_and_after(run):
    code = """
serve(() => new Response("no", { status: 404 })); state.instances.set("/w", instance())
const answer = await fetch("http://127.0.0.1:4096/session/ses_1/abort", { ...at, method: "POST" })
await fetch("http://127.0.0.1:4096/session/status", at)
print(told); print([answer.status, await answer.text()])
"""
    told, answer = run(code)
    one = {"directory": "/w", "session": "ses_1", "id": 1, "call": "session.abort"}
    assert told[:2] == [
        {"kind": "api.request", **one, "method": "POST", "path": "/session/ses_1/abort", "keys": []},
        {"kind": "api.response", **one, "status": 404, "error": None, "fault": None, "forwarded": False},
    ]
    assert [entry["id"] for entry in told[2:]] == [2, 2]
    assert answer == [404, "no"], "the guard gets what OpenCode answered"


def test_whose_call_it_is(run):
    """By header as it is or encoded, by the query, else by the session; every other address is left alone."""
    code = """
serve()
state.instances.set("/ein ä", { ...instance(), directory: "/ein ä", sessions: new Set() })
state.instances.set("/w", instance())
const url = "http://127.0.0.1:4096/session/status"
const header = (value) => ({ headers: new Headers({ "X-OpenCode-Directory": value }) })
await fetch(url, header("/w"))
await fetch(url, header(encodeURIComponent("/ein ä")))
await fetch(url + "?directory=%2Fw")
await fetch(new URL(url), at)
await fetch(new Request(url, at))
print(told.filter((entry) => entry.kind === "api.request").map((entry) => entry.directory))
told.length = 0
await fetch(url)
await fetch(url, header("/other"))
await fetch("http://127.0.0.1:9999/session/status", at)
await fetch("https://models.example/v1/chat/completions", { method: "POST", body: "{}" })
await fetch("http://127.0.0.1:4096/session/ses_3/abort")
await fetch("http://127.0.0.1:9999/session/ses_1/abort")
print([told, asked.length])
await fetch("http://127.0.0.1:4096/session/ses_1/abort", header("/other"))
await fetch("http://127.0.0.1:4096/session/ses_1/abort")
print(told.filter((entry) => entry.kind === "api.request").map((entry) => [entry.directory, entry.call]))
"""
    ours, (others, asked), by_session = run(code)
    assert ours == ["/w", "/ein ä", "/w", "/w", "/w"]
    assert others == []
    assert asked == 11, "every call reached its server"
    assert by_session == [["/w", "session.abort"]]


def test_what_a_body_says(run):
    code = """
serve(); state.instances.set("/w", instance())
const say = (body) => fetch("http://127.0.0.1:4096/session/ses_1/prompt_async", { ...at, method: "POST", body })
const part = (text, synthetic) => ({ type: "text", text, synthetic })
const parts = [part("a", true), part("b", true)]
await say(JSON.stringify({ agent: "build", model: { modelID: "m" }, messageID: "msg_1", parts }))
await say(JSON.stringify({ parts: [part("a", true), part("b")] }))
await say(JSON.stringify({ message: "toast" }))
await say(JSON.stringify({ parts: [part("x".repeat(5000))] }))
await say("no json")
const silent = { ...at, method: "POST", body: '{"noReply":true}' }
await fetch(new Request("http://127.0.0.1:4096/session/ses_1/message", silent))
const known = ["id", "kind", "directory", "session", "call", "method", "path"]
for (const entry of told.filter((one) => one.kind === "api.request"))
  print(Object.fromEntries(Object.entries(entry).filter(([key]) => !known.includes(key))))
"""
    whole, mixed, toast, long, broken, silent = run(code)
    assert whole == {
        "keys": ["agent", "model", "messageID", "parts"],
        "text": "a\nb",
        "synthetic": True,
        "agent": "build",
        "model": {"modelID": "m"},
        "message": "msg_1",
    }
    assert mixed == {"keys": ["parts"], "text": "a\nb", "synthetic": False}
    assert toast == {"keys": ["message"], "text": "toast"}
    assert long["text"] == "x" * 4000 + "…"
    assert broken == {"keys": []}
    assert silent == {"keys": ["noReply"]}


def test_a_request_can_still_be_read_by_the_server(run):
    code = """
serve(async (input) => new Response(await input.text())); state.instances.set("/w", instance())
const init = { ...at, method: "POST", body: '{"title":"x"}' }
const answer = await fetch(new Request("http://127.0.0.1:4096/session", init))
print([await answer.text(), told[0].keys])
"""
    assert run(code) == [['{"title":"x"}', ["title"]]]


def test_a_network_error_is_told_and_thrown(run):
    code = """
serve(() => { throw new TypeError("connection refused") }); state.instances.set("/w", instance())
await fetch("http://127.0.0.1:4096/session/status", at).catch((error) => print(`${error}`))
print(told[1])
"""
    error, told = run(code)
    assert error == "TypeError: connection refused"
    assert (told["status"], told["error"], told["fault"]) == (None, "connection refused", None)


# -- faults

SPOILED = """
serve(() => new Response(JSON.stringify({ ses_1: { type: "retry" } })))
state.instances.set("/w", instance({ "session.status": RULE }))
const call = async (path = "/session/status") => {
  try {
    const answer = await fetch("http://127.0.0.1:4096" + path, at)
    return [answer.status, await answer.json()]
  } catch (error) { return `${error}` }
}
"""
WHOLE = [200, {"ses_1": {"type": "retry"}}]
REFUSED = {"name": "GuardlabFault", "data": {"message": "spoiled by the scenario"}}
BUSY = {"ses_1": {"type": "retry"}, "ses_2": {"type": "busy"}}


def spoiled(rule, code):
    return SPOILED.replace("RULE", json.dumps(rule)) + code


@pytest.mark.parametrize(
    ("rule", "answer", "asked"),
    [
        ({"status": 503}, [503, REFUSED], 0),
        ({"status": 503, "forward": True}, [503, REFUSED], 1),
        ({"throw": True}, "TypeError: fetch failed (guardlab fault)", 0),
        ({"throw": True, "forward": True}, "TypeError: fetch failed (guardlab fault)", 1),
        ({"busy": True}, [200, BUSY], 1),
        ({"busy": True, "forward": True}, [200, BUSY], 1),
        ({"hang": False, "throw": False, "busy": False, "forward": False}, WHOLE, 1),
    ],
)
def test_a_spoiled_answer(run, rule, answer, asked):
    code = spoiled(rule, "print(await call()); print(asked.length); print(told[1]); print(await call('/config'))")
    got, calls, told, other = run(code)
    assert (got, calls) == (answer, asked)
    kind = next((name for name in ("status", "throw", "busy") if rule.get(name)), None)
    status = None if isinstance(answer, str) else answer[0]
    assert (told["kind"], told["status"], told["fault"]) == ("api.response", status, kind)
    assert told["forwarded"] is bool(rule.get("forward"))
    assert other == WHOLE, "a call of another name is left alone"


@pytest.mark.parametrize(
    ("rule", "statuses"),
    [
        ({"status": 500}, [500, 500, 500, 500]),
        ({"status": 500, "first": 2}, [500, 500, 200, 200]),
        ({"status": 500, "nth": 3}, [200, 200, 500, 200]),
    ],
)
def test_which_calls_are_spoiled(run, rule, statuses):
    code = spoiled(rule, "for (let n = 0; n < 4; n += 1) print((await call())[0]); print(told.map((one) => one.fault))")
    *seen, faults = run(code)
    assert seen == statuses
    assert [fault for fault in faults if fault] == ["status"] * statuses.count(500)


@pytest.mark.parametrize("forward", [False, True])
def test_a_call_that_hangs(run, forward):
    code = spoiled(
        {"hang": True, "forward": forward},
        """
let answered = false
call().then(() => (answered = true))
await new Promise((done) => setTimeout(done, 20))
print([answered, asked.length, told.map((one) => one.kind), told[1]])
""",
    )
    ((answered, asked, kinds, hung),) = run(code)
    assert (answered, asked, kinds) == (False, int(forward), ["api.request", "api.hung"])
    assert (hung["id"], hung["call"], hung["forwarded"]) == (1, "session.status", forward)


def test_a_call_that_is_delayed(run):
    code = spoiled(
        {"delay": 1.5},
        """
const waits = []
state.realTimeout = (done, ms) => { waits.push([ms, asked.length]); done() }
print(await call()); print(waits); print(told[1].fault)
""",
    )
    assert run(code) == [WHOLE, [[1500, 0]], "delay"]


def test_a_call_that_is_held_at_a_gate(run):
    code = spoiled(
        {"gate": "status"},
        """
const held = call()
await new Promise((done) => setTimeout(done, 20))
print([asked.length, told.map((one) => one.kind), told[1].gate])
gate("/w\\nstatus").open()
print(await held); print(told[2].fault)
""",
    )
    assert run(code) == [[0, ["api.request", "api.gate"], "status"], WHOLE, "gate"]


def test_two_faults_act_one_after_the_other(run):
    code = spoiled(
        {"gate": "status", "status": 500},
        """
gate("/w\\nstatus").open()
print((await call())[0]); print(told.map((one) => one.kind))
""",
    )
    assert run(code) == [500, ["api.request", "api.gate", "api.response"]]
