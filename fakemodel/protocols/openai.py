"""What OpenAI's two protocols say alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemodel.protocols.base import packed, serial_id

if TYPE_CHECKING:
    from fakemodel.request import Request

__all__ = ["OpenAI"]


class OpenAI:
    """Ids of calls, errors, and the list of models."""

    def call_id(self, request: Request, index: int, serial: int) -> str:  # noqa: ARG002 - the serial is enough
        """Return an id that is unique in the stage."""
        return serial_id(serial)

    def error(self, status: int, message: str) -> bytes:
        """Write an error."""
        return packed({"error": {"message": message, "type": "fake_model", "param": None, "code": status}}).encode()

    def models(self) -> bytes:
        """Write the list of models."""
        model = {"id": "fake", "object": "model", "created": 0, "owned_by": "fakemodel"}
        return packed({"object": "list", "data": [model]}).encode()
