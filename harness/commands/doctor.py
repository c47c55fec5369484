"""`guardlab doctor`: looks at what a run needs from this machine, and says how to mend what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.commands.common import output, settings_from
from harness.opencode.doctor import examine

if TYPE_CHECKING:
    import argparse

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Print a line for each finding, and what to do about those that are wrong; 1 when there is one."""
    console = output()
    findings = examine(settings_from(options))
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        console.print("ok    " if finding.ok else "WRONG ", style="green" if finding.ok else "red", end="")
        console.print(f"{finding.name:<{width}}  {finding.what}")
        if not finding.ok:
            console.print(f"{'':<6}{'':<{width}}  -> {finding.mend}")
    wrong = [finding.name for finding in findings if not finding.ok]
    console.print(f"to mend: {', '.join(wrong)}" if wrong else "guardlab can play scenarios here")
    return 1 if wrong else 0
