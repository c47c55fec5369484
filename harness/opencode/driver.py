"""A typed client of OpenCode's HTTP API, for one workspace of one server."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx

from harness.errors import CrashError
from harness.opencode.client import open_client

__all__ = ["PROMPT_AGENT", "Driver"]

PROMPT_AGENT = "build"
CALL_SECONDS = 60.0


class Driver:
    """Calls of the scenario's steps. Routes and shapes: opencode-facts.md A.6, B, D, E, G and GET /doc.

    Every call names the workspace by the header `x-opencode-directory`, so that one server serves many of them.
    Raises CrashError when OpenCode does not answer or answers with an error; its message names the call and the answer.
    """

    def __init__(self, address: str, password: str, directory: str) -> None:
        """Open a connection pool of its own; `close` ends it."""
        self._client = open_client(
            password,
            base_url=address,
            headers={"x-opencode-directory": quote(directory, safe="/")},  # a header holds ASCII only
            timeout=CALL_SECONDS,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def create_session(self, title: str) -> str:
        """Create a session and return its id. A title of its own suppresses OpenCode's title request."""
        return str(self._call("POST", "/session", {"title": title})["id"])

    def delete_session(self, session: str) -> None:
        """Delete a session and its messages."""
        self._call("DELETE", f"/session/{session}")

    def send(self, session: str, text: str) -> None:
        """Hand a prompt over; returns when OpenCode accepted it, long before the answer."""
        body = {"agent": PROMPT_AGENT, "parts": [{"type": "text", "text": text}]}
        self._call("POST", f"/session/{session}/prompt_async", body)

    def abort(self, session: str) -> None:
        """Stop the session's turn, as a user does."""
        self._call("POST", f"/session/{session}/abort")

    def status(self) -> dict[str, Any]:
        """Give the sessions of this workspace that are not idle, with their status."""
        return dict(self._call("GET", "/session/status"))

    def reply(self, request: str, answer: str, message: str | None = None, *, session: str | None = None) -> None:
        """Answer a permission request with once, always or reject.

        `session` is named for a request of the API's second form (opencode-facts.md A.6), and for no other.
        """
        path = f"/api/session/{session}/permission/{request}/reply" if session else f"/permission/{request}/reply"
        self._call("POST", path, {"reply": answer, **({"message": message} if message else {})})

    def dispose(self) -> None:
        """End this workspace's instance: its plugins are disposed, the next call boots a new one."""
        self._call("POST", "/instance/dispose")

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        try:
            answer = self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise CrashError(f"OpenCode did not answer {method} {path}: {type(error).__name__} {error}") from error
        if answer.is_error:
            raise CrashError(f"OpenCode answered {method} {path} with {answer.status_code}: {answer.text[:500]}")
        try:
            return answer.json() if answer.content else None
        except ValueError as error:
            raise CrashError(f"OpenCode answered {method} {path} without JSON: {answer.text[:500]}") from error
