"""Which session script a request belongs to, by the headers and texts that OpenCode sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemodel.matching import Miss, ReplyPool, SessionProgress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.exchange import Kind, UnusedReply
    from fakemodel.request import Request
    from fakemodel.script import Script, SessionScript

__all__ = ["Router", "kind_of", "parent_of", "session_of"]

_KINDS: tuple[tuple[str, Kind], ...] = (
    ("You are a title generator.", "title"),
    ("You are a context summarization agent.", "compaction"),
)
"""How the system prompts of requests without tools begin (opencode-facts.md E)."""


def session_of(request: Request) -> str | None:
    """Return the session's id as OpenCode sends it (opencode-facts.md E)."""
    return request.headers.get("x-session-id")


def parent_of(request: Request) -> str | None:
    """Return the id of the parent session; only child sessions send it."""
    return request.headers.get("x-parent-session-id")


def kind_of(request: Request) -> Kind:
    """Return what the request is for."""
    if not request.tools:
        for beginning, kind in _KINDS:
            if request.system.lstrip().startswith(beginning):
                return kind
    return "main" if parent_of(request) is None else "child"


class Router:
    """Knows which session of OpenCode plays which session script."""

    def __init__(self, script: Script) -> None:
        self._pool = ReplyPool(script.any_time)
        self._sessions = {name: SessionProgress(value, self._pool) for name, value in script.sessions.items()}
        self._scripts = script.sessions
        self._names: dict[str | None, str] = {}
        self._taken: set[str] = set()
        self._bound = False

    def bind(self, session_id: str, name: str) -> None:
        """Say that a session of OpenCode plays the script of this name."""
        self._bound = True
        self._assign(session_id, name)

    def name_of(self, session_id: str | None) -> str | None:
        """Return the script's name for a session that is known by now."""
        return self._names.get(session_id)

    def find(self, request: Request) -> SessionProgress | Miss:
        """Return the progress of the request's session; a session met for the first time gets its script here."""
        session_id, parent_id = session_of(request), parent_of(request)
        if session_id not in self._names:
            name = self._child(request) if parent_id in self._names and parent_id else self._top(parent_id)
            if name is None:
                return Miss(self._why(session_id, parent_id))
            self._assign(session_id, name)
        name = self._names[session_id]
        found = self._sessions.get(name)
        return found or Miss(f"there is no script for session {name}; scripted sessions: {', '.join(self._sessions)}")

    def unused(self) -> Iterator[UnusedReply]:
        """Yield every required reply that has uses left."""
        for name, session in self._sessions.items():
            for entry in session.entries:
                if missing := entry.unused(name):
                    yield missing
        for entry in self._pool.entries:
            if missing := entry.unused("any_time"):
                yield missing

    def _assign(self, session_id: str | None, name: str) -> None:
        self._names[session_id] = name
        self._taken.add(name)

    def _child(self, request: Request) -> str | None:
        """Return the child script whose prompt the user text contains, else the next one without a prompt."""
        free = [script for script in self._scripts.values() if _is_child(script) and script.name not in self._taken]
        named = [script for script in free if script.prompt and script.prompt in request.user_text]
        plain = [script for script in free if script.prompt is None]
        return next((script.name for script in (*named, *sorted(plain, key=_child_number))), None)

    def _top(self, parent_id: str | None) -> str | None:
        """Without any bound session the scripts that are for no child are played in their order."""
        if self._bound or parent_id is not None:
            return None
        names = [name for name, script in self._scripts.items() if not _is_child(script) and name not in self._taken]
        return "main" if "main" in names else next(iter(names), None)

    def _why(self, session_id: str | None, parent_id: str | None) -> str:
        if parent_id is not None and parent_id not in self._names:
            return f"session {session_id} is a child of {parent_id}, which plays no script"
        if parent_id is not None:
            return f"session {session_id} is a child of {self._names[parent_id]}, and no child script is left for it"
        return f"session {session_id} plays no script"


def _is_child(script: SessionScript) -> bool:
    return script.name.partition("[")[0] == "child"


def _child_number(script: SessionScript) -> int:
    return int(script.name.partition("[")[2].rstrip("]") or 1)
