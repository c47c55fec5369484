"""Keeps the files of a run and lists what went wrong in it."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from harness.report.artifacts import keep
from harness.report.failure import Failure

if TYPE_CHECKING:
    from harness.report.run import Run
    from harness.settings import Settings

__all__ = ["kept_failures"]


def kept_failures(run: Run, settings: Settings, shown: str, again: str) -> list[Failure]:
    """Keep what `settings` asks for and give the run's failures, with `again` as the command that repeats it.

    That the disk takes no more must not cost the report: it becomes one more failure.
    """
    try:
        return run.failures(artifacts=keep(run, settings, shown), reproduce=again)
    except OSError as error:
        lost = f"the files of this run could not be kept in {settings.runs_dir}: {_reason(error)}"
        return [*run.failures(reproduce=again), Failure("setup", file=shown, span=None, key="setup", problem=lost)]


def _reason(error: OSError) -> str:
    """Say why in a few words. `shutil.Error` has a list of files instead, each with a reason: the first will do."""
    text = str(error.args[0][0][-1]).partition(": ")[0] if isinstance(error, shutil.Error) else error.strerror
    return re.sub(r"^\[Errno \d+\] ", "", text or str(error))
