from __future__ import annotations

import base64
import json

import pytest
from talking import Talking

from harness.errors import CrashError
from harness.opencode.driver import Driver


@pytest.fixture
def driver(opencode):
    made = Driver(opencode.address, "secret", "/ws/ein Ö")
    yield made
    made.close()


GO = {"agent": "build", "parts": [{"type": "text", "text": "Go."}]}
BUSY = {"ses_1": {"type": "busy"}}
NO = {"reply": "reject", "message": "No."}
V2 = "/api/session/ses_1/permission/per_1/reply"
NEW = b'{"id": "ses_1"}'

# what is called, what the server answers and what the caller gets; what the server is asked
CALLS = [
    (lambda d: d.create_session("x"), NEW, "ses_1", ("POST", "/session", {"title": "x"})),
    (lambda d: d.delete_session("ses_1"), b"true", None, ("DELETE", "/session/ses_1", None)),
    (lambda d: d.send("ses_1", "Go."), b"", None, ("POST", "/session/ses_1/prompt_async", GO)),
    (lambda d: d.abort("ses_1"), b"true", None, ("POST", "/session/ses_1/abort", None)),
    (lambda d: d.status(), json.dumps(BUSY).encode(), BUSY, ("GET", "/session/status", None)),
    (lambda d: d.reply("per_1", "once"), b"true", None, ("POST", "/permission/per_1/reply", {"reply": "once"})),
    (lambda d: d.reply("per_1", "reject", "No."), b"true", None, ("POST", "/permission/per_1/reply", NO)),
    (lambda d: d.reply("per_1", "reject", "No.", session="ses_1"), b"", None, ("POST", V2, NO)),
    (lambda d: d.dispose(), b"true", None, ("POST", "/instance/dispose", None)),
]


@pytest.mark.parametrize(("call", "answer", "result", "asked"), CALLS, ids=[one[3][1] for one in CALLS])
def test_a_call(opencode, driver, call, answer, result, asked):
    opencode.answer = (200, answer)
    assert call(driver) == result
    ((method, path, headers, body),) = opencode.asked
    assert (method, path, body) == asked
    assert headers["x-opencode-directory"] == "/ws/ein%20%C3%96"
    assert headers["authorization"] == "Basic " + base64.b64encode(b"opencode:secret").decode()


def refusal(driver):
    with pytest.raises(CrashError) as caught:
        driver.abort("ses_1")
    return str(caught.value)


def test_an_error_is_told_with_its_answer(opencode, driver):
    opencode.answer = (500, b'{"name": "UnknownError"}')
    assert refusal(driver) == 'OpenCode answered POST /session/ses_1/abort with 500: {"name": "UnknownError"}'


def test_a_long_answer_is_clipped(opencode, driver):
    opencode.answer = (404, b"x" * 501)
    assert refusal(driver) == "OpenCode answered POST /session/ses_1/abort with 404: " + "x" * 500


def test_an_answer_without_json(opencode, driver):
    opencode.answer = (200, b"<html>")
    assert refusal(driver) == "OpenCode answered POST /session/ses_1/abort without JSON: <html>"


def test_a_server_that_is_gone():
    gone = Talking()
    gone.stop()
    driver = Driver(gone.address, "secret", "/work")
    assert refusal(driver).startswith("OpenCode did not answer POST /session/ses_1/abort: ConnectError ")
    driver.close()
