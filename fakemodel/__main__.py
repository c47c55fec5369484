"""The program: plays a script or a scenario's script as a model provider, with a line for every exchange."""

from __future__ import annotations

import argparse
import queue
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console

from fakemodel.loading import SourceError, load_file, parse_script
from fakemodel.protocols import protocols
from fakemodel.server import FakeModel, FakeModelError
from fakemodel.stage import StageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemodel.exchange import Event, Exchange
    from fakemodel.script import Script
    from fakemodel.stage import Stage

__all__ = ["main"]

_STYLES = {"client": "yellow", "script": "green", "fault": "magenta", "killed": "yellow", "shutdown": "dim"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns 0, 1 when something was unscripted or unused, 2 when the script is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m fakemodel",
        description="Play a script as a model provider on 127.0.0.1. A line of input releases the gate it names.",
    )
    parser.add_argument("script", type=Path, help="a script, or a scenario file whose script is played")
    parser.add_argument("--port", type=int, default=0, help="0, the default, lets the system choose")
    parser.add_argument("--check", action="store_true", help="only check the script")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    try:
        script = _read(options.script)
    except SourceError as error:
        Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(str(error))
        return 2
    if options.check:
        console.print(f"{options.script}: {_summary(script)}")
        return 0
    return _serve(script, options.port, console)


def _read(path: Path) -> Script:
    document = load_file(path)
    inside = isinstance(document.value, dict) and "script" in document.value
    return parse_script(document, ("script",) if inside else ())


def _summary(script: Script) -> str:
    parts = [f"session {name}: {len(session.replies)}" for name, session in script.sessions.items()]
    if script.any_time:
        parts.append(f"any time: {len(script.any_time)}")
    return f"a good script; replies of {', '.join(parts)}"


def _serve(script: Script, port: int, console: Console) -> int:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with FakeModel(port) as model:
            stage = model.open(script, events.put)
            for name in protocols():
                console.print(f"{name:<20}{stage.base_url(name)}")
            threading.Thread(target=_read_gates, args=(stage, console), daemon=True).start()
            try:
                _show_all(events, console)
            except KeyboardInterrupt:
                return _judge(stage, console)
    except FakeModelError as error:
        console.print(f"fakemodel: {error}", style="red")
        return 1


def _show_all(events: queue.SimpleQueue[Event], console: Console) -> NoReturn:
    while True:
        # Windows delivers Ctrl-C only between waits.
        with suppress(queue.Empty):
            _show(events.get(timeout=0.5), console)


def _read_gates(stage: Stage, console: Console) -> None:
    for line in sys.stdin:
        try:
            stage.release(line.strip())
        except StageError as error:
            console.print(str(error), style="red")


def _show(event: Event, console: Console) -> None:
    exchange = event.exchange
    if event.kind == "closed":
        console.print(_line(exchange), style=_STYLES[exchange.ended_by or "shutdown"])
    elif event.kind == "gate":
        name = event.detail["gate"]
        console.print(f"#{exchange.number} waits at gate {name}; write {name} and Enter to release it", style="cyan")
    elif event.kind in ("unscripted", "invalid"):
        console.print(f"#{exchange.number} {event.kind.upper()} request; {event.detail['reason']}", style="bold red")


def _line(exchange: Exchange) -> str:
    who = exchange.session or "no session"
    what = f"reply {exchange.reply} use {exchange.use}" if exchange.reply else exchange.kind
    scripted = "endless" if exchange.chunks_scripted is None else str(exchange.chunks_scripted)
    took = (exchange.closed_at or exchange.received_at) - exchange.received_at
    faults = f" under {', '.join(exchange.faults)}" if exchange.faults else ""
    return (
        f"#{exchange.number} {exchange.protocol} {who} {what}: {exchange.status}, {exchange.chunks_sent} of {scripted} "
        f"chunks in {took:.2f} s, ended by {exchange.ended_by}{faults}"
    )


def _judge(stage: Stage, console: Console) -> int:
    unused = stage.unused()
    for left in unused:
        line = f" (line {left.span.line})" if left.span else ""
        console.print(
            f"unused: {left.session} reply {left.reply}{line}, used {left.used} of {left.wanted}", style="red"
        )
    return 1 if unused or stage.unscripted else 0


if __name__ == "__main__":
    sys.exit(main())
