"""The one door to scripts on disk: YAML with a span for every value, strict checks, and the reading of a script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from fakemodel.building import reply_from
from fakemodel.checking import Seconds, StrictModel, check, described, parse_duration, suggest, wrong
from fakemodel.grammar import ChildModel, ReplyModel, ScriptModel
from fakemodel.script import Script, SessionScript
from fakemodel.source import Document, Path, Problem, SourceError, Span, load_file, load_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemodel.script import Reply

__all__ = [
    "Document",
    "Path",
    "Problem",
    "Seconds",
    "SourceError",
    "Span",
    "StrictModel",
    "check",
    "described",
    "load_file",
    "load_text",
    "parse_duration",
    "parse_script",
    "suggest",
    "wrong",
]

ModelT = TypeVar("ModelT", bound=BaseModel)

_REPLIES = "replies are lines that begin with '- say: ...' or '- call: ...'"
_SESSION = re.compile(r"[A-Za-z][\w-]*(\[[1-9]\d*\])?")


def parse_script(document: Document, path: Path) -> Script:
    """Read the script at ``path``: a list of replies for session main, or a mapping of session names to such lists.

    A mapping may also hold ``any_time`` (replies that their ``when`` may pick out of order), the texts ``title``
    and ``compaction``, and the lists ``allow_unused`` and ``allow_extra``. A child session's script is ``child``,
    ``child[2]`` and so on, or a mapping ``{prompt: text, replies: [...]}``. Raises SourceError with every
    problem that was found.
    """
    return _ScriptReader(document).script(path)


class _ScriptReader:
    """Reads one script and collects what is wrong with it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._problems: list[Problem] = []

    def script(self, path: Path) -> Script:
        value = self._document.at(path)
        script = Script({})
        if isinstance(value, list):
            script = Script({"main": SessionScript("main", self._replies(path))})
        elif isinstance(value, dict) and value:
            script = self._from_mapping(value, path)
        else:
            message = f"wanted a list of replies or a mapping of sessions, got {described(value)}"
            self._say(message, path, _REPLIES)
        if self._problems:
            raise self._document.error(*self._problems)
        return script

    def _from_mapping(self, value: dict[str, Any], path: Path) -> Script:
        beside = [key for key in value if key in ScriptModel.model_fields]
        options = self._checked(path, ScriptModel, keys=beside)
        sessions = {name: self._session(name, (*path, name)) for name in value if name not in beside}
        any_time = self._any_time((*path, "any_time")) if "any_time" in value else ()
        if options is None:
            return Script({})
        script = Script(
            sessions,
            any_time,
            **{key: text for key in ("title", "compaction") if (text := getattr(options, key)) is not None},
            allow_unused=frozenset(options.allow_unused),
            allow_extra=frozenset(options.allow_extra),
        )
        self._check_names(
            options.allow_unused, {reply.name for reply in script.replies}, "reply", (*path, "allow_unused")
        )
        self._check_names(options.allow_extra, sessions, "session", (*path, "allow_extra"))
        return script

    def _check_names(self, names: Iterable[str], known: Iterable[str | None], what: str, path: Path) -> None:
        there = [name for name in known if name is not None]
        for position, name in enumerate(names):
            if name not in there:
                near = suggest(name, there)
                hint = f"did you mean '{near}'?" if near else f"named: {', '.join(sorted(there)) or 'none'}"
                self._say(f"no {what} has the name '{name}'", (*path, position), hint)

    def _session(self, name: str, path: Path) -> SessionScript:
        if not _SESSION.fullmatch(name):
            hint = "a name begins with a letter, such as main, child, child[2] or work"
            self._problems.append(Problem(f"'{name}' cannot name a session", self._document.key_spans[path], hint))
        if not isinstance(self._document.at(path), dict):
            return SessionScript(name, self._replies(path))
        if name.partition("[")[0] != "child":
            near = suggest(name, ["child", *ScriptModel.model_fields])
            hint = f"did you mean '{near}'?" if near else _REPLIES
            self._say(f"session {name} is a list of replies, got a mapping", path, hint)
            return SessionScript(name, ())
        child = self._checked(path, ChildModel)
        if child is None:
            return SessionScript(name, ())
        return SessionScript(name, self._replies((*path, "replies")), child.prompt)

    def _any_time(self, path: Path) -> tuple[Reply, ...]:
        replies = self._replies(path)
        for position, reply in enumerate(replies):
            if reply.when is None:
                hint = "add when: {user_says: ...}"
                self._say("a reply under 'any_time' needs 'when', which picks it", (*path, position), hint)
        return replies

    def _replies(self, path: Path) -> tuple[Reply, ...]:
        value = self._document.at(path)
        if not isinstance(value, list) or not value:
            self._say(f"wanted a list of replies, got {described(value)}", path, _REPLIES)
            return ()
        replies = [self._reply((*path, position)) for position in range(len(value))]
        return tuple(reply for reply in replies if reply is not None)

    def _reply(self, path: Path) -> Reply | None:
        model = self._checked(path, ReplyModel)
        if model is None:
            return None
        try:
            return reply_from(model, self._document.spans[path])
        except PydanticCustomError as error:
            context = error.context or {}
            place = (*path, str(context["key"])) if context["key"] else path
            self._say(error.message(), place, str(context["hint"]))
            return None

    def _checked(self, path: Path, model: type[ModelT], keys: Iterable[str] | None = None) -> ModelT | None:
        try:
            return check(self._document, path, model, keys=keys)
        except SourceError as error:
            self._problems += error.problems
            return None

    def _say(self, message: str, path: Path, hint: str) -> None:
        self._problems.append(Problem(message, self._document.spans[path], hint))
