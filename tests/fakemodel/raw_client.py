"""A client that sees the bytes: what arrived, and whether the stream ended properly, by FIN or by RST."""

from __future__ import annotations

import json
import socket
from typing import Self
from urllib.parse import urlsplit

DEADLINE = 10.0


def chat(*texts: str, stream: bool = True, tools: bool = True) -> dict:
    """A chat request: user texts and, between them, nothing."""
    body = {
        "model": "m",
        "stream": stream,
        "messages": [{"role": "user", "content": text} for text in texts or ("hi",)],
    }
    return body | ({"tools": [{"type": "function", "function": {"name": "bash"}}]} if tools else {})


def after_call(call_id: str, result: str, *, text: str = "hi") -> dict:
    """A chat request that brings the result of one call."""
    function = {"name": "bash", "arguments": "{}"}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }
    answer = {"role": "tool", "tool_call_id": call_id, "content": result}
    return {**chat(), "messages": [{"role": "user", "content": text}, call, answer]}


class RawClient:
    """One request on one connection."""

    def __init__(self, url: str, body: dict, headers: dict[str, str] | None = None) -> None:
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), DEADLINE)
        data = json.dumps(body).encode()
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        lines = [f"POST {path} HTTP/1.1", "host: localhost", f"content-length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + data)
        self.raw = b""
        self.ended: str | None = None
        self.status = 0
        self.headers: dict[str, str] = {}
        self.writes: list[bytes] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _more(self) -> bool:
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            self.ended = "rst"
            return False
        if not data:
            self.ended = "fin"
            return False
        self.raw += data
        return True

    def head(self) -> int:
        """Read the status line and the headers."""
        while b"\r\n\r\n" not in self.raw and self._more():
            pass
        head, _, self.raw = self.raw.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        return self.status

    def _next_write(self) -> bool:
        """Take one HTTP chunk from what has arrived; the last one ends the response."""
        size, line, rest = self.raw.partition(b"\r\n")
        if not line or len(rest) < int(size, 16) + 2:
            return False
        self.writes.append(rest[: int(size, 16)])
        self.raw = rest[int(size, 16) + 2 :]
        if not self.writes[-1]:
            self.ended = "complete"
        return True

    def read(self, events: int | None = None) -> bytes:
        """Read the body: to its end, or until so many events have arrived."""
        if not self.status:
            self.head()
        while self.ended is None:
            if events is not None and self.body.count(b"\n\n") >= events:
                break
            if not self._next_write():
                self._more()
        while self.ended in ("fin", "rst") and self._next_write():
            pass
        return self.body

    @property
    def body(self) -> bytes:
        """What has arrived of the body."""
        return b"".join(self.writes)


def deltas(body: bytes) -> list[dict]:
    """The deltas of a chat stream."""
    frames = [frame.removeprefix("data: ") for frame in body.decode().split("\n\n") if frame]
    chunks = [json.loads(frame) for frame in frames if frame != "[DONE]"]
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]


def said(body: bytes) -> str:
    """The text of a chat stream."""
    return "".join(delta.get("content") or "" for delta in deltas(body))
