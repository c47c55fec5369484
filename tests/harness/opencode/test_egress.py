from __future__ import annotations

import socket
import struct
import time
import urllib.request
from urllib.error import HTTPError, URLError

import pytest

from harness.opencode.egress import EgressTrap


@pytest.fixture
def trap():
    with EgressTrap() as started:
        yield started


def through(trap, url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": trap.url, "https": trap.url}))
    return opener.open(url, timeout=5)


def raw(trap, data):
    port = int(trap.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(data)
        return connection.recv(1000)


def test_a_plain_request_is_refused_and_recorded(trap):
    before = time.time()
    with pytest.raises(HTTPError) as caught:
        through(trap, "http://example.com:8080/x?y")
    assert (caught.value.code, caught.value.reason) == (403, "guardlab lets nothing leave the machine")
    caught.value.close()
    (attempt,) = trap.attempts
    assert (attempt.host, attempt.port) == ("example.com", 8080)
    assert before <= attempt.at <= time.time()


def test_a_tunnel_is_refused_and_recorded(trap):
    with pytest.raises(URLError, match="403"):
        through(trap, "https://packages.example/x")
    assert [attempt[:2] for attempt in trap.attempts] == [("packages.example", 443)]


@pytest.mark.parametrize(
    ("line", "host", "port"),
    [
        ("POST http://example.com/ HTTP/1.1", "example.com", 80),
        ("BREW http://example.com/ HTTP/1.1", "example.com", 80),
        ("CONNECT [::2]:443 HTTP/1.1", "::2", 443),
        ("CONNECT example.com:notaport HTTP/1.1", "example.com", 0),
        ("GET /no/host HTTP/1.1", "/no/host", 0),
    ],
)
def test_every_method_and_target_is_recorded(trap, line, host, port):
    answer = raw(trap, f"{line}\r\nHost: x\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.0 403 ")
    assert [attempt[:2] for attempt in trap.attempts] == [(host, port)]


def test_a_silent_client_does_not_hold_up_the_others_for_long(trap):
    port = int(trap.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)):
        assert raw(trap, b"CONNECT example.com:443 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.0 403 ")


def test_a_client_that_goes_away_is_no_error(trap, capfd):
    port = int(trap.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing it resets it
        connection.sendall(b"CONNECT exa")
    raw(trap, b"CONNECT example.com:443 HTTP/1.1\r\n\r\n")  # the trap is through with the first one
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("no_new_threads")
def test_nothing_is_left_after_stop():
    trap = EgressTrap()
    trap.start()
    port = int(trap.url.rpartition(":")[2])
    trap.stop()
    trap.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def test_the_address_of_a_trap_that_does_not_run():
    with pytest.raises(RuntimeError, match="has not been started"):
        _ = EgressTrap().url
