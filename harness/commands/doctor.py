"""`guardlab doctor`: looks at what a run needs from this machine, and at the facts of a version of OpenCode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.commands.common import output, settings_from
from harness.lab import Lab
from harness.moved import examine_facts
from harness.opencode.doctor import examine

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from harness.settings import Settings

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Print a line for each check, and what to do about those that are wrong; 1 when there is one.

    With --opencode-version the facts of that OpenCode are looked at too, once all the rest is well.
    """
    console = output()
    settings = settings_from(options)
    checks = examine(settings)
    width = max(len(check.name) for check in checks)
    for check in checks:
        _tell(console, f"{check.name:<{width}}  {check.what}", ok=check.ok)
        if not check.ok:
            console.print(f"{'':<6}{'':<{width}}  -> {check.mend}")
    wrong = [check.name for check in checks if not check.ok]
    console.print(f"to mend: {', '.join(wrong)}" if wrong else "guardlab can play scenarios here")
    if options.opencode_version and not wrong:
        return _facts(settings, console)
    return 1 if wrong else 0


def _facts(settings: Settings, console: Console) -> int:
    """Ask OpenCode for every fact that guardlab is built on, and say which have moved."""
    moved = []
    with Lab(settings) as lab:
        console.print(f"what guardlab knows of OpenCode, asked of {lab.binary.version}:")
        for fact in examine_facts(lab):
            _tell(console, f"{fact.name}: {fact.title}", ok=fact.holds)
            if not fact.holds:
                console.print(fact.report, end="")
                moved.append(fact.name)
    console.print(f"moved: {', '.join(moved)}" if moved else "every fact holds")
    return 1 if moved else 0


def _tell(console: Console, text: str, *, ok: bool) -> None:
    console.print("ok    " if ok else "WRONG ", style="green" if ok else "red", end="")
    console.print(text)
