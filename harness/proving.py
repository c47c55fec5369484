"""Proves clauses: with a deliberate fault in the guard, a scenario that names the clause must fail."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.contracts import CONTRACTS, contract_of
from harness.errors import GuardlabError, SetupError
from harness.interrupt import SIGNALS, Shield
from harness.lab import Lab
from harness.scenario.loader import SUFFIX, load
from harness.settings import Settings
from harness.unit_tests import unit_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.report.run import Run
    from harness.scenario.model import Scenario

__all__ = ["Finding", "Prover", "main", "tell"]

Play: TypeAlias = "Callable[[Scenario], Run]"
Proof: TypeAlias = Literal["scenario", "unit test"] | None

FAULTS = Path("guard/test/faults")
COPIED = (Path("guard"), Path("scenarios"), Path("tests/guard"))
NO_FAULT = "NO-OP"
STEP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one clause: `by` what proves it (None: nothing does), and `why` in words."""

    clause: str
    by: Proof
    why: str


class PatchError(SetupError):
    """A deliberate fault that can't be put into the guard; its message is what git said."""


class Prover:
    """Plays the scenarios of a checkout with faults put into private copies of its guard.

    `root` is the checkout, with guard/ and scenarios/; `play` plays one scenario; private copies lie below `work`.
    `innocent` holds, for each scenario that turned red, whether it is green with a patch that changes a comment.
    """

    def __init__(self, root: Path, play: Play, work: Path) -> None:
        """Find the scenarios and the unit tests of each clause. Raises SetupError when `root` is no checkout."""
        if not (root / FAULTS).is_dir():
            raise SetupError(f"{root / FAULTS} is missing", "Clauses are proven in a checkout of guardlab.")
        self.innocent: dict[str, bool] = {}
        self._root, self._play, self._work = root, play, work
        self._named = _scenarios_by_clause(root)
        self._units = unit_tests(root)

    def judge(self, clause: str) -> Finding:
        """Say what proves a clause: a scenario that is red with its fault, and green with a changed comment."""
        patch = FAULTS / f"{clause}.patch"
        try:
            copy = self._copy(clause) if (self._root / patch).is_file() else None
        except PatchError as error:
            return Finding(clause, None, f"{patch.as_posix()} no longer applies: {error}")
        names = self._named.get(clause, [])
        if not names:
            return self._by_unit_test(clause, copy)
        if copy is None:
            return Finding(clause, None, f"{patch.as_posix()} is missing")
        seen: Counter[str] = Counter()
        for name in names:
            run = self._play(_loaded(copy, name))
            failing = _expectation_that_fails(run)
            if failing and self._is_innocent(name):
                return Finding(clause, "scenario", f"{name}: {failing}")
            ended = f"ended by {run.error.kind}" if run.error else "green"
            seen["red without the fault too" if failing else ended] += 1
        return Finding(clause, None, f"with its fault {', '.join(f'{n} {what}' for what, n in seen.items())}")

    def _is_innocent(self, name: str) -> bool:
        """Whether the scenario is green when nothing but a comment is changed: then the fault made it red."""
        if name not in self.innocent:
            self.innocent[name] = self._play(_loaded(self._copy(NO_FAULT), name)).passed
        return self.innocent[name]

    def _by_unit_test(self, clause: str, copy: Path | None) -> Finding:
        """Say whether the unit tests of a clause, of bun or of pytest, are red with its fault and only with it."""
        groups = self._units.get(clause, [])
        if not groups:
            return Finding(clause, None, "no scenario and no unit test names it")
        if copy is None:
            return Finding(clause, None, f"{(FAULTS / clause).as_posix()}.patch is missing")
        seen = []
        for group in groups:
            where = ", ".join(group.files)
            if not group.passes(self._root, self._copy(NO_FAULT)):
                seen.append(f"{where}: red without the fault too, or nothing that runs")
            elif group.passes(self._root, copy):
                seen.append(f"{where}: green with its fault")
            else:
                return Finding(clause, "unit test", where)
        return Finding(clause, None, "; ".join(seen))

    def _copy(self, patch: str) -> Path:
        """Copy what scenarios load, guard and wrapper files, with one patch in it, once. Raises PatchError."""
        copy = self._work / patch
        if copy.exists():
            return copy
        for name in COPIED:
            if (self._root / name).is_dir():
                ignored = shutil.ignore_patterns("node_modules", "dist", "__pycache__")
                shutil.copytree(self._root / name, copy / name, ignore=ignored)
        # Outside of a repository git reads the paths of a patch from the folder that it runs in.
        command = ["git", "apply", str((self._root / FAULTS / f"{patch}.patch").resolve())]
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(copy)}
        done = subprocess.run(command, cwd=copy / "guard", env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(copy)
            raise PatchError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "git apply failed")
        return copy


