"""Judges which of some calls are meant: by exact positions, by a count, or by both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.expectations.base import Range, Verdict, failed, passed
from harness.expectations.words import count_words, positions, range_positions, times

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["judge_positions"]


def judge_positions(
    hits: Sequence[bool], proofs: Sequence[int], words: tuple[str, str], nth: Range | None, wanted: Range | None
) -> Verdict:
    """Compare which calls are hits with exact positions (these and no others) and a count; at least one by default.

    `hits` and `proofs` have one item a call; `proofs` are positions of entries; `words` say what a hit is and which
    calls are meant. The calls that disagree come first in the evidence of a failure.
    """
    numbers = range(1, len(hits) + 1)
    seen = {number for number in numbers if hits[number - 1]}
    count = wanted or Range(0 if nth else 1, None)
    wrong = {number for number in numbers if nth and (number in nth) != hits[number - 1]}
    beyond = nth is not None and max(nth.low, nth.high or 0) > len(hits)
    expected = [f"exactly {range_positions(nth)}"] if nth else []
    expected += [times(count)] if wanted or not nth else []
    what, chosen = words
    actual = f"{what}: {positions(seen)} of {count_words(len(hits), 'call')}"
    wanted_words = f"{what}: {' and '.join(expected)} of the calls of {chosen}"
    if not (wrong or beyond) and len(seen) in count:
        return passed(actual, wanted_words, tuple(proofs[number - 1] for number in sorted(seen) or numbers))
    order = sorted(numbers, key=lambda number: (number not in wrong, number))
    return failed(actual, wanted_words, tuple(proofs[number - 1] for number in order))
