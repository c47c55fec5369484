from __future__ import annotations

import re

from harness.process.ports import left_open
from harness.process.readiness import wait_for_line

OPEN = """
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
client = socket.create_connection(sockets[0].getsockname())
print("ports", *(one.getsockname()[1] for one in sockets), flush=True)
"""
WAIT = "import time; time.sleep(60)"
CLOSE = "time = __import__('time'); time.sleep(0.3); sockets[1].close(); time.sleep(60)"
PORTS = re.compile(r"^ports (\d+) (\d+)$", re.MULTILINE)


def ports(child):
    return [int(port) for port in wait_for_line(child, PORTS, 10).groups()]


def test_ports_that_stay_open_are_told_besides_the_own(start):
    child = start(OPEN + WAIT)
    first, second = ports(child)
    assert left_open(child, [], 0.0) == sorted([first, second])
    assert left_open(child, [first], 0.1) == [second]
    assert left_open(child, [first, second], 60.0) == []


def test_a_port_that_is_about_to_be_closed_is_waited_for(start):
    child = start(OPEN + CLOSE)
    first, _ = ports(child)
    assert left_open(child, [first], 60.0) == []


def test_a_program_that_has_ended_has_no_ports(start):
    child = start("")
    assert child.wait(10)
    assert left_open(child, [], 0.0) == []
