"""Faults of the connection: it is closed in the middle of a stream, by FIN or by RST."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fakemodel.faults.base import At, Fault
from fakemodel.stream import Cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.faults.base import StreamTools
    from fakemodel.stream import Item

__all__ = ["CutAt", "ResetAt"]


class CutAt(Fault):
    """Closes the connection (FIN) at a point, ``between`` two frames or inside of the chunk after the point.

    ``inside``: ``frame`` cuts before the blank line that ends the frame, ``json`` in the middle of its JSON.
    """

    shorthand: ClassVar[str] = "at"
    by: ClassVar[Literal["fin", "rst"]] = "fin"

    at: At
    inside: Literal["between", "frame", "json"] = "between"

    def stream(self, items: Iterator[Item], tools: StreamTools) -> Iterator[Item]:
        """Cut at the point."""
        locator = tools.find(self.at)
        passed = False
        for item in items:
            passed = locator.here(item) or passed
            if passed and self.inside == "between":
                yield Cut(self.by)
            if passed and isinstance(item, bytes):
                yield Cut(self.by, self._part_of(item))
            yield item

    def _part_of(self, chunk: bytes) -> bytes:
        return chunk.rstrip(b"\n") if self.inside == "frame" else chunk[: len(chunk) // 2]


class ResetAt(CutAt):
    """Resets the connection (RST) at a point; the options are those of ``cut``."""

    by: ClassVar[Literal["fin", "rst"]] = "rst"
