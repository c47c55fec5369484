"""The one door to scripts on disk: YAML with a span for every value, strict checks, and the reading of a script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fakemodel.checking import Seconds, StrictModel, check, described, parse_duration, suggest, wrong
from fakemodel.grammar import ChildModel, PartModel, ReplyModel, UntilModel, WhenModel
from fakemodel.script import Call, Chunking, Gate, Part, Prose, Reply, Say, Script, SessionScript, Think, Until, Usage, When
from fakemodel.source import Document, Path, Problem, SourceError, Span, load_file, load_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fakemodel.grammar import ProseModel

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

RESERVED = ("any_time", "title", "compaction")

_JOINS = {"space": " ", "newline": "\n", "blank line": "\n\n", "nothing": ""}
_SESSION = re.compile(r"[A-Za-z][\w-]*(\[[1-9]\d*\])?")
_PLAIN_WORD = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


def parse_script(document: Document, path: Path) -> Script:
    """Read the script at ``path``: a list of replies for session main, or a mapping of session names to such lists.

    A mapping may also hold ``any_time`` (replies that their ``when`` may pick out of order) and the texts
    ``title`` and ``compaction``. A child session's script is ``child``, ``child[2]`` and so on, or a mapping
    ``{prompt: text, replies: [...]}``. Raises SourceError with every problem that was found.
    """
    return _ScriptReader(document).script(path)


class _ScriptReader:
    """Reads one script and collects what is wrong with it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._problems: list[Problem] = []

    def script(self, path: Path) -> Script:
        value = self._document.at(path)
        sessions: dict[str, SessionScript] = {}
        any_time: tuple[Reply, ...] = ()
        texts: dict[str, str] = {}
        if isinstance(value, list):
            sessions["main"] = SessionScript("main", self._replies(path))
        elif isinstance(value, dict):
            any_time = self._any_time((*path, "any_time")) if "any_time" in value else ()
            texts = {key: self._text((*path, key)) for key in ("title", "compaction") if key in value}
            for name in value:
                if name not in RESERVED:
                    sessions[name] = self._session(name, (*path, name))
        else:
            self._say(f"wanted a list of replies or a mapping of sessions, got {described(value)}", path)
        if self._problems:
            raise self._document.error(*self._problems)
        return Script(sessions, any_time, **texts)

    def _session(self, name: str, path: Path) -> SessionScript:
        if not _SESSION.fullmatch(name):
            hint = "a name begins with a letter, such as main, child, child[2] or work"
            self._problems.append(Problem(f"'{name}' cannot name a session", self._document.key_spans[path], hint))
        if not isinstance(self._document.at(path), dict):
            return SessionScript(name, self._replies(path))
        if name.partition("[")[0] != "child":
            self._say("a session that is no child is a list of replies, got a mapping", path)
            return SessionScript(name, ())
        child = self._checked(path, ChildModel)
        if child is None:
            return SessionScript(name, ())
        return SessionScript(name, self._replies((*path, "replies")), child.prompt)

    def _any_time(self, path: Path) -> tuple[Reply, ...]:
        replies = self._replies(path)
        for position, reply in enumerate(replies):
            if reply.when is None:
                self._say("a reply under 'any_time' needs 'when', which picks it", (*path, position))
        return replies

    def _replies(self, path: Path) -> tuple[Reply, ...]:
        value = self._document.at(path)
        if not isinstance(value, list) or not value:
            found = "an empty list" if value == [] else described(value)
            self._say(f"wanted a list of replies, got {found}", path)
            return ()
        replies = [self._reply((*path, position)) for position in range(len(value))]
        return tuple(reply for reply in replies if reply is not None)

    def _reply(self, path: Path) -> Reply | None:
        model = self._checked(path, ReplyModel)
        if model is None:
            return None
        try:
            return _reply_from(model, self._document.spans[path])
        except ValueError as error:
            self._say(str(error), path)
            return None

    def _text(self, path: Path) -> str:
        value = self._document.at(path)
        if not isinstance(value, str) or not value:
            self._say(f"wanted text, got {described(value)}", path)
            return ""
        return value

    def _checked(self, path: Path, model: type[Any]) -> Any:
        try:
            return check(self._document, path, model)
        except SourceError as error:
            self._problems += error.problems
            return None

    def _say(self, message: str, path: Path) -> None:
        self._problems.append(Problem(message, self._document.spans[path]))


def _reply_from(model: ReplyModel, span: Span) -> Reply:
    rotate = tuple(_call(call) for call in model.rotate or ())
    chunks = Chunking() if model.chunks is None else Chunking(model.chunks.size, model.chunks.by)
    gate = model.gate
    return Reply(
        parts=_parts(model),
        rotate=rotate,
        times=model.max or model.times or len(rotate) or 1,
        until=None if model.until is None else _until(model.until),
        optional=model.optional,
        when=None if model.when is None else _when(model.when),
        chunks=chunks,
        pace=model.pace,
        first_chunk_delay=model.first_chunk_delay,
        max_chunks=model.max_chunks,
        wire=None if model.wire is None else model.wire.bytes,
        finish=model.finish,
        usage=Usage(**model.usage.model_dump()),
        elapsed=model.elapsed,
        gate=Gate(gate) if isinstance(gate, str) else None if gate is None else Gate(gate.name, gate.at),
        name=model.name,
        span=span,
    )


def _parts(model: ReplyModel) -> tuple[Part, ...]:
    if model.parts is not None:
        return tuple(part for entry in model.parts for part in _prose_parts(entry))
    calls = tuple(_call(call) for call in model.calls or ())
    return (*_prose_parts(model), *calls)


def _prose_parts(model: ProseModel) -> list[Part]:
    """Return think, say and call, in this order; ``repeat`` is about what is said, or thought when nothing is said."""
    parts: list[Part] = []
    once = model.say is not None and model.think is not None
    if model.think is not None:
        parts.append(Think(_prose(model.think, model, once=once)))
    if model.say is not None:
        parts.append(Say(_prose(model.say, model, once=False)))
    if model.call is not None:
        parts.append(_call(model.call))
    return parts


def _prose(text: str | tuple[str, ...], model: ProseModel, *, once: bool) -> Prose:
    sentences = (text,) if isinstance(text, str) else text
    repeat = None if model.repeat == "forever" else model.repeat
    return Prose(sentences, _JOINS[model.join], 1 if once else repeat)


def _call(model: dict[str, Any]) -> Call:
    ((tool, arguments),) = model.items()
    if tool == "run" and isinstance(arguments, tuple):
        return Call("bash", {"command": " ".join(_quoted(word) for word in arguments)})
    if isinstance(arguments, tuple):
        raise ValueError(f"the arguments of {tool} are a mapping, got a list; only 'run' takes a list of words")  # noqa: TRY004 - a ValueError becomes a Problem
    return Call(tool, arguments)


def _quoted(word: str) -> str:
    """Quote a word so that bash, cmd and PowerShell read the same; what none of them can read alike is an error."""
    if _PLAIN_WORD.fullmatch(word) and "%" not in word:
        return word
    if re.search(r'["$`\\%!\n]', word):
        raise ValueError(f"the word {word!r} means different things in bash, cmd and PowerShell; write the bash call itself")
    return f'"{word}"'


def _when(model: WhenModel) -> When:
    return When(**model.model_dump(include=set(WhenModel.model_fields)))


def _until(model: UntilModel) -> Until:
    conditions: Callable[[str], object] = model.model_fields_set.__contains__
    when = _when(model) if any(conditions(name) for name in WhenModel.model_fields) else None
    return Until(model.blocked, when)
