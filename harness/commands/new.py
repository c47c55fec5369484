"""`guardlab new`: writes a first scenario, and a workflow that plays it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.common import output
from harness.report.places import shown
from harness.scaffold import scaffold

if TYPE_CHECKING:
    import argparse

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Write the files and say what comes next. Raises SetupError when one is there already."""
    written = scaffold(Path(), options.name, guard=Path(options.guard) if options.guard else None, ci=options.ci)
    console = output()
    for path in written:
        console.print(f"wrote {shown(path)}")
    console.print(f"next: guardlab play {shown(written[0])}")
    return 0
