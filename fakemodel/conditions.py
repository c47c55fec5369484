"""Does a condition hold for a request, and if not, what differs: in words that a failure can print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemodel.exchange import EndedBy
    from fakemodel.request import Request
    from fakemodel.script import When

__all__ = ["Situation", "difference"]

_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Situation:
    """What a condition is asked about: the request, the fate of the session's last stream, the guards' markers."""

    request: Request
    last_stream: EndedBy | None
    markers: tuple[str, ...]

    def marked(self, text: str) -> bool:
        """Say whether a guard speaks in this text."""
        return any(marker in text for marker in self.markers)


def difference(when: When, situation: Situation) -> str | None:
    """Return how the request differs from the condition, or None when the condition holds."""
    request = situation.request
    if when.tool_result is not None and request.last_role != "tool" and not _results(request):
        return f"the last role: wanted tool, got {request.last_role}"
    return (
        _text("user_says", when.user_says, [request.user_text])
        or _text("tool_result", when.tool_result, _results(request))
        or _equal("tool_results", when.tool_results, len(request.results))
        or _text("system_says", when.system_says, [request.system])
        or _header(when, request)
        or _equal("last_stream", when.last_stream, situation.last_stream or "none yet")
        or _text("guard_says", when.guard_says, _guard_texts(situation))
    )


def _results(request: Request) -> list[str]:
    return [result.text for message in request.tail for result in message.results]


def _guard_texts(situation: Situation) -> list[str]:
    texts = [message.text for message in situation.request.tail] + _results(situation.request)
    return [text for text in texts if situation.marked(text)]


def _text(name: str, wanted: str | None, texts: list[str]) -> str | None:
    if wanted is None or any(wanted in text for text in texts):
        return None
    got = " and ".join(_clipped(text) for text in texts) or "nothing"
    return f"when.{name}: wanted text containing {_clipped(wanted)}, got {got}"


def _equal(name: str, wanted: object, got: object) -> str | None:
    return None if wanted is None or wanted == got else f"when.{name}: wanted {wanted}, got {got}"


def _header(when: When, request: Request) -> str | None:
    for name, wanted in when.header.items():
        got = request.headers.get(name.lower())
        differs = _text(f"header.{name}", wanted, [] if got is None else [got])
        if differs:
            return differs
    return None


def _clipped(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."
