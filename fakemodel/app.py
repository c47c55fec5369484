"""The ASGI application: finds the stage and the protocol of a request and lets the exchange play."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

from fakemodel.connection import Connection
from fakemodel.protocols import protocols
from fakemodel.request import Request, redacted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemodel.connection import Receive, Send
    from fakemodel.live import LiveExchange
    from fakemodel.protocols.base import WireProtocol
    from fakemodel.stage import Stage

__all__ = ["App"]

CLOSED_KEPT = 100  # a client that comes later than that many stages is answered as one whose token was never given


class App:
    """Serves every stage of one server. ``errors`` holds what went wrong in the server itself."""

    def __init__(self) -> None:
        self.stages: dict[str, Stage] = {}
        self._closed: deque[str] = deque(maxlen=CLOSED_KEPT)
        self.errors: list[BaseException] = []
        self._protocols = protocols()

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        connection = Connection(receive, send, scope["state"]["wire"])
        try:
            await self._answer(scope, connection)
        except Exception as error:
            self.errors.append(error)
            raise
        finally:
            connection.close()

    def forget_closed(self) -> None:
        """Keep no more than the tokens of the last closed stages; their journals can be large."""
        for token in [token for token, stage in self.stages.items() if stage.closed]:
            self._closed.append(token)
            del self.stages[token]

    async def _answer(self, scope: Mapping[str, Any], connection: Connection) -> None:
        body = await connection.body()
        token, _, tail = scope["path"].lstrip("/").partition("/")
        stage = self.stages.get(token)
        if token in self._closed or (stage is not None and stage.closed):
            await _plain(connection, 410, "fakemodel: this stage is closed")
        elif stage is None:
            await _plain(connection, 404, "fakemodel: no stage has this token")
        elif scope["method"] == "GET" and tail.endswith("/models"):
            await _json(connection, 200, self._models(f"/{tail}"))
        else:
            await self._begin(stage, scope, f"/{tail}", body, connection).play()

    def _begin(
        self, stage: Stage, scope: Mapping[str, Any], path: str, body: bytes, connection: Connection
    ) -> LiveExchange:
        """Let the stage take the request in; what is no request of a protocol counts as unscripted."""
        headers = redacted(_headers(scope))
        protocol = self._protocol(scope["method"], path)
        nothing = Request("", stream=False, system="", messages=(), tools=(), headers=headers)
        if protocol is None:
            reason = f"no protocol answers {scope['method']} {path}"
            return stage.refuse(nothing, self._protocols["openai_chat"], connection, 404, reason)
        try:
            request = protocol.read(path, json.loads(body), headers)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"the body is no request of {protocol.name}: {error!r}"
            return stage.refuse(nothing, protocol, connection, 400, reason)
        return stage.begin(request, protocol, connection)

    def _protocol(self, method: str, path: str) -> WireProtocol | None:
        if method != "POST":
            return None
        return next((protocol for protocol in self._protocols.values() if protocol.accepts(path)), None)

    def _models(self, path: str) -> bytes:
        fitting = [protocol for protocol in self._protocols.values() if path == f"{protocol.base_path}/models"]
        return fitting[0].models() if fitting else b"{}"


def _headers(scope: Mapping[str, Any]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


async def _plain(connection: Connection, status: int, text: str) -> None:
    await _json(connection, status, json.dumps({"error": {"message": text}}).encode())


async def _json(connection: Connection, status: int, body: bytes) -> None:
    await connection.start(status, {"content-type": "application/json", "x-should-retry": "false"})
    await connection.finish(body)
