"""Every kind of fault, seen from a raw socket: bytes, FIN or RST, and the record."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from raw_client import RawClient, chat, deltas, said

from fakemodel.faults import fault_kinds

SAY = "say: One two three four., pace: 0"


def faulted(play, fault: str, reply: str = SAY):
    """Ask once under a fault; return the client with everything read, the record and the stage."""
    one = play(f"- {{{reply}, fault: {fault}}}")
    with one.ask() as client:
        client.read()
    return client, one.last(), one


@pytest.mark.parametrize(
    ("fault", "status", "body", "headers"),
    [
        ("{status: 429}", 429, "Rate limit reached.", {}),
        ("{status: {code: 429, retry_after: 1200ms}}", 429, "Rate limit reached.", {"retry-after": "2"}),
        ("{status: 400}", 400, "maximum context length", {}),
        ("{status: 401}", 401, "The API key is not valid.", {}),
        ("{status: 500}", 500, "The server had an error.", {}),
        ("{status: 503}", 503, "The service is unavailable.", {}),
        ("{status: 529}", 529, "Overloaded.", {}),
        ("{status: {code: 418, message: Teapot}}", 418, "Teapot", {}),
        ("{status: {code: 502, body: <html>}}", 502, "<html>", {}),
    ],
)
def test_status(play, fault, status, body, headers):
    client, record, _ = faulted(play, fault)
    assert client.status == record.status == status
    assert body in client.body.decode()
    assert headers.items() <= client.headers.items()
    assert (record.ended_by, record.faults, record.chunks_sent) == ("fault", ("status",), 0)


def test_two_429_and_then_fine(play):
    one = play(f"- {{{SAY}, fault: {{status: 429, first: 2}}}}\n- say: next\n")
    statuses = []
    for _ in range(3):
        with one.ask() as client:
            client.read()
            statuses.append(client.status)
    assert statuses == [429, 429, 200]
    assert said(one.answer(chat("another"))) == "next"
    assert [(each.reply, each.use) for each in one.stage.journal.wait_for(4)] == [(1, 1)] * 3 + [(2, 1)]


def test_the_third_request_alone(play):
    one = play(f"- {{{SAY}, times: 4, fault: {{status: 500, request: 3}}}}")
    statuses = []
    for number in range(4):
        with one.ask(chat(str(number))) as client:
            statuses.append(client.head())
    assert statuses == [200, 200, 500, 200]


def test_for_ever(play):
    one = play(f"- {{{SAY}, fault: {{status: 500, first: forever}}}}")
    for _ in range(5):
        with one.ask() as client:
            assert client.head() == 500


def test_content_type(play):
    client, record, _ = faulted(play, "{content_type: text/html}")
    assert client.headers["content-type"] == "text/html"
    assert said(client.body) == "One two three four."
    assert record.ended_by == "script"


def test_slow(play):
    one = play(f"- {{{SAY}, fault: {{slow: 100ms}}}}")
    with one.ask() as client:
        client.head()
        headers_at = time.monotonic()
        client.read()
    record = one.last()
    assert record.first_at > headers_at
    assert record.stalled >= 0.098


def test_stall_until_the_client_leaves(play):
    one = play(f"- {{{SAY}, fault: {{stall: 3}}}}")
    with one.ask() as client:
        assert said(client.read(events=2)) == "One "
        client.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)
    record = one.last()
    assert (record.ended_by, record.chunks_sent) == ("client", 2)
    assert record.stalled >= 0.098


def test_stall_for_a_time(play):
    client, record, _ = faulted(play, "{stall: {at: middle, for: 80ms}}")
    assert said(client.body) == "One two three four."
    assert record.ended_by == "script"
    assert 0.078 <= record.stalled < 5  # the loop counts in milliseconds


@pytest.mark.parametrize(
    ("at", "text", "count"),
    [("3", "One ", 2), ("middle", "One two ", 3), ("end", "One two three four.", 5), ("start", "", 1)],
)
def test_truncate(play, at, text, count):
    client, record, _ = faulted(play, f"{{truncate: {at}}}")
    assert client.ended == "complete"
    assert said(client.body) == text
    assert b"[DONE]" not in client.body
    assert all("finish_reason" not in delta for delta in deltas(client.body))
    assert (record.ended_by, record.chunks_sent, record.chunks_scripted) == ("fault", count, 8)


@pytest.mark.parametrize(("kind", "ended"), [("cut", "fin"), ("reset", "rst")])
@pytest.mark.parametrize(
    ("inside", "tail"),
    [("between", b"\n\n"), ("frame", b"]}"), ("json", None)],
)
def test_the_connection_is_closed(play, kind, ended, inside, tail):
    client, record, _ = faulted(play, f"{{{kind}: {{at: 4, inside: {inside}}}}}")
    assert client.ended == ended
    whole, _, partial = client.body.rpartition(b"\n\n") if inside != "between" else (client.body, b"", b"")
    assert said(whole) == "One two "
    if tail:
        assert client.body.endswith(tail)
    if inside == "frame":
        assert json.loads(partial.removeprefix(b"data: "))["choices"]
    if inside == "json":
        assert partial.startswith(b'data: {"id"')
        with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
            json.loads(partial.removeprefix(b"data: "))
    assert (record.ended_by, record.faults, record.chunks_sent) == ("fault", (kind,), 3)


def test_garbage(play):
    client, record, _ = faulted(play, "{garbage: 3}")
    frames = client.body.decode().split("\n\n")
    assert frames[2] == 'data: {"choices":[{"delta":'
    assert said("\n\n".join(frames[:2] + frames[3:]).encode()) == "One two three four."
    assert record.ended_by == "script"


def test_garbage_of_ones_own(play):
    client, _, _ = faulted(play, "{garbage: {at: end, text: <<<}}")
    assert b"\n\ndata: <<<\n\n" in client.body


def test_duplicate(play):
    client, record, _ = faulted(play, "{duplicate: 3}")
    assert said(client.body) == "One two two three four."
    assert record.chunks_sent == record.chunks_scripted + 1


def test_empty(play):
    client, _, _ = faulted(play, "{empty: {at: middle, count: 3}}")
    contents = [delta.get("content") for delta in deltas(client.body)]
    assert contents == ["", "One ", "two ", "", "", "", "three ", "four.", None]


def test_huge(play):
    client, record, _ = faulted(play, "{huge: 1000000}")
    assert said(client.body) == "x" * 1_000_000 + "One two three four."
    assert record.chunks_sent == record.chunks_scripted + 1


def test_half_arguments(play):
    client, _, _ = faulted(play, "{half_arguments: true}", "call: {bash: {command: ls}}")
    pieces = [delta["tool_calls"][0]["function"] for delta in deltas(client.body) if "tool_calls" in delta]
    assert "".join(piece["arguments"] for piece in pieces) == '{"comman'
    assert b'"finish_reason":"tool_calls"' in client.body


def test_unknown_tool(play):
    client, _, _ = faulted(play, "{unknown_tool: no_such_tool}", "calls: [{bash: {command: ls}}, {read: {}}]")
    assert client.body.count(b'"name":"no_such_tool"') == 2


def test_faults_compose(play):
    client, record, _ = faulted(play, "[{duplicate: 3}, {cut: end}, {content_type: text/plain}]")
    assert (client.ended, client.headers["content-type"]) == ("fin", "text/plain")
    assert said(client.body) == "One two two three four."
    assert record.faults == ("duplicate", "cut", "content_type")


def test_a_fault_at_a_point_that_never_comes_is_told(play):
    _, _, one = faulted(play, "{cut: 99}")
    assert [event.detail["reason"] for event in one.told("invalid")] == [
        "a fault is at 99, but the answer had only 8 chunks"
    ]


def test_a_whole_answer_can_be_cut(play):
    one = play(f"- {{{SAY}, fault: {{cut: {{at: 1, inside: json}}}}}}")
    with RawClient(one.url, chat(stream=False)) as client:
        body = client.read()
    assert client.ended == "fin"
    assert body.startswith(b'{"id":"chatcmpl-1"')
    assert one.last().ended_by == "fault"


def test_every_kind_has_a_scenario():
    paths = (Path(__file__).parents[2] / "scenarios" / "faults").glob("*.scenario.yaml")
    scenarios = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    assert [kind for kind in fault_kinds() if f"fault: {{{kind}: " not in scenarios] == []


def test_every_kind_is_tested_here():
    source = Path(__file__).read_text(encoding="utf-8")
    assert [kind for kind in fault_kinds() if f"{{{kind}: " not in source and f'"{kind}"' not in source] == []
