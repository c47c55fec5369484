"""What a fault can change: the response as a whole, the answer, or the stream of its chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from fakemodel.checking import StrictModel
from fakemodel.stream import Locator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fakemodel.protocols.base import Answer, WireProtocol, Writer
    from fakemodel.script import Point
    from fakemodel.stream import Item, Meter

__all__ = ["At", "Count", "Fault", "Response", "StreamTools"]

Count: TypeAlias = Annotated[int, Field(ge=1)]
At: TypeAlias = Literal["start", "middle", "end"] | Count


@dataclass(frozen=True, slots=True)
class Response:
    """The outside of an answer: status, headers, and a body that replaces the answer (None: the answer itself)."""

    status: int
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(slots=True)
class StreamTools:
    """What a fault may use while a stream runs.

    ``middle`` returns the number of the piece of content at which the second half begins; ``points`` collects
    every point that is looked for.
    """

    meter: Meter
    middle: Callable[[], int]
    writer: Writer | None = None
    points: list[Locator] = field(default_factory=list)

    def find(self, at: Point) -> Locator:
        """Return what finds a point in the stream."""
        locator = Locator(at, self.meter, self.middle)
        self.points.append(locator)
        return locator


class Fault(StrictModel):
    """One fault with its options; ``shorthand`` is the option that a bare value sets."""

    shorthand: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _from_bare_value(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {cls.shorthand: value}

    @property
    def point(self) -> Point | None:
        """The point of the stream at which it acts, or None when it acts elsewhere."""
        return getattr(self, "at", None)

    def response(self, response: Response, protocol: WireProtocol) -> Response:  # noqa: ARG002 - for those that need it
        """Return what becomes of the response."""
        return response

    def answer(self, answer: Answer) -> Answer:
        """Return what becomes of the answer."""
        return answer

    def stream(self, items: Iterator[Item], tools: StreamTools) -> Iterator[Item]:  # noqa: ARG002 - for those that need them
        """Return what becomes of the stream."""
        return items
