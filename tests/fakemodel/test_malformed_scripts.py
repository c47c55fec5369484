"""Scripts with a mistake each: malformed.txt holds every one with the error that its author reads."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fakemodel.loading import SourceError, load_text, parse_script

FILE = Path(__file__).parent / "malformed.txt"
CASE_END, SCRIPT_END = "=" * 40 + "\n", "-" * 40 + "\n"


def error_of(script: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        parse_script(load_text(script, "script.yaml"), ())
    return caught.value


def written() -> list[list[str]]:
    if os.environ.get("GUARDLAB_UPDATE_GOLDEN") == "1":
        scripts = [case.partition(SCRIPT_END)[0] for case in FILE.read_text(encoding="utf-8").split(CASE_END)]
        cases = [f"{script}{SCRIPT_END}{error_of(script)}\n" for script in scripts]
        FILE.write_text(CASE_END.join(cases), encoding="utf-8")
    return [case.split(SCRIPT_END) for case in FILE.read_text(encoding="utf-8").split(CASE_END)]


CASES = written()


def kind(message: str) -> str:
    """What is the same in messages about different scripts."""
    return re.sub(r"'[^']*'|\d+|got .*|\(.*\)", "", message)


@pytest.mark.parametrize(("script", "error"), CASES)
def test_the_error_names_the_place_and_what_to_do(script, error):
    found = error_of(script)
    assert f"{found}\n" == error
    assert all(problem.hint for problem in found.problems)


def test_there_are_enough_of_them():
    assert len({script for script, _ in CASES}) >= 120
    kinds = {kind(problem.message) for script, _ in CASES for problem in error_of(script).problems}
    assert len(kinds) >= 40
