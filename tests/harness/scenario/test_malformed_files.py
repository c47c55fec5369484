"""Scenario files with a mistake each: malformed.txt holds every one with the error that its author reads.

What a file must have and a case does not say is added: `format: 1` before it, the other keys after it. A case that
begins with the comment `# whole` is taken as it stands. GUARDLAB_UPDATE_GOLDEN=1 writes the errors anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fakemodel.loading import SourceError
from harness.expectations import REGISTRY
from harness.invariants import INVARIANTS
from harness.scenario.loader import loads
from harness.scenario.steps import AWAITED, STEPS

FILE = Path(__file__).parent / "malformed.txt"
CASE_END, CASE_PART = "=" * 40 + "\n", "-" * 40 + "\n"
REQUIRED = {"title": "A case", "script": "[{say: Hello.}]", "steps": "[{prompt: Go.}]"}


def whole(case: str) -> str:
    if case.startswith("# whole\n"):
        return case
    given = set(re.findall(r"^([a-z]+):", case, re.MULTILINE))
    before = "" if "format" in given else "format: 1\n"
    return before + case + "".join(f"{key}: {value}\n" for key, value in REQUIRED.items() if key not in given)


def error_of(case: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        loads(whole(case), Path("a.scenario.yaml"))
    return caught.value


def shown(error: SourceError) -> str:
    """Write the error as the file holds it; a registry that grows does not change what it says."""
    text = f"{error}\n"
    registries = {"EXPECTATION": REGISTRY, "AWAITED": AWAITED, "STEP": STEPS, "INVARIANT": INVARIANTS}
    for what, registry in registries.items():
        text = text.replace(", ".join(sorted(registry)), f"EVERY {what}")
    return text


def written() -> list[list[str]]:
    if os.environ.get("GUARDLAB_UPDATE_GOLDEN") == "1":
        cases = [case.partition(CASE_PART)[0] for case in FILE.read_text(encoding="utf-8").split(CASE_END)]
        renewed = [f"{case}{CASE_PART}{shown(error_of(case))}" for case in cases]
        FILE.write_text(CASE_END.join(renewed), encoding="utf-8")
    return [case.split(CASE_PART) for case in FILE.read_text(encoding="utf-8").split(CASE_END)]


CASES = written()


def kind(message: str) -> str:
    """What is the same in messages about different files."""
    return re.sub(r"'[^']*'|\d+|got .*|\(.*\)", "", message)


@pytest.mark.parametrize(("case", "error"), CASES)
def test_the_error_names_the_place_and_what_to_do(case, error):
    assert shown(error_of(case)) == error


@pytest.mark.parametrize("case", [case for case, _ in CASES])
def test_every_mistake_comes_with_a_hint(case):
    assert [problem.message for problem in error_of(case).problems if not problem.hint] == []


def test_there_are_enough_of_them():
    assert len({case for case, _ in CASES}) >= 200
    kinds = {kind(problem.message) for case, _ in CASES for problem in error_of(case).problems}
    assert len(kinds) >= 60
