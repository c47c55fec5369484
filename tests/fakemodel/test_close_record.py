"""Who ended a stream, and what had been sent by then: true at full speed."""

from __future__ import annotations

import random
import socket
import statistics
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
from raw_client import RawClient, chat, said

ENDLESS = "- {say: Let me check whether the containers started., repeat: forever, chunks: {size: 7}, max_chunks: 100000000, pace: 0, times: 1000}"


def reset(client: RawClient) -> None:
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.socket.close()


def half_close(client: RawClient) -> None:
    client.socket.shutdown(socket.SHUT_WR)
    while client.socket.recv(65536):
        pass


@pytest.mark.parametrize("leave", [lambda client: client.socket.close(), reset, half_close], ids=["fin", "rst", "half"])
@pytest.mark.parametrize("pace", ["5ms", "0"])
def test_the_client_leaves(play, leave, pace):
    one = play(f"- {{say: Let me check this., repeat: forever, pace: {pace}, max_chunks: 100000000}}")
    with one.ask() as client:
        client.read(events=20)
        leave(client)
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
    """Eight unpaced streams at once, each cut by its client, while others are answered."""
    one = play(ENDLESS + "\n")
    other = play("[{say: Quick., pace: 0, times: 1000}]")
    seeded = random.Random(7)
    wanted = [seeded.randrange(1, 200) for _ in range(200)]

    def leave_after(number: int) -> int:
        with one.ask(chat(str(number))) as client:
            return client.read(events=wanted[number]).count(b"\n\n")

    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(leave_after, number) for number in range(200)]
        quick = [said(other.answer(chat(str(number)))) for number in range(20)]
        read = [job.result() for job in jobs]
    records = one.stage.journal.wait_for(200, timeout=30)
    assert quick == ["Quick."] * 20
    assert [record.ended_by for record in records] == ["client"] * 200
    counts = {record.request.user_text: record.chunks_sent for record in records}
    assert all(counts[str(number)] >= read[number] for number in range(200))
    lags = [record.stop_lag for record in records]
    assert statistics.quantiles(lags, n=100)[98] < 0.02
