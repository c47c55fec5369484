"""The one ordered record of a run: entries, their clocks, waiting for them, and ndjson in and out."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from harness.errors import DeadlineError, SetupError
from harness.stacks import stuck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = ["Entry", "Lane", "Record", "Source", "Timeline"]

Lane = Literal["user", "model", "opencode", "guard"]
Source = Literal["runner", "fake", "events", "probe", "shell"]

FORMAT = 1
OVER = "The time for the whole run was up: pytest-timeout would have ended it without a report."


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was seen.

    Fields: `seq` position in the record; `at` seconds on the run's clock (the harness's monotonic clock);
    `error` half the width of the interval that `at` is known to lie in, in seconds (0 for the harness's own
    entries); `source` who reported it and `source_seq` that reporter's own count, which never contradicts the
    reporter's order; `lane` whose doing it is; `kind` what it is; `session` OpenCode's session id, if any;
    `data` what was seen, JSON values only.
    """

    seq: int
    at: float
    lane: Lane
    kind: str
    source: Source
    source_seq: int
    session: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    error: float = 0.0


@dataclass(frozen=True)
class Record:
    """A frozen timeline: what expectations, invariants and reports read.

    Fields: `entries` in order of arrival; `sessions` OpenCode's session id -> the name that the scenario uses;
    `start` the clock's value at the first prompt; `facts` what the run knew besides (guards with their markers,
    OpenCode's version, workspace folder, unused replies, ...), JSON values only.
    """

    entries: tuple[Entry, ...]
    sessions: Mapping[str, str]
    start: float
    facts: Mapping[str, Any]

    def of(self, *kinds: str, session: str | None = None) -> list[Entry]:
        """Entries of these kinds, of one named session if given."""
        return [e for e in self.entries if e.kind in kinds and (session is None or self.name(e.session) == session)]

    def name(self, session_id: str | None) -> str | None:
        """Give the scenario's name of a session id; the id itself where the scenario has none."""
        return self.sessions.get(session_id, session_id) if session_id else None

    def save(self, path: Path) -> None:
        """Write ndjson: a head line, then one line an entry."""
        head = {"format": FORMAT, "sessions": dict(self.sessions), "start": self.start, "facts": dict(self.facts)}
        lines = [json.dumps(head), *(json.dumps(asdict(e)) for e in self.entries)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Record:
        """Read what `save` wrote.

        Raises SetupError when the file is missing, is no timeline, or is of another format.
        """
        try:
            head, *rest = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            if head["format"] != FORMAT:
                raise SetupError(f"{path}: timeline format {head['format']}, wanted {FORMAT}")
            entries = tuple(Entry(**line) for line in rest)
            return cls(entries, head["sessions"], head["start"], head["facts"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SetupError(f"{path}: not a timeline that guardlab saved ({error})") from error


class Timeline:
    """The live, append-only record; safe for the threads that report into it.

    Every wait has a deadline, ends early when a reporter failed (`fail`), and its error says what was pending.
    """

    def __init__(self, until: float | None = None) -> None:
        """Start empty. No wait goes on after `until` on the run's clock, when the whole run has to be over."""
        self._until = until
        self._entries: list[Entry] = []
        self._counts: dict[Source, int] = {}
        self._changed = threading.Condition()
        self._failure: BaseException | None = None

    def add(
        self,
        lane: Lane,
        kind: str,
        source: Source,
        *,
        session: str | None = None,
        data: Mapping[str, Any] | None = None,
        at: float | None = None,
        error: float = 0.0,
    ) -> Entry:
        """Append one entry and wake those who wait. `at` is the harness's monotonic clock, now by default."""
        with self._changed:
            count = self._counts[source] = self._counts.get(source, 0) + 1
            when = time.monotonic() if at is None else at
            entry = Entry(len(self._entries) + 1, when, lane, kind, source, count, session, dict(data or {}), error)
            self._entries.append(entry)
            self._changed.notify_all()
            return entry

    def fail(self, failure: BaseException) -> None:
        """Bring an error of another thread home: every wait, now or later, raises it."""
        with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What has been seen so far."""
        with self._changed:
            return tuple(self._entries)

    @property
    def last(self) -> Entry | None:
        """The newest entry."""
        with self._changed:
            return self._entries[-1] if self._entries else None

    def since(self, seq: int) -> list[Entry]:
        """Entries after position `seq`."""
        with self._changed:
            return self._entries[seq:]

    def check(self) -> None:
        """Raise what a reporter brought home by `fail`, if anything."""
        with self._changed:
            if self._failure:
                raise self._failure

    def wait(
        self, ready: Callable[[], bool], seconds: float, pending: Callable[[], str], *, since: float | None = None
    ) -> None:
        """Return once `ready()` holds; it is asked again after every entry and at least every 50 ms.

        The seconds begin at `since` on the run's clock, now by default.
        Raises DeadlineError after `seconds` with `pending()` and every thread that is stuck, or what `fail` brought.
        """
        begun = time.monotonic() if since is None else since
        deadline = begun + seconds
        if self._until is not None and self._until < deadline:
            deadline = self._until
            seconds = round(max(deadline - begun, 0.0), 1)
        while True:
            self.check()
            if ready():
                return
            left = deadline - time.monotonic()
            if left <= 0:
                what = f"after {seconds:g} s still waiting for: {pending()}"
                self.add("user", "deadline", "runner", data={"seconds": seconds})
                raise DeadlineError("\n".join([what, *stuck()]), OVER if deadline == self._until else "")
            with self._changed:
                self._changed.wait(min(left, 0.05))

    def freeze(self, sessions: Mapping[str, str], facts: Mapping[str, Any], more: Iterable[Entry] = ()) -> Record:
        """Make the frozen record, with `more` entries. The clock's zero is the first prompt, else the first entry.

        Entries arrive later than they happened, by up to some 50 ms (opencode-facts.md C); the record has them in the
        order of their times, each reporter's own order kept, and numbers them anew.
        """
        entries = tuple(replace(entry, seq=number) for number, entry in enumerate(_by_time((*self.entries, *more)), 1))
        return Record(entries, dict(sessions), first_prompt(entries), dict(facts))


def _by_time(entries: Iterable[Entry]) -> list[Entry]:
    """Sort by time. A better handshake can place a reporter's later entry before its earlier one; its order wins."""
    latest: dict[Source, float] = {}
    timed = []
    for entry in entries:
        at = latest[entry.source] = max(entry.at, latest.get(entry.source, entry.at))
        timed.append((at, entry.seq, entry))
    return [entry for _, _, entry in sorted(timed, key=lambda one: one[:2])]


def first_prompt(entries: Iterable[Entry]) -> float:
    """When the first prompt was sent, on the run's clock; the first entry's time when there was none."""
    seen = list(entries)
    return next((e.at for e in seen if e.kind == "prompt"), seen[0].at if seen else 0.0)
