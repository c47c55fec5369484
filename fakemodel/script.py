"""What the fake model will answer: frozen values that know no protocol; repetition and rotation are values too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemodel.faults.base import Fault
    from fakemodel.source import Span

__all__ = [
    "Call",
    "Chunking",
    "Finish",
    "Gate",
    "Part",
    "Point",
    "Prose",
    "Reply",
    "Say",
    "ScheduledFault",
    "Script",
    "SessionScript",
    "Think",
    "Until",
    "Usage",
    "Vary",
    "When",
]

Point: TypeAlias = Literal["start", "middle", "end"] | int
"""A point of a stream: before the first piece of content, before the middle one, before the closing chunks,
or before chunk N (from 1)."""

Finish: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "unknown", "none"]

DEFAULT_PACE = 0.005
"""Seconds between two chunks. OpenCode reads ahead of a faster stream and then closes it late (DESIGN.md)."""


@dataclass(frozen=True, slots=True)
class Vary:
    """How repetitions differ.

    ``counter`` replaces ``{n}`` by a number that begins here and grows by 1, ``items`` replaces ``{item}`` by the
    next of these, ``reworded`` takes the next wording, ``growing`` is added once more with every repetition.
    """

    counter: int | None = None
    items: tuple[str, ...] = ()
    reworded: tuple[tuple[str, ...], ...] = ()
    growing: str = ""

    def fill(self, text: str, turn: int) -> str:
        """Return the text for a turn (from 0)."""
        if self.counter is not None:
            text = text.replace("{n}", str(self.counter + turn))
        return text.replace("{item}", self.items[turn % len(self.items)]) if self.items else text

    def fill_all(self, value: Any, turn: int) -> Any:
        """Return a value of JSON with every text in it filled."""
        if isinstance(value, str):
            return self.fill(value, turn)
        if isinstance(value, dict):
            return {key: self.fill_all(item, turn) for key, item in value.items()}
        return [self.fill_all(item, turn) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Prose:
    """Text as a value: sentences or blocks, what joins them, and how often the whole is said (None: for ever).

    ``first_turn`` is the turn (from 0) that ``vary`` begins with: earlier uses of a reply had the turns before.
    """

    sentences: tuple[str, ...]
    join: str = " "
    repeat: int | None = 1
    vary: Vary | None = None
    first_turn: int = 0

    def wording(self, turn: int) -> tuple[str, ...]:
        """Return the sentences of one repetition (from 0), without what grows."""
        vary = self.vary
        if vary is None:
            return self.sentences
        turn += self.first_turn
        wordings = (self.sentences, *vary.reworded)
        return tuple(vary.fill(sentence, turn) for sentence in wordings[turn % len(wordings)])

    def growth(self, turn: int) -> tuple[str, int]:
        """Return what is added after the sentences of one repetition (from 0), and how often."""
        return (self.vary.growing, turn + self.first_turn) if self.vary and self.vary.growing else ("", 0)


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
    """How text is cut: so many characters, words (with the white space after them), sentences or UTF-16 units."""

    size: int = 1
    by: Literal["characters", "words", "sentences", "utf16"] = "words"


@dataclass(frozen=True, slots=True)
class Gate:
    """A named point at which the stream holds until it is released."""

    name: str
    at: Point = "start"


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
class ScheduledFault:
    """A fault with its name and its turn: the first N requests to the reply (None: all), or only one of them."""

    name: str
    fault: Fault
    first: int | None = 1
    request: int | None = None

    def active(self, attempt: int) -> bool:
        """Say whether the fault acts on this request to the reply (from 1, retries included)."""
        if self.request is not None:
            return attempt == self.request
        return self.first is None or attempt <= self.first


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer of the model.

    ``parts`` are sent in order; with ``rotate`` each request gets the next of these calls instead.
    ``times`` is the number of requests it answers, the greatest number when ``until`` is there. Times are
    in seconds. ``vary`` fills the arguments of calls. ``span`` is where it stands in its document.
    """

    parts: tuple[Part, ...] = ()
    rotate: tuple[Call, ...] = ()
    times: int = 1
    until: Until | None = None
    optional: bool = False
    when: When | None = None
    vary: Vary | None = None
    chunks: Chunking = Chunking()
    pace: float = DEFAULT_PACE
    first_chunk_delay: float = 0.0
    max_chunks: int | None = None
    wire: int | None = None
    finish: Finish | None = None
    usage: Usage = Usage()
    elapsed: float = 0.0
    faults: tuple[ScheduledFault, ...] = ()
    gate: Gate | None = None
    name: str | None = None
    span: Span | None = None

    def parts_for(self, use: int) -> tuple[Part, ...]:
        """Return the parts of the answer to the ``use``-th request (from 1) that this reply answers."""
        parts = (self.rotate[(use - 1) % len(self.rotate)],) if self.rotate else self.parts
        return tuple(self._varied(part, use - 1) for part in parts)

    def _varied(self, part: Part, turn: int) -> Part:
        if isinstance(part, Call):
            return part if self.vary is None else Call(part.tool, self.vary.fill_all(part.arguments, turn))
        prose = part.prose
        if prose.vary is None or prose.repeat is None:
            return part
        return type(part)(replace(prose, first_turn=turn * prose.repeat))

    @property
    def calls(self) -> bool:
        """Whether the answer calls a tool."""
        return bool(self.rotate) or any(isinstance(part, Call) for part in self.parts)

    @property
    def finish_reason(self) -> Finish:
        """Why the answer ends: as scripted, else ``tool_calls`` when it calls and ``stop`` when it does not."""
        return self.finish or ("tool_calls" if self.calls else "stop")

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
    """Everything that the fake model will answer in one stage.

    ``sessions`` are the session scripts by name; ``any_time`` replies may be picked in any session. Requests for
    a title or a summary get these texts. Replies named in ``allow_unused`` may stay unused; sessions named in
    ``allow_extra`` may ask for more than is scripted and get a short text.
    """

    sessions: Mapping[str, SessionScript]
    any_time: tuple[Reply, ...] = ()
    title: str = "A scripted session"
    compaction: str = "Summary: the scripted conversation so far."
    allow_unused: frozenset[str] = frozenset()
    allow_extra: frozenset[str] = frozenset()

    @property
    def replies(self) -> tuple[Reply, ...]:
        """Every reply of the script."""
        scripted = [reply for session in self.sessions.values() for reply in session.replies]
        return (*scripted, *self.any_time)
