"""A program: asks for streams at once and reads them in big blocks, which costs it little; the same for every server.

Arguments: port, path, what to ask for, how many streams, and `all` to read to the end or `first` to leave with the
first frame. Prints as JSON: `first`, the milliseconds from each request to its first frame; `seconds`, from the first
request to the end of the last stream; `chunks`, how many frames came.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time

BLOCK = 1 << 20
SECONDS = 600.0
FRAME = b"data: "
END = b"\r\n0\r\n\r\n"
"""The last chunk of HTTP; not every server closes the connection after it."""


class Stream:
    """One request and what has come of its answer."""

    def __init__(self, port: int, path: str, what: str) -> None:
        self.chunks = 0
        self.first = 0.0
        self.socket = socket.create_connection(("127.0.0.1", port), SECONDS)
        body = json.dumps({"model": what, "stream": True, "messages": [{"role": "user", "content": what}]}).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n"
        self._request = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
        self._began = 0.0
        self._carry = b""

    def ask(self) -> None:
        self._began = time.perf_counter()
        self.socket.sendall(self._request)

    def read(self) -> bool:
        """Take what is there; says whether the stream goes on."""
        block = self.socket.recv(BLOCK)
        now = time.perf_counter()
        data = self._carry + block
        self.chunks += data.count(FRAME) - self._carry.count(FRAME)
        self._carry = data[-len(END) :]
        if self.chunks and not self.first:
            self.first = now - self._began
        return bool(block) and not data.endswith(END)


def main() -> None:
    port, path, what, count, until = sys.argv[1:]
    streams = [Stream(int(port), path, what) for _ in range(int(count))]
    began = time.perf_counter()
    with selectors.DefaultSelector() as ready:
        for stream in streams:
            stream.ask()
            ready.register(stream.socket, selectors.EVENT_READ, stream)
        while ready.get_map():
            for key, _ in ready.select(SECONDS):
                stream = key.data
                if not stream.read() or (stream.first and until == "first"):
                    ready.unregister(stream.socket)
                    stream.socket.close()
    seconds = time.perf_counter() - began
    first = [stream.first * 1000 for stream in streams]
    sys.stdout.write(json.dumps({"first": first, "seconds": seconds, "chunks": sum(one.chunks for one in streams)}))


if __name__ == "__main__":
    main()
