"""`guardlab show`: tells the timeline of a saved run in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.common import output, timeline_at
from harness.expectations.words import clip, count_words
from harness.report.telling import is_telling, tell
from harness.timeline import Record

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from rich.console import Console

__all__ = ["lines", "run"]

STYLES = {"user": "cyan", "model": "magenta", "opencode": "default", "guard": "yellow"}


def run(options: argparse.Namespace) -> int:
    """Print one line an entry. Raises SetupError when there is no timeline."""
    record = Record.load(timeline_at(Path(options.timeline)))
    console = output()
    for text, lane in lines(record, everything=options.all):
        console.print(_fitted(text, console), style=STYLES.get(lane))
    return 0


def lines(record: Record, *, everything: bool = False) -> Iterator[tuple[str, str]]:
    """Tell a record: a head, an entry a line with its lane, and how many were left out."""
    guards = record.facts.get("guards", ())
    names = ", ".join(f"{name} {session}" for session, name in record.sessions.items())
    yield f"OpenCode {record.facts.get('version')}; guards: {', '.join(g['name'] for g in guards) or 'none'}", ""
    yield f"sessions: {names or 'none'}", ""
    markers = [guard["marker"] for guard in guards if guard.get("marker")]
    chosen = [entry for entry in record.entries if everything or is_telling(entry)]
    width = len(str(len(record.entries)))
    for entry in chosen:
        stamp = f"{entry.at - record.start:+.2f}s"
        yield f"#{entry.seq:<{width}} {stamp:>8} {entry.lane:<8} {tell(entry, markers)}", entry.lane
    total = count_words(len(record.entries), "entry").replace("entrys", "entries")
    yield f"{len(chosen)} of {total}" + ("" if len(chosen) == len(record.entries) else "; --all shows every one"), ""


def _fitted(text: str, console: Console) -> str:
    """Cut a line to the width of a terminal; a file or a pipe gets all of it."""
    return clip(text, console.width) if console.is_terminal else text
