"""Who ended a stream, and what had been sent by then: true at full speed."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from raw_client import RawClient, chat, said

ENDLESS = """
- say: Let me check whether the containers started.
  repeat: forever
  chunks: {size: 7}
  max_chunks: 100000000
  pace: 0
  times: 1000
"""

TRIES = 3


def reset(client: RawClient) -> None:
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.socket.close()


def half_close(client: RawClient) -> None:
    client.socket.shutdown(socket.SHUT_WR)
    while client.socket.recv(65536):
        pass


@pytest.mark.parametrize("go", [lambda client: client.socket.close(), reset, half_close], ids=["fin", "rst", "half"])
@pytest.mark.parametrize("pace", ["5ms", "0"])
def test_the_client_leaves(play, go, pace):
    one = play(f"- {{say: Let me check this., repeat: forever, pace: {pace}, max_chunks: 100000000}}")
    with one.ask() as client:
        client.read(events=20)
        go(client)
    record = one.last()
    assert record.ended_by == "client"
    assert record.chunks_sent >= 20
    assert record.stop_lag < 0.5
    assert record.closed_at is not None
    assert record.part == (0, "say")


def test_a_paced_stream_stops_within_a_chunk_or_two(play):
    one = play("- {say: One two three., repeat: forever, pace: 20ms}")
    with one.ask() as client:
        read = client.read(events=8).count(b"\n\n")
    record = one.last()
    assert read <= record.chunks_sent <= read + 2
    assert record.chunks_scripted is None
    # The opening chunk is no text; three words are one repetition.
    assert record.repeats == (record.chunks_sent - 1) // 3


def test_the_sentence_that_the_stream_was_in(play):
    one = play("- {say: [One two., Three four., Five.], repeat: 3, gate: {name: here, at: 11}}")
    with one.ask() as client:
        client.read(events=10)
        one.wait("gate")
    record = one.last()
    # The opening chunk is no text; a repetition has five words, and four words more end the second sentence.
    assert (record.chunks_sent, record.repeats, record.sentence) == (10, 1, 3)


def test_the_count_and_the_place_of_a_finite_stream(play):
    one = play("- {say: One two three., repeat: 5, pace: 20ms}")
    with one.ask() as client:
        client.read(events=5)
    record = one.last()
    assert (record.ended_by, record.chunks_scripted) == ("client", 1 + 15 + 3)
    assert 5 <= record.chunks_sent <= 7
    assert record.text_sent == len("One two three. One two three."[: record.text_sent])


def test_a_client_that_reads_everything_did_not_end_it(play):
    one = play("- {say: a b c}")
    assert said(one.answer()) == "a b c"
    assert one.last().ended_by == "script"


def test_a_killed_client(play):
    one = play("- {say: a, repeat: forever, times: 2}")
    for name, call in (("killed", one.stage.mark_killed), ("client", one.stage.mark_started)):
        with one.ask(chat(name)) as client:
            client.read(events=3)
            call()
        assert one.last().ended_by == name


def test_a_client_that_reads_nothing_and_leaves(play):
    one = play(ENDLESS)
    with one.ask() as client:
        client.head()
    assert one.last().ended_by == "client"


def test_two_hundred_clients_leave_after_a_random_chunk(play):
    """Eight unpaced streams at once, each left by its client, while others are answered.

    A busy system may hold back what was sent until after a client's last look, or stop the server; it may try again.
    """
    for _ in range(TRIES):
        above, lags = leave(play)
        assert above[0] >= 0
        if above[-1] <= 3 and lags[197] < 0.02:
            break
    assert above[-1] <= 3
    assert lags[197] < 0.02


def leave(play) -> tuple[list[int], list[float]]:
    """Let 200 clients leave; returns how many chunks the records count above those read, and the stop lags, sorted."""
    one = play(ENDLESS)
    other = play("[{say: Quick., pace: 0, times: 1000}]")
    url = urlsplit(one.url)
    program = [sys.executable, Path(__file__).parent / "leaving_clients.py"]
    with subprocess.Popen(
        [*program, url.hostname, str(url.port), url.path, "200", "8"], stdout=subprocess.PIPE
    ) as running:
        one.stage.journal.wait_for(1)
        quick = [said(other.answer(chat(str(number)))) for number in range(20)]
        clients = json.loads(running.stdout.read())
    records = one.stage.journal.wait_for(len(clients), timeout=30)
    assert quick == ["Quick."] * 20
    assert [record.ended_by for record in records] == ["client"] * len(clients)
    seeing = [(record, clients[int(record.request.user_text)]) for record in records]
    seeing = [(record, client["read"]) for record, client in seeing if not client["blind"]]
    assert len(seeing) == 200
    return sorted(record.chunks_sent - read for record, read in seeing), sorted(record.stop_lag for record, _ in seeing)
