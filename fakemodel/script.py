"""What the fake model will answer: frozen values that know no protocol; repetition and rotation are values too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemodel.source import Span

__all__ = [
    "Call",
    "Chunking",
    "Gate",
    "Part",
    "Position",
    "Prose",
    "Reply",
    "Say",
    "Script",
    "SessionScript",
    "Think",
    "Until",
    "Usage",
    "When",
]

Position: TypeAlias = Literal["start", "middle", "end"] | int
"""A point of a stream: before the first piece of content, before the middle one, before the closing chunks, or before chunk N."""

Finish: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "unknown", "none"]

DEFAULT_PACE = 0.005
"""Seconds between two chunks. OpenCode reads ahead of a faster stream and then closes it late (DESIGN.md)."""


@dataclass(frozen=True, slots=True)
class Prose:
    """Text as a value: sentences or blocks, what joins them, and how often the whole is said (None: for ever)."""

    sentences: tuple[str, ...]
    join: str = " "
    repeat: int | None = 1


@dataclass(frozen=True, slots=True)
class Say:
    """A text part."""

    prose: Prose


@dataclass(frozen=True, slots=True)
class Think:
    """A reasoning part."""

    prose: Prose


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call part: the tool's name and its arguments."""

    tool: str
    arguments: Mapping[str, Any]


Part: TypeAlias = Say | Think | Call


@dataclass(frozen=True, slots=True)
class Chunking:
    """How text is cut into chunks: so many characters, words (with the white space after them), sentences or UTF-16 units."""

    size: int = 1
    by: Literal["characters", "words", "sentences", "utf16"] = "words"


@dataclass(frozen=True, slots=True)
class Gate:
    """A named point at which the stream holds until it is released."""

    name: str
    at: Position = "start"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the reply reports; ``input`` includes the cached ones and ``output`` the reasoning ones."""

    input: int = 10
    output: int = 10
    reasoning: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class When:
    """Conditions on a request; all that are given must hold, and a text must be contained.

    ``user_says``: the last user text. ``tool_result``: a result after the last answer of the model.
    ``tool_results``: how many results the request holds. ``system_says``: the system prompt. ``header``:
    request headers. ``last_stream``: who ended this session's last exchange. ``guard_says``: a message
    after the last answer that holds a guard's marker and this text.
    """

    user_says: str | None = None
    tool_result: str | None = None
    tool_results: int | None = None
    system_says: str | None = None
    header: Mapping[str, str] = field(default_factory=dict)
    last_stream: Literal["client", "script", "fault", "killed"] | None = None
    guard_says: str | None = None


@dataclass(frozen=True, slots=True)
class Until:
    """Ends a repeated reply: so many of its calls were blocked by a guard, or a condition holds."""

    blocked: int | None = None
    when: When | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer of the model.

    ``parts`` are sent in order; with ``rotate`` each request gets the next of these calls instead.
    ``times`` is the number of requests it answers, the greatest number when ``until`` is there. Times are
    in seconds. ``span`` is where it stands in its document.
    """

    parts: tuple[Part, ...] = ()
    rotate: tuple[Call, ...] = ()
    times: int = 1
    until: Until | None = None
    optional: bool = False
    when: When | None = None
    chunks: Chunking = Chunking()
    pace: float = DEFAULT_PACE
    first_chunk_delay: float = 0.0
    max_chunks: int | None = None
    wire: int | None = None
    finish: Finish | None = None
    usage: Usage = Usage()
    elapsed: float = 0.0
    gate: Gate | None = None
    name: str | None = None
    span: Span | None = None

    def parts_for(self, use: int) -> tuple[Part, ...]:
        """Return the parts of the answer to the ``use``-th request (from 1) that this reply answers."""
        return (self.rotate[(use - 1) % len(self.rotate)],) if self.rotate else self.parts

    @property
    def finish_reason(self) -> Finish:
        """Why the answer ends: as scripted, else ``tool_calls`` when it calls and ``stop`` when it does not."""
        calls = self.rotate or any(isinstance(part, Call) for part in self.parts)
        return self.finish or ("tool_calls" if calls else "stop")

    @property
    def endless(self) -> bool:
        """Whether the answer never ends by itself."""
        return self.max_chunks is None and any(
            not isinstance(part, Call) and part.prose.repeat is None for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class SessionScript:
    """The replies for one session, in order; ``prompt`` picks the child session whose prompt contains it."""

    name: str
    replies: tuple[Reply, ...]
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """Everything that the fake model will answer in one stage: session scripts by name, and what any session may get."""

    sessions: Mapping[str, SessionScript]
    any_time: tuple[Reply, ...] = ()
    title: str = "A scripted session"
    compaction: str = "Summary: the scripted conversation so far."
