"""The expectation `files`: what the workspace holds when the run is over."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import model_validator

from fakemodel.loading import StrictModel
from harness.expectations.base import Expectation, Verdict, failed, passed, unknown
from harness.expectations.words import quoted

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["FileText", "Files"]

FATES = ("absent", "changed", "unchanged")


class FileText(StrictModel):
    """What a file holds: the text `equals` (for texts that are a word of ours, like absent) or `contains` this."""

    equals: str | None = None
    contains: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> FileText:
        if (self.equals is None) == (self.contains is None):
            raise ValueError("a file has either 'equals' or 'contains'")
        return self


class Files(Expectation):
    """The workspace's files by path, compared with what they were before the first prompt.

    The mapping under `files` is path -> the file's whole text, or `absent`, `changed` (made and removed count),
    `unchanged`, or `{contains: text}`, or `{equals: text}`.
    """

    kind: ClassVar[str] = "files"
    files: dict[str, str | FileText]

    @model_validator(mode="before")
    @classmethod
    def _paths(cls, value: Any) -> Any:
        """Take the mapping of paths itself: the scenario file names no field."""
        return {"files": value}

    def judge(self, record: Record) -> Verdict:
        """Compare file by file; the first that is not as wanted is shown."""
        found = [self._judge(record, path, wanted) for path, wanted in self.files.items()]
        order = ("fail", "unknown", "pass")
        return min(found, key=lambda verdict: order.index(verdict.status)) if found else passed("no file", "no file")

    def claims_absence(self) -> bool:
        """Whether a change that comes late would fail."""
        return any(wanted in ("absent", "unchanged") for wanted in self.files.values())

    def _judge(self, record: Record, path: str, wanted: str | FileText) -> Verdict:
        before, after = record.facts.get("base", {}).get(path), record.facts.get("files", {}).get(path)
        if "files" not in record.facts:
            return unknown("the workspace has not been read", path, where=path)
        if isinstance(wanted, str) and wanted in FATES:
            return _fate(wanted, before, after, path)
        text = record.facts.get("contents", {}).get(path)
        seen = quoted(text) if text is not None else "no such file" if after is None else "a large or binary file"
        if isinstance(wanted, FileText) and wanted.contains is not None:
            return _contains(wanted.contains, text, seen, after, path)
        equals = wanted if isinstance(wanted, str) else wanted.equals or ""
        right = after == sha256(equals.encode()).hexdigest()
        return (passed if right else failed)(seen, quoted(equals), where=path)


def _fate(wanted: str, before: str | None, after: str | None, path: str) -> Verdict:
    if before == after:
        actual = "unchanged" if after else "absent, before the run too"
    else:
        actual = "made" if before is None else "removed" if after is None else "changed"
    right = {"absent": after is None, "changed": before != after, "unchanged": before == after and after is not None}
    return (passed if right[wanted] else failed)(actual, wanted, where=path)


def _contains(wanted: str, text: str | None, seen: str, after: str | None, path: str) -> Verdict:
    expected = f"a text with {quoted(wanted)}"
    if text is None and after is not None:
        return unknown("a large or binary file, whose text was not kept", expected, where=path)
    return (passed if wanted in (text or "") and text is not None else failed)(seen, expected, where=path)
