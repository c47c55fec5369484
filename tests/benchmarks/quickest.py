"""Which scenarios of the suite are the quickest, by the junit file of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from harness.scenario.loader import load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.scenario.model import Scenario

__all__ = ["ROOT", "by_time", "play_all"]

ROOT = Path(__file__).parent.parent.parent


def play_all(junit: Path) -> None:
    """Play the whole suite; `junit` gets its times. Raises CalledProcessError when it is not green."""
    command = [sys.executable, "-m", "pytest", "scenarios", "-n", "2", "-q", f"--junitxml={junit}"]
    subprocess.run(command, cwd=ROOT, check=True)


def by_time(junit: Path) -> Iterable[Scenario]:
    """Give the scenarios of a run, the quickest first."""
    cases = ET.parse(junit).iter("testcase")  # noqa: S314 - a file of our own
    timed = {_file_of(case): float(case.get("time", "inf")) for case in cases}
    for file in sorted(timed, key=timed.__getitem__):
        yield load(ROOT / file, shown_as=file)


def _file_of(case: ET.Element) -> str:
    told = {str(one.get("name")): str(one.get("value")) for one in case.iter("property")}
    return told["guardlab_item"]
