"""A program: clients that each read a stream up to a chosen chunk and leave; a process reads as fast as a client does.

Arguments: host, port, path, number of clients, how many at once. Prints how many chunks each client read, as JSON.
"""

from __future__ import annotations

import json
import random
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

FRAME_END = b"\n\n\r\n"


def leave(address: tuple[str, int], path: str, number: int, wanted: int) -> int:
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": str(number)}]}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
    read, carry = 0, b""
    with socket.create_connection(address, 20) as client:
        client.sendall(head.encode() + body)
        while True:
            try:
                data = carry + client.recv(65536)
            except BlockingIOError:
                return read
            read += data.count(FRAME_END)
            carry = data[-len(FRAME_END) + 1 :]
            if read >= wanted:
                # What has arrived by now counts as read; then the client leaves.
                client.settimeout(0)


def main() -> None:
    host, port, path, count, at_once = sys.argv[1:]
    seeded = random.Random(7)
    wanted = [seeded.randrange(1, 200) for _ in range(int(count))]
    with ThreadPoolExecutor(int(at_once)) as pool:
        jobs = [pool.submit(leave, (host, int(port)), path, number, wanted[number]) for number in range(int(count))]
        sys.stdout.write(json.dumps([job.result() for job in jobs]))


if __name__ == "__main__":
    main()
