"""The expectation `answer`: what the assistant said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, model_validator

from harness.expectations.base import CHILDREN, Expectation, Need, Verdict, failed, passed
from harness.expectations.views import Text, texts
from harness.expectations.words import quoted

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["Answer"]


class Answer(Expectation):
    """The last text of the assistant in a session; white space at its ends does not count.

    Fields: `text` it is equal to this, or `contains` this; `session` main by default; `message` and `part` choose
    another text by its numbers, from 1 (messages of users and reasoning and tool parts are counted too).
    """

    kind: ClassVar[str] = "answer"
    shorthand: ClassVar[str | None] = "text"
    child_needs: ClassVar[Need | None] = CHILDREN
    session: str = "main"
    text: str | None = None
    contains: str | None = None
    message: Annotated[int, Field(ge=1)] | None = None
    part: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Answer:
        if (self.text is None) == (self.contains is None):
            raise ValueError("an answer has either 'text' or 'contains'")
        return self

    def judge(self, record: Record) -> Verdict:
        """Compare the chosen text."""
        text = self.find(record)
        place = f"session {self.session}" + "".join(
            f", {name} {number}" for name, number in (("message", self.message), ("part", self.part)) if number
        )
        expected = quoted(self.text) if self.text is not None else f"a text with {quoted(self.contains or '')}"
        if text is None:
            return failed("no text of the assistant", expected, where=place)
        said = text.text.strip()
        right = said == self.text.strip() if self.text is not None else (self.contains or "") in said
        return (passed if right else failed)(quoted(said), expected, (text.last,), text.where)

    def find(self, record: Record) -> Text | None:
        """Give the chosen text, if there is one."""
        chosen = [
            text
            for text in texts(record)
            if text.session == self.session and self.message in (None, text.message) and self.part in (None, text.part)
        ]
        return chosen[-1] if chosen else None
