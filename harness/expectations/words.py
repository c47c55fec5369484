"""The plain words that verdicts share: ordinals, positions, calls, quoted texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.expectations.base import Range

__all__ = [
    "call_words",
    "clip",
    "count_words",
    "ordinal",
    "positions",
    "quoted",
    "range_positions",
    "times",
    "value_words",
]

LONGEST = 160


def clip(text: str, width: int = LONGEST) -> str:
    """Cut a text to this many characters; three dots stand for the rest."""
    return text if len(text) <= width else text[: width - 3] + "..."


def quoted(text: str) -> str:
    """Put a text in quotes on one line; a long one is cut and its length told."""
    if len(text) <= LONGEST:
        return json.dumps(text, ensure_ascii=False)
    return f"{json.dumps(text[:LONGEST], ensure_ascii=False)}... ({len(text)} characters)"


def value_words(value: Any) -> str:
    """Write a JSON value as a scenario file would, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {value_words(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return value.replace("\n", "\\n") if value else '""'
    if isinstance(value, Sequence):
        return "[" + ", ".join(value_words(item) for item in value) + "]"
    return json.dumps(value)


def call_words(tool: str | None, arguments: Mapping[str, Any] | None, session: str | None = None) -> str:
    """Name the calls that a check is about: `bash {command: git status} in session main`."""
    words = tool or "any tool"
    if arguments:
        words += f" {clip(value_words(arguments), 80)}"
    return f"{words} in session {session}" if session else words


def count_words(number: int, noun: str) -> str:
    """1 call, 2 calls."""
    return f"{number} {noun if number == 1 else f'{noun}s'}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def positions(numbers: Iterable[int]) -> str:
    """Name positions: `the 1st and the 3rd to 5th`; `none` without any."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    named = [f"the {_run(run[0], run[-1])}" for run in runs]
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named) or "none"


def _run(first: int, last: int) -> str:
    if first == last:
        return ordinal(first)
    return f"{ordinal(first)} {'and' if last == first + 1 else 'to'} {ordinal(last)}"


def range_positions(wanted: Range) -> str:
    """Name the positions of a range: `the 3rd`, `the 3rd to 12th`, `the 3rd and all after it`."""
    if wanted.high is None:
        return f"the {ordinal(wanted.low)} and all after it"
    return f"the {_run(wanted.low, wanted.high)}"


def times(wanted: Range, noun: str = "") -> str:
    """Say how many of a noun: `at least 1 request`, `at most 3 calls`, `exactly 2`, `2 to 4 toasts`."""
    if noun:
        return f"{times(wanted)} {noun if (wanted.high or wanted.low) == 1 else f'{noun}s'}"
    if wanted.high is None:
        return f"at least {wanted.low}"
    if wanted.low == wanted.high:
        return f"exactly {wanted.low}"
    return f"at most {wanted.high}" if wanted.low == 0 else f"{wanted.low} to {wanted.high}"
