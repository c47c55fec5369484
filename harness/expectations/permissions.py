"""The expectation `permissions`: what OpenCode asked the user, and the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from harness.expectations.base import EVENTS, Count, Expectation, Need, Range, Verdict, failed, passed
from harness.expectations.words import count_words, times

if TYPE_CHECKING:
    from harness.timeline import Entry, Record

__all__ = ["Permissions", "Reply"]

Reply: TypeAlias = Literal["once", "always", "reject"]
"""What a user can answer."""


class Permissions(Expectation):
    """How often OpenCode asked for an action, in both forms of its API (opencode-facts.md A.6, B).

    Fields: `action` (`bash`, `edit`, `doom_loop`, ...); `session` all by default; `asked` how often, at least once by
    default; `replied` the answer that every one of them got: once, always or reject.
    """

    kind: ClassVar[str] = "permissions"
    needs: ClassVar[Need | None] = EVENTS
    action: str
    session: str | None = None
    asked: Count = Range(1, None)
    replied: Reply | None = None

    def judge(self, record: Record) -> Verdict:
        """Count the requests and look up their answers."""
        asked = [
            entry
            for entry in record.of("permission.asked", "permission.v2.asked", session=self.session)
            if self.action in (entry.data.get("permission"), entry.data.get("action"))
        ]
        replies = {
            str(entry.data.get("requestID")): entry
            for entry in record.of("permission.replied", "permission.v2.replied")
        }
        answers = [replies.get(str(entry.data.get("id"))) for entry in asked]
        said = [_reply(answer) for answer in answers]
        evidence = tuple(entry.seq for pair in zip(asked, answers, strict=True) for entry in pair if entry)
        right = len(asked) in self.asked and (self.replied is None or all(reply == self.replied for reply in said))
        actual = f"{self.action} asked {count_words(len(asked), 'time')}" + (
            f", replied {', '.join(said)}" if said else ""
        )
        expected = f"{self.action} asked {times(self.asked, 'time')}" + (
            f", replied {self.replied}" if self.replied else ""
        )
        return (passed if right else failed)(actual, expected, evidence)

    def claims_absence(self) -> bool:
        """Whether one question more could fail."""
        return self.asked.bounded


def _reply(answer: Entry | None) -> str:
    return str(answer.data.get("reply")) if answer else "nothing"
