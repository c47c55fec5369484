"""The unit tests that carry a clause, and what runs them in a private copy of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.contracts import CONTRACTS
from harness.errors import SetupError
from harness.process.platform import System

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Group", "unit_tests"]

SECONDS = 300.0  # those of the package build it, install it and play scenarios
# Asked to end, it tears its fixtures down.
PYTEST = """
import sys
import pytest
from harness.interrupt import SIGNALS, Shield
with Shield(*SIGNALS):
    sys.exit(pytest.main(sys.argv[1:]))
"""
FAREWELL = 20.0  # seconds for a program that is given up to end its own programs


@dataclass(frozen=True, slots=True)
class Group:
    """The test files of one kind that carry `[CLAUSE]`, as paths from the checkout's root."""

    clause: str
    files: tuple[str, ...]
    run: Callable[[Path, Path, str], bool]

    def passes(self, root: Path, copy: Path) -> bool:
        """Run the tests of the clause in a copy of `root`; red ones, and none at all, do not pass.

        Raises SetupError when what runs them is not installed in the checkout.
        """
        return self.run(root, copy, self.clause)


def unit_tests(root: Path) -> Mapping[str, list[Group]]:
    """Find the unit tests of each clause: `[CLAUSE]` stands in the name of a test or in its docstring."""
    found: dict[str, list[Group]] = {}
    clauses = [clause for contract in CONTRACTS.values() for clause in contract]
    for pattern, run in KINDS.items():
        texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in root.glob(pattern)}
        for clause in clauses:
            files = tuple(sorted(name for name, text in texts.items() if f"[{clause}]" in text))
            if files:
                found.setdefault(clause, []).append(Group(clause, files, run))
    return found


def _in_bun(root: Path, copy: Path, clause: str) -> bool:
    """Run the guard's own tests."""
    modules = _link_modules(root, copy)
    bun = shutil.which("bun", path=str(modules / ".bin"))
    if bun is None:
        raise SetupError(f"{modules} holds no bun", "Run npm install in guard/ first: unit tests run in bun.")
    return _succeeds([bun, "test", "--test-name-pattern", rf"\[{clause}\]"], copy / "guard")


def _in_pytest(root: Path, copy: Path, clause: str) -> bool:
    """Run the tests of the package, which build it and hand it to the real OpenCode."""
    _link_modules(root, copy)
    options = ["-p", "no:cacheprovider", f"--basetemp={copy / 'pytest'}", "-k", clause]
    return _succeeds([sys.executable, "-c", PYTEST, *options, "tests/guard"], copy)


KINDS: Mapping[str, Callable[[Path, Path, str], bool]] = {
    "guard/test/**/*.test.ts": _in_bun,
    "tests/guard/test_*.py": _in_pytest,
}


def _link_modules(root: Path, copy: Path) -> Path:
    """Lend a copy what npm installed in the checkout; give the folder that holds it."""
    modules = root / "guard" / "node_modules"
    linked = copy / "guard" / "node_modules"
    if not linked.exists():
        System.detect().link_folder(linked, modules)
    return modules


def _succeeds(command: Sequence[str], folder: Path) -> bool:
    """Run a program to its end. One that is given up is asked to go, so that it takes its own programs with it."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(command, cwd=folder, env=environment, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        return child.wait(SECONDS) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        if child.poll() is None:
            child.terminate()
            with suppress(subprocess.TimeoutExpired):
                child.wait(FAREWELL)
            child.kill()
            child.wait()
