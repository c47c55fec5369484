"""The ASGI application: finds the stage and the protocol of a request and lets the exchange play."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fakemodel.connection import Connection
from fakemodel.protocols import protocols
from fakemodel.request import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from fakemodel.connection import Receive, Send
    from fakemodel.protocols.base import WireProtocol
    from fakemodel.stage import Stage

__all__ = ["App"]


class App:
    """Serves every stage of one server. ``errors`` holds what went wrong in the server itself."""

    def __init__(self) -> None:
        self.stages: dict[str, Stage] = {}
        self.errors: list[BaseException] = []
        self._protocols = protocols()

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        connection = Connection(receive, send)
        try:
            await self._answer(scope, connection)
        except Exception as error:
            self.errors.append(error)
            raise
        finally:
            connection.close()

    async def _answer(self, scope: Mapping[str, Any], connection: Connection) -> None:
        body = await connection.body()
        token, _, tail = scope["path"].lstrip("/").partition("/")
        path = f"/{tail}"
        stage = self.stages.get(token)
        protocol = self._protocol(scope["method"], path)
        if stage is None:
            await _plain(connection, 404, "fakemodel: no stage has this token")
        elif stage.closed:
            await _plain(connection, 410, "fakemodel: this stage is closed")
        elif scope["method"] == "GET" and path.endswith("/models"):
            await _plain(connection, 200, self._models(path))
        elif protocol is None:
            await _plain(connection, 404, f"fakemodel: no protocol answers {scope['method']} {path}")
        else:
            await self._play(stage, protocol, path, body, _headers(scope), connection)

    async def _play(
        self, stage: Stage, protocol: WireProtocol, path: str, body: bytes, headers: dict[str, str], connection: Connection
    ) -> None:
        try:
            request = protocol.read(path, json.loads(body), redacted(headers))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            await _plain(connection, 400, f"fakemodel: this is no request of {protocol.name}: {error!r}")
            return
        await stage.begin(request, protocol, connection).play()

    def _protocol(self, method: str, path: str) -> WireProtocol | None:
        if method != "POST":
            return None
        return next((protocol for protocol in self._protocols.values() if protocol.accepts(path)), None)

    def _models(self, path: str) -> str:
        fitting = [protocol for protocol in self._protocols.values() if path.startswith(protocol.base_path)]
        return fitting[0].models().decode() if fitting else "{}"


def _headers(scope: MutableMapping[str, Any] | Mapping[str, Any]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


async def _plain(connection: Connection, status: int, text: str) -> None:
    body = text if status == 200 else json.dumps({"error": {"message": text}})
    await connection.start(status, {"content-type": "application/json", "x-should-retry": "false"})
    await connection.finish(body.encode())
