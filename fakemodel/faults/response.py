"""Faults of the response as a whole: another status, a wrong content type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from fakemodel.checking import Seconds  # noqa: TC001 - pydantic reads it
from fakemodel.faults.base import Fault, Response

if TYPE_CHECKING:
    from fakemodel.protocols.base import WireProtocol

__all__ = ["ContentType", "Status"]

_MESSAGES = {
    400: "This model's maximum context length is 100 tokens; your messages are longer. Please reduce their length.",
    401: "The API key is not valid.",
    429: "Rate limit reached.",
    500: "The server had an error.",
    503: "The service is unavailable.",
    529: "Overloaded.",
}


class Status(Fault):
    """Answers with an error status instead of a stream.

    ``message`` goes into the protocol's own error body (each usual status has one; 400 speaks of the context
    length), ``body`` replaces that body, ``retry_after`` (rounded up to seconds) sets the header.
    """

    shorthand: ClassVar[str] = "code"

    code: Annotated[int, Field(ge=400, le=599)]
    message: str | None = None
    body: str | None = None
    retry_after: Seconds | None = None

    def response(self, response: Response, protocol: WireProtocol) -> Response:
        """Replace the response."""
        message = self.message or _MESSAGES.get(self.code, "A scripted error.")
        body = protocol.error(self.code, message) if self.body is None else self.body.encode()
        headers = {**response.headers, "content-type": "application/json"}
        if self.retry_after is not None:
            headers["retry-after"] = str(-int(-self.retry_after // 1))
        return Response(self.code, headers, body)


class ContentType(Fault):
    """Sends the answer under a content type that is not its own."""

    shorthand: ClassVar[str] = "type"

    type: Annotated[str, Field(min_length=1)]

    def response(self, response: Response, protocol: WireProtocol) -> Response:  # noqa: ARG002 - one header for all
        """Replace the header."""
        return Response(response.status, {**response.headers, "content-type": self.type}, response.body)