def _loaded(copy: Path, name: str) -> Scenario:
    """Load a scenario of a copy; our own guard comes from there too, and a wrapper file reaches it by itself."""
    scenario = load(copy / name, shown_as=name)
    entry = copy / "guard" / "src" / "index.ts"
    return replace(scenario, guards=tuple(use if use.path else replace(use, path=entry) for use in scenario.guards))


def _expectation_that_fails(run: Run) -> str | None:
    """Name the expectation that a run fails for. A run that broke off for another reason proves nothing."""
    if run.error:
        return None
    return next((check.expectation.kind for check, verdict in run.verdicts if verdict.status == "fail"), None)


def _scenarios_by_clause(root: Path) -> Mapping[str, list[str]]:
    """Give the scenario files that name each clause: those made for it first, slow ones (own process) last."""
    found: dict[str, list[tuple[bool, bool, str]]] = {}
    for path in (root / "scenarios").rglob(f"*{SUFFIX}"):
        scenario = load(path)
        for clause in scenario.head.proves:
            foreign = not path.name.startswith(clause.lower())
            found.setdefault(clause, []).append((scenario.isolated, foreign, path.relative_to(root).as_posix()))
    return {clause: [name for *_, name in sorted(names)] for clause, names in found.items()}


def tell(findings: Iterable[Finding]) -> list[str]:
    """Count by contract: `contract INF: 48 of 48 clauses proven (46 by scenario, 2 by unit test)`."""
    lines = []
    everything = list(findings)
    for contract in CONTRACTS:
        mine = [finding for finding in everything if contract_of(finding.clause) == contract]
        counts = {by: sum(finding.by == by for finding in mine) for by in ("scenario", "unit test")}
        if mine:
            told = ", ".join(f"{count} by {by}" for by, count in counts.items())
            lines.append(f"contract {contract}: {sum(counts.values())} of {len(mine)} clauses proven ({told})")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove clauses and print each. Returns 0 when all are proven, 1 when one is not, 2 when nothing could run."""
    parser = argparse.ArgumentParser(prog="python -m harness.proving", description=__doc__)
    parser.add_argument("clauses", nargs="*", metavar="CLAUSE", help="INF-21, for example; every clause by default")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout (default: this folder)")
    options = parser.parse_args(arguments)
    clauses = options.clauses or [clause for contract in CONTRACTS.values() for clause in contract]
    unknown = [clause for clause in clauses if contract_of(clause) is None]
    if unknown:
        parser.error(f"no clause is called {', '.join(unknown)}")
    try:
        with Shield(*SIGNALS):
            return _prove(options.root.resolve(), clauses)
    except GuardlabError as error:
        sys.stderr.write(f"{error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
    return 2


def _prove(root: Path, clauses: Sequence[str]) -> int:
    settings = Settings.from_environment(os.environ, keep_runs="never", step_timeout=STEP_SECONDS)
    with Lab(settings) as lab:
        # In the lab's folder, which the next lab removes when this one is killed.
        prover = Prover(root, lab.play, lab.root / "proving")
        findings = []
        for clause in clauses:
            finding = prover.judge(clause)
            findings.append(finding)
            _say(f"{clause:7} {'proven by ' + finding.by if finding.by else 'claimed, not proven'}: {finding.why}")
        red = [name for name, green in prover.innocent.items() if not green]
        _say(f"{NO_FAULT:7} {len(prover.innocent) - len(red)} of {len(prover.innocent)} scenarios stay green")
        for line in [*(f"{NO_FAULT:7} red with a changed comment: {name}" for name in red), *tell(findings)]:
            _say(line)
    return 1 if red or any(finding.by is None for finding in findings) else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
