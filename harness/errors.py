"""The errors of a run: each knows its kind, what was found and what to do about it."""

from __future__ import annotations

from typing import ClassVar, Literal

__all__ = ["CrashError", "DeadlineError", "GuardlabError", "Kind", "NotLoadedError", "SetupError"]

Kind = Literal["setup", "not loaded", "script", "expectation", "invariant", "deadline", "crash", "unknown"]


class GuardlabError(Exception):
    """An error that a run reports without a traceback.

    `kind` is the first word of the report and what the summary counts by (DESIGN.md, "What a failure prints").
    `message` says what was found and what was wanted; `hint` says what to do and may be empty; `key` is the key of the
    scenario file that is to blame, if one is.
    """

    kind: ClassVar[Kind]

    def __init__(self, message: str, hint: str = "", key: str = "") -> None:
        super().__init__(message, hint, key)
        self.message = message
        self.hint = hint
        self.key = key

    def __str__(self) -> str:
        """Return the message and, on lines of its own, the hint."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class SetupError(GuardlabError):
    """The run could not begin: a program, a folder or a setting is missing or wrong."""

    kind = "setup"


class NotLoadedError(GuardlabError):
    """The guard is not at work in OpenCode, so nothing that was seen would prove anything."""

    kind = "not loaded"


class DeadlineError(GuardlabError):
    """Something that was waited for did not come in time; the message carries the evidence."""

    kind = "deadline"


class CrashError(GuardlabError):
    """A process of the run ended, or broke, when it should have gone on."""

    kind = "crash"
