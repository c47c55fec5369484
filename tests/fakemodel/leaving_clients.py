"""A program: clients that each read a stream up to a chosen chunk and leave; in one thread: none waits for another.

Arguments: host, port, path, number of clients, how many at once. Prints as JSON, for each client: `read`, how many
chunks it read; `left`, when it had closed its connection (monotonic seconds); `blind`, whether it lost its processor
between its last look at the socket, which found nothing, and the close: it then cannot know what was sent to it
meanwhile. For each blind one another client comes and leaves.
"""

from __future__ import annotations

import json
import random
import select
import socket
import sys
import time

FRAME_END = b"\n\n\r\n"
BLIND_SECONDS = 0.0001


class Client:
    """One request and how much of its answer was read."""

    def __init__(self, address: tuple[str, int], path: str, number: int, wanted: int) -> None:
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": str(number)}]}
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(data)}\r\n\r\n"
        self.read = 0
        self.left = 0.0
        self.blind = False
        self.socket = socket.create_connection(address, 20)
        self.socket.sendall(head.encode() + data)
        self.socket.settimeout(0)
        self._wanted = wanted
        self._carry = b""

    def look(self) -> bool:
        """Read what has arrived, and leave if it is enough; says whether it has left."""
        while True:
            began = time.monotonic()
            try:
                data = self._carry + self.socket.recv(65536)
            except BlockingIOError:
                return self.read >= self._wanted and self._leave(began)
            self.read += data.count(FRAME_END)
            self._carry = data[-len(FRAME_END) + 1 :]

    def _leave(self, looked: float) -> bool:
        self.socket.close()
        self.left = time.monotonic()
        self.blind = self.left - looked > BLIND_SECONDS
        return True


def main() -> None:
    host, port, path, count, at_once = sys.argv[1:]
    seeded = random.Random(7)
    clients: list[Client] = []
    reading: list[Client] = []
    missing = int(count)
    while missing:
        while len(reading) < min(int(at_once), missing):
            clients.append(Client((host, int(port)), path, len(clients), seeded.randrange(1, 200)))
            reading.append(clients[-1])
        select.select([client.socket for client in reading], [], [], 20)
        for client in tuple(reading):
            if client.look():
                reading.remove(client)
                missing -= not client.blind
    sys.stdout.write(json.dumps([{"read": one.read, "left": one.left, "blind": one.blind} for one in clients]))


if __name__ == "__main__":
    main()
