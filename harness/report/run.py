"""The outcome of one scenario, and its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import GuardlabError, NotLoadedError
from harness.report.failure import SHOWN, Failure, render
from harness.report.telling import is_telling

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fakemodel.loading import Span
    from harness.errors import Kind
    from harness.expectations.base import Verdict
    from harness.invariants import Broken
    from harness.scenario.model import Check, Scenario
    from harness.timeline import Record

__all__ = ["Run"]

KINDS: Mapping[str, Kind] = {"fail": "expectation", "unknown": "unknown"}


@dataclass(frozen=True, slots=True)
class Run:
    """What came out.

    Fields: `record` what was seen; `error` what ended the run early, if anything; `broken` invariants; `verdicts` one
    for each expectation, in file order; `seconds` it took; `folder` its files, which stay until the lab plays again or
    ends.
    """

    scenario: Scenario
    record: Record
    error: GuardlabError | None
    broken: tuple[Broken, ...]
    verdicts: tuple[tuple[Check, Verdict], ...]
    seconds: float
    folder: Path | None = None

    @property
    def passed(self) -> bool:
        """Whether the run ended well, every invariant holds and every expectation passed; unknown is no pass."""
        return not self.error and not self.broken and all(verdict.status == "pass" for _, verdict in self.verdicts)

    def failures(
        self, *, file: str | None = None, artifacts: str | None = None, reproduce: str | None = None
    ) -> list[Failure]:
        """List what went wrong, with places: what ended the run, then invariants, then expectations."""
        shown = file or self.scenario.document.file
        common: dict[str, Any] = {"file": shown, "record": self.record, "artifacts": artifacts, "reproduce": reproduce}
        found = []
        if self.error:
            span = self._error_place()
            found.append(
                Failure(
                    self.error.kind,
                    span=span,
                    key=self.error.kind,
                    problem=str(self.error),
                    evidence=self._last_seen(),
                    **common,
                )
            )
        found += [
            Failure(
                one.kind,
                span=self._broken_place(one),
                key=one.name,
                problem=one.message,
                evidence=one.evidence,
                **common,
            )
            for one in self.broken
        ]
        found += [
            Failure(KINDS[verdict.status], span=check.span, key=check.expectation.kind, problem=verdict, **common)
            for check, verdict in self.verdicts
            if verdict.status != "pass"
        ]
        return found

    def report(self, **places: str | None) -> str:
        """Give the text of everything that went wrong; empty when nothing did. `places` as `failures` takes them."""
        failures = self.failures(**places)
        return render(failures) if failures else ""

    def _error_place(self) -> Span | None:
        """Say where: the key to blame, `guard` for a guard that is not loaded, the step for a step that did not end."""
        key = "guard" if isinstance(self.error, NotLoadedError) else self.error.key if self.error else ""
        if key:
            return self.scenario.document.key_spans.get((key,))
        steps = self.record.of("step")
        done = max((entry.data["step"] for entry in steps), default=0)
        if self.record.entries and done < len(self.scenario.steps):
            return self.scenario.steps[done].span
        return None

    def _last_seen(self) -> tuple[int, ...]:
        """Give what was seen last before a wait was given up: what came later belongs to the clearing away."""
        given_up = self.record.of("deadline")
        if not given_up:
            return ()
        end = given_up[0].seq
        return tuple(entry.seq for entry in self.record.entries[:end] if is_telling(entry))[-SHOWN:]

    def _broken_place(self, one: Broken) -> Span | None:
        if one.call is not None:
            return self.scenario.document.key_spans.get(("opencode", "api", one.call))
        if one.reply is None:
            return None
        (session, number), script = one.reply, self.scenario.script
        named = script.sessions.get(session)
        replies = named.replies if named else script.any_time
        return replies[number - 1].span
