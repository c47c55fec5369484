"""The protocols of model providers that the fake model speaks, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemodel.protocols.anthropic_messages import AnthropicMessages
from fakemodel.protocols.google_generate import GoogleGenerate
from fakemodel.protocols.openai_chat import OpenAIChat
from fakemodel.protocols.openai_responses import OpenAIResponses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemodel.protocols.base import WireProtocol

__all__ = ["protocols"]


def protocols() -> Mapping[str, WireProtocol]:
    """Return every protocol by its name; the first that accepts a path answers it."""
    known: tuple[WireProtocol, ...] = (
        OpenAIChat(),
        OpenAIChat(whole_calls=True),
        OpenAIResponses(),
        AnthropicMessages(),
        GoogleGenerate(),
    )
    return {protocol.name: protocol for protocol in known}
