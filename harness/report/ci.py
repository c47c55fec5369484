"""What a run tells GitHub Actions: a mark on the line that failed, and a page of the job's summary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from harness.expectations.base import Verdict
from harness.report.failure import headline
from harness.report.places import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.report.failure import Failure

__all__ = ["Row", "mark", "markdown", "marks", "row", "write_summary"]

Row: TypeAlias = tuple[str, str, str, str]


def marks(failures: Sequence[Failure], environ: Mapping[str, str]) -> list[str]:
    """Give the lines that mark each failure in a pull request; none outside of GitHub Actions."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    return [mark(failure, environ) for failure in failures]


def mark(failure: Failure, environ: Mapping[str, str]) -> str:
    """Give the workflow command of one failure: `::error file=...,line=...,col=...,title=...::text`.

    GitHub looks for the file from the repository, wherever the run was started.
    """
    repository = environ.get("GITHUB_WORKSPACE")
    file = shown(Path(failure.file).absolute(), Path(repository)) if repository else failure.file
    place = {"file": file}
    if failure.span:
        place |= {"line": str(failure.span.line), "col": str(failure.span.column)}
    place["title"] = _what(failure)
    properties = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in place.items())
    return f"::error {properties}::{_escaped(_text(failure))}"


def write_summary(rows: Sequence[Row], lines: Sequence[str], environ: Mapping[str, str]) -> None:
    """Append the run's page to the job's summary, where GitHub asks for one; `rows` as `row` gives them."""
    path = environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with Path(path).open("a", encoding="utf-8", newline="\n") as file:
            file.write(markdown(rows, lines))


def markdown(rows: Sequence[Row], lines: Sequence[str]) -> str:
    """Write the page: the summary's lines, then a table of what failed."""
    page = ["### guardlab", "", *(f"- {line.strip()}" for line in lines), ""]
    if rows:
        page += ["| where | what | actual | expected |", "|---|---|---|---|"]
        page += [f"| {' | '.join(map(_cell, one))} |" for one in rows]
        page.append("")
    return "\n".join(page)


def row(failure: Failure) -> Row:
    """Give one row of the page's table: where, what, actual, expected."""
    place = f"{failure.file}:{failure.span.line}" if failure.span else failure.file
    if isinstance(failure.problem, Verdict):
        return place, _what(failure), failure.problem.actual, failure.problem.expected
    return place, failure.kind, failure.problem, ""


def _what(failure: Failure) -> str:
    """Give the headline without its place."""
    return headline(failure).removeprefix(failure.file).split(": ", 1)[1]


def _text(failure: Failure) -> str:
    if isinstance(failure.problem, Verdict):
        return f"actual: {failure.problem.actual}\nexpected: {failure.problem.expected}"
    return failure.problem


def _escaped(text: str, more: str = "") -> str:
    """Escape as the workflow commands of GitHub want it; `more` for what parts properties."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _cell(text: str) -> str:
    """Write a text as one cell: on one line, and without a bar that would end it."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", "<br>")
