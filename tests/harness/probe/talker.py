"""A stand-in for the probe: the other end of the line, spoken by hand."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time

HERE, THERE = "/ws/here", "/ws/there"
AHEAD = 5_000.0  # seconds that the probe's clock is ahead of ours


class Probe:
    """The other end of the line. It answers orders in a thread of its own, or by hand when `mute`."""

    def __init__(self, control, token=None):
        host, port = control.address.split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.lines = self.socket.makefile("rb")
        self.sequence = 0
        self.orders = []
        self.before_pong = None
        self.thread = threading.Thread(target=self.obey)
        self.speaking = threading.Lock()
        self.greeted = threading.Event()
        self.send("hello", None, {"token": token or control.token, "pid": 1})

    def send(self, kind, directory, data=None, *, at=None, session=None):
        line = {"kind": kind, "directory": directory, "session": session, "data": data}
        with self.speaking:
            self.sequence += 1
            t = (time.monotonic() if at is None else at) + AHEAD
            self.raw(json.dumps({"seq": self.sequence, "t": t * 1000, **line}).encode() + b"\n")

    def raw(self, data):
        self.socket.sendall(data)

    def order(self):
        """Read one order; None when the harness hung up."""
        line = self.lines.readline()
        return json.loads(line) if line else None

    def pong(self, order, *, at=None):
        self.send("pong", None, {"id": order["id"]}, at=at)

    def obey(self):
        try:
            while order := self.order():
                self.greeted.set()
                if order["id"] > 0:
                    self.orders.append(order)
                    if self.before_pong:
                        self.before_pong()
                self.pong(order)
        except OSError:
            return

    def start(self):
        self.thread.start()
        assert self.greeted.wait(10), "the harness does not know of this probe"
        return self

    def leave(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        if self.thread.is_alive():
            self.thread.join(timeout=10)
        self.lines.close()
        self.socket.close()


class Seen:
    """Keeps entries, and lets a test wait for them."""

    def __init__(self):
        self.entries = []
        self.came = threading.Condition()

    def __call__(self, entry):
        with self.came:
            self.entries.append(entry)
            self.came.notify_all()

    def wait(self, count):
        with self.came:
            enough = self.came.wait_for(lambda: len(self.entries) >= count, 10)
            assert enough, f"{len(self.entries)} of {count} entries came"
            return list(self.entries)

    @property
    def kinds(self):
        return [entry.kind for entry in self.entries]
