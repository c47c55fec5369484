"""The command `guardlab`: reads the command line, and loads what a command needs only when it is given."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from harness.errors import GuardlabError
from harness.interrupt import SIGNALS, Shield

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

EXIT_CODES = "exit codes: 0 everything passed, 1 a scenario failed (doctor: something must be mended), 2 could not run"
COULD_NOT_RUN = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; bad arguments end the process with 2, as argparse does."""
    for stream in (sys.stdout, sys.stderr):
        # What a model says need not fit the encoding of a Windows console; a replaced character is no reason to stop.
        with suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    options = _parser().parse_args(arguments)
    try:
        # Every command is a module of its own with `run(options)`.
        with Shield(*SIGNALS):
            return int(import_module(f"harness.commands.{options.command}").run(options))
    except GuardlabError as error:
        sys.stderr.write(f"guardlab: {error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("guardlab: interrupted\n")
    return COULD_NOT_RUN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guardlab",
        description="Prove, in the real OpenCode, what a plugin does about a model that runs in circles.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"guardlab {version('guardlab')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _play(commands)
    _records(commands)
    _doctor(commands)
    commands.add_parser("schema", help="print the JSON Schema of a scenario file, for editors")
    _new(commands)
    return parser


def _play(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    play = commands.add_parser("play", help="play scenarios", epilog=EXIT_CODES)
    play.add_argument(
        "paths", nargs="+", metavar="FILE|FOLDER", help="scenario files, or folders of them; `corpus` is guardlab's own"
    )
    play.add_argument("--guard", metavar="PATH", help="load this instead of each scenario's guard")
    _which_opencode(play)
    play.add_argument(
        "--keep-runs",
        choices=("on-failure", "always", "never"),
        help="which runs leave their files under .guardlab (default on-failure)",
    )
    play.add_argument("--step-timeout", metavar="SECONDS", type=float, help="how long one step may take (default 60)")
    play.add_argument(
        "--hold", action="store_true", help="keep OpenCode and the fake model up after the run, to look at them"
    )


def _records(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    show = commands.add_parser("show", help="tell the timeline of a run")
    show.add_argument("timeline", metavar="TIMELINE|FOLDER", help="a timeline.ndjson, or the folder of a run")
    show.add_argument("--all", action="store_true", help="show the entries too that every turn has")
    judge = commands.add_parser("judge", help="judge a saved run again", epilog=EXIT_CODES)
    judge.add_argument("scenario", metavar="SCENARIO", help="the scenario file")
    judge.add_argument("timeline", metavar="TIMELINE|FOLDER", help="a timeline.ndjson, or the folder of a run")


def _doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="look at what a run needs from this machine; with --opencode-version, at what guardlab knows of it",
        epilog=EXIT_CODES,
    )
    _which_opencode(doctor)


def _new(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    new = commands.add_parser("new", help="write a first scenario")
    new.add_argument("name", nargs="?", default="first", metavar="NAME", help="its name under scenarios/, or a path")
    new.add_argument("--guard", metavar="PATH", help="a plugin of your own: its package's folder or its file")
    new.add_argument("--ci", action="store_true", help="write a GitHub workflow too that plays scenarios/")


def _which_opencode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--opencode-binary", metavar="PATH", help="the OpenCode to use (else OPENCODE_TEST_BINARY, the pinned version)"
    )
    parser.add_argument(
        "--opencode-version",
        metavar="VERSION",
        help="install and use this version of OpenCode (else GUARDLAB_OPENCODE_VERSION)",
    )
