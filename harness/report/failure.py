"""The text that a failed run prints: where, what was seen, what was wanted, when, and how to see it again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from harness.expectations.base import Verdict
from harness.expectations.words import clip
from harness.report.telling import is_telling, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.errors import Kind
    from harness.timeline import Entry, Record

__all__ = ["SHOWN", "Failure", "Place", "headline", "kind_of", "render"]

WIDTH = 120
SHOWN = 5


class Place(Protocol):
    """A place in a file; lines and columns count from 1 (fakemodel.loading.Span)."""

    @property
    def line(self) -> int:
        """The line of its first character."""

    @property
    def column(self) -> int:
        """The column of its first character."""

    @property
    def end_column(self) -> int:
        """The column after its last character."""


@dataclass(frozen=True)
class Failure:
    """One thing that went wrong in a run.

    Fields: `kind` the first word of the report; `file` as it is shown; `span` None when no line is to blame; `key` the
    word under the caret, an expectation's or an invariant's name; `problem` the verdict, or a text whose first line is
    the headline; `record` None when nothing had run; `artifacts` the folder as it is shown, None when nothing was kept;
    `reproduce` the command; `evidence` the entries that a problem in words rests on.
    """

    kind: Kind
    file: str
    span: Place | None
    key: str
    problem: Verdict | str
    record: Record | None = None
    artifacts: str | None = None
    reproduce: str | None = None
    evidence: tuple[int, ...] = ()

    @property
    def proof(self) -> tuple[int, ...]:
        """The positions of the entries that it rests on."""
        return self.problem.evidence if isinstance(self.problem, Verdict) else self.evidence


def kind_of(failures: Sequence[Failure]) -> Kind | None:
    """Give the kind that a run counts as: that of its first failure; unknown only where nothing failed."""
    kinds = [failure.kind for failure in failures]
    return next((kind for kind in kinds if kind != "unknown"), kinds[0] if kinds else None)


def headline(failure: Failure) -> str:
    """Give the first line: place, kind, and what failed."""
    place = f"{failure.file}:{failure.span.line}:{failure.span.column}" if failure.span else failure.file
    if isinstance(failure.problem, Verdict):
        outcome = "verdict" if failure.kind == "unknown" else "failed"
        return f"{place}: {failure.kind} {outcome}: {failure.key}"
    return f"{place}: {failure.kind}: {failure.problem.splitlines()[0]}"


def render(failures: Sequence[Failure], root: Path | None = None) -> str:
    """Write the report of one run. Source lines are read from `root`/`file`, the current folder by default.

    The lines `reproduce` and `artifacts` are common to the failures of a run and come once.
    """
    blocks = [_block(failure, root or Path()) for failure in failures]
    ends = []
    reproduce = next((failure.reproduce for failure in failures if failure.reproduce), None)
    artifacts = next((failure.artifacts for failure in failures if failure.artifacts), None)
    if reproduce:
        ends.append(f"reproduce: {reproduce}")
    if artifacts:
        ends.append(f"artifacts: {artifacts.rstrip('/')}/ (timeline.ndjson, opencode.log, exchanges/)")
    return "\n".join([*blocks, *ends]) + "\n"


def _block(failure: Failure, root: Path) -> str:
    lines = [headline(failure), *_excerpt(failure, root / failure.file)]
    if failure.record is not None and failure.record.entries:
        lines += _timeline(failure.record, failure.proof)
    return "\n".join(lines)


def _excerpt(failure: Failure, path: Path) -> list[str]:
    """Show the source line with a caret under the key, and beside it what was seen and wanted."""
    details = _details(failure.problem)
    source = _source(path)
    if failure.span is None or not 0 < failure.span.line <= len(source):
        return [f"  {line}" for line in details]
    number, start = failure.span.line, failure.span.column - 1
    line = source[number - 1]
    width = len(failure.key) if line[start:].startswith(failure.key) else _width(failure.span, line)
    bare = " " * len(str(number)) + " |"
    carets = " " * start + "^" * max(width, 1)
    parent = _parent(source, number)
    shown = [f"{bare}  {parent}"] if parent else []
    shown.append(f"{number} |  {line}")
    first, *rest = details or [""]
    shown.append(f"{bare}  {carets} {first}".rstrip())
    return shown + [f"{bare}  {' ' * len(carets)} {text}".rstrip() for text in rest]


def _width(span: Place, line: str) -> int:
    """Give the width of the caret; a place that ends on a later line is marked to the end of its first."""
    rest = len(line) - (span.column - 1)
    width = span.end_column - span.column
    return width if 0 < width <= rest else rest


def _source(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _parent(source: Sequence[str], number: int) -> str:
    """Give the nearest line above that the line belongs to: the one with a smaller indent."""
    indent = _indent(source[number - 1])
    for line in reversed(source[: number - 1]):
        if line.strip() and not line.lstrip().startswith("#") and _indent(line) < indent:
            return line
    return ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _details(problem: Verdict | str) -> list[str]:
    if isinstance(problem, str):
        return problem.splitlines()[1:]
    actual, expected = _one_line(problem.actual), _one_line(problem.expected)
    where = f"({problem.where})" if problem.where else ""
    width = max(len(actual), len(expected))
    beside = f"actual:   {actual:<{width}}   {where}".rstrip()
    if where and len(beside) > WIDTH:
        return [f"actual:   {actual}", f"          {where}", f"expected: {expected}"]
    return [beside, f"expected: {expected}"]


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _timeline(record: Record, proof: Sequence[int]) -> list[str]:
    shown = _pick(record.entries, proof)
    markers = [guard["marker"] for guard in record.facts.get("guards", ()) if guard.get("marker")]
    stamps = [f"{entry.at - record.start:+.2f}s" for entry in shown]
    numbers = max(len(str(entry.seq)) for entry in shown)
    stamp_width = max(len(stamp) for stamp in stamps)
    head = f"timeline ({len(shown)} of {len(record.entries)} entries, t = 0 at the first prompt)"
    lines = [
        f"  #{entry.seq:<{numbers}} {stamp:>{stamp_width}} {entry.lane:<8} {tell(entry, markers)}"
        for entry, stamp in zip(shown, stamps, strict=True)
    ]
    return [head, *(clip(line, WIDTH) for line in lines)]


def _pick(entries: Sequence[Entry], proof: Sequence[int]) -> list[Entry]:
    """Choose five: the proof first, then what is told around it; without a proof the newest."""
    known = {entry.seq: entry for entry in entries}
    chosen = [seq for seq in dict.fromkeys(proof) if seq in known][:SHOWN]
    centres = chosen or [entries[-1].seq]
    others = [entry.seq for entry in entries if is_telling(entry) and entry.seq not in chosen]
    others.sort(key=lambda seq: (min(abs(seq - centre) for centre in centres), seq))
    chosen += others[: SHOWN - len(chosen)]
    return [known[seq] for seq in sorted(chosen)] or list(entries[-1:])
