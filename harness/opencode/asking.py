"""Asks a program a short question in a private home: it sees nothing of the user's and leaves nothing behind."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.opencode.isolation import private_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.process.platform import System

__all__ = ["Answer", "ask"]

_DEADLINE = 15.0  # seconds; OpenCode needs 2 for `--version` on two idle cores
_SHOWN = 500  # characters of a program's output in a message


class Answer(NamedTuple):
    """What a program printed, and what went wrong; `trouble` is empty when nothing did."""

    output: str
    trouble: str = ""


def ask(system: System, program: Path, *args: str, environment: Mapping[str, str] | None = None) -> Answer:
    """Run a program to its end and return its answer; nothing is raised.

    environment: in place of the private one, for a program that can't do without the caller's.
    """
    question = " ".join((str(program), *args))
    with tempfile.TemporaryDirectory(prefix="guardlab-", ignore_cleanup_errors=True) as folder:
        env = private_environment(Path(folder), system, [program]) if environment is None else environment
        try:
            asked = subprocess.run(
                [str(program), *args],
                env=env,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=_DEADLINE,
            )
        except subprocess.TimeoutExpired:
            return Answer("", f"`{question}` did not end within {_DEADLINE:g} s")
        except OSError as error:
            return Answer("", f"`{question}` could not be started: {error.strerror or error}")
    output = asked.stdout.strip()
    if asked.returncode:
        said = (asked.stderr.strip() or output)[-_SHOWN:] or "nothing"
        return Answer(output, f"`{question}` ended with exit code {asked.returncode} and printed: {said}")
    return Answer(output)
