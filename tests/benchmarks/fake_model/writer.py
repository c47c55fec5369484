"""A program: the server that one writes by hand, to know what a server in Python can do at all.

It knows its one chunk as bytes and writes it as often as the request's model name says, by a write of its own each
time, and waits (`drain`) for a client that reads too slowly. The `fair` one then lets the loop run once: each chunk
reaches the socket by itself, others are served meanwhile, and a client that leaves is noticed at once. The `greedy`
one does not: it goes on until the buffer is full, so that hundreds of chunks share a call of the system.

Arguments: port, `fair` or `greedy`, and the number of chunks by model name as JSON (null: for ever).
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNK = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,'
    b'"delta":{"content":"checked "},"finish_reason":null}]}\n\n'
)
FRAME = b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK)


class Writer:
    """Answers every request with so many chunks as its model name stands for."""

    def __init__(self, counts: dict[str, int | None], *, fair: bool) -> None:
        self.counts = counts
        self.fair = fair

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        name = json.loads(await reader.readuntil(b"}]}"))["model"]
        writer.write(HEAD)
        with suppress(ConnectionError):
            for _ in range(self.counts[name] or sys.maxsize):
                writer.write(FRAME)
                await writer.drain()
                if self.fair:
                    await asyncio.sleep(0)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        writer.close()

    async def serve(self, port: int) -> None:
        async with await asyncio.start_server(self.answer, "127.0.0.1", port) as server:
            await server.serve_forever()


def main() -> None:
    port, manners, counts = sys.argv[1:]
    serving = Writer(json.loads(counts), fair=manners == "fair").serve(int(port))
    try:
        import uvloop  # noqa: PLC0415 - the loop that the fake model runs on, where there is one
    except ImportError:
        asyncio.run(serving)
    else:
        uvloop.run(serving)


if __name__ == "__main__":
    main()
