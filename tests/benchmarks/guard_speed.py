"""Measures how fast the Infinity guard stops a looping stream, how fast the work goes on, and what its hooks cost.

A sentence of four words, one word a chunk, is repeated for ever in the real OpenCode. `to the close` is the time from
the chunk that completes the third repetition, as it is handed to the socket, to the close of that stream by OpenCode;
`to the continuation` the time from there to the request that carries it. Without a pace OpenCode reads ahead, and its
abort waits until it has read all that was sent: that row is bounded to some chunks, and shows OpenCode's limit, not the
guard's.

    python -m tests.benchmarks.guard_speed [--rounds 30] [--raw FILE]

`--raw` writes every single time as a line of JSON: pace, to_close, to_continuation. The cost of the hooks is what
`npm run bench` prints in guard/.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from fakemodel.connection import Connection
from harness.lab import Lab
from harness.scenario.loader import loads
from harness.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.report.run import Run

GUARD = Path(__file__).parents[2] / "guard"
LOOP = """\
format: 1
title: A sentence is repeated until it is cut
guard: infinity
step_timeout: 120s
script:
  - say: Checking the containers now.
    repeat: forever
    pace: {pace}
{bound}  - when: {{user_says: "[ANTI-LOOP STREAM]"}}
    say: They are up.
steps:
  - prompt: Start the stack.
expect:
  - continuations: 1
"""
PACES = ("2ms", "5ms", "20ms")
UNPACED = "0"
BOUND = 20_000
UNPACED_ROUNDS = 3
# The first chunk names the role; then three times four words.
COMPLETING = 12


@contextmanager
def handed_over() -> Iterator[list[float]]:
    """Note when each chunk is handed to a socket, in the order of all streams."""
    times: list[float] = []
    real = Connection.put

    def put(self: Connection, data: bytes) -> bool:
        times.append(time.monotonic())
        return real(self, data)

    Connection.put = put  # type: ignore[method-assign]
    try:
        yield times
    finally:
        Connection.put = real  # type: ignore[method-assign]


def measure(rounds: int) -> list[dict[str, Any]]:
    """Let it loop at every pace in turn, `rounds` times, and a few times without; the first turn is not measured."""
    turns = [(number, pace) for number in range(rounds) for pace in (*PACES, UNPACED)]
    with Lab(Settings.from_environment(os.environ)) as lab, handed_over() as times:
        _loop(lab, times, PACES[-1])
        return [_loop(lab, times, pace) for number, pace in turns if pace != UNPACED or number < UNPACED_ROUNDS]


def _loop(lab: Lab, times: list[float], pace: str) -> dict[str, Any]:
    times.clear()
    bound = f"    max_chunks: {BOUND}\n" if pace == UNPACED else ""
    run = lab.play(loads(LOOP.format(pace=pace, bound=bound), Path(tempfile.gettempdir()) / "loop.scenario.yaml"))
    assert run.passed, run.report()
    closed, continued = _moments(run)
    return {
        "pace": pace,
        "to_close": round((closed - times[COMPLETING]) * 1000, 1),
        "to_continuation": round((continued - closed) * 1000, 1),
    }


def _moments(run: Run) -> tuple[float, float]:
    """When the first stream was closed, and when the second request came."""
    closed = next(entry.at for entry in run.record.of("exchange.closed") if entry.data["number"] == 1)
    return closed, next(entry.at for entry in run.record.of("exchange.received") if entry.data["number"] == 2)


def table(found: list[dict[str, Any]]) -> Table:
    """Lay out median and p95 of both times at each pace."""
    columns = ("a chunk every", "runs", "to the close", "p95", "to the continuation", "p95")
    shown = Table(*columns, title="milliseconds, median")
    for pace in (*PACES, UNPACED):
        mine = [one for one in found if one["pace"] == pace]
        cells = [_median_and_p95([one[what] for one in mine]) for what in ("to_close", "to_continuation")]
        name = f"no pause ({BOUND} chunks; OpenCode's limit)" if pace == UNPACED else pace
        shown.add_row(name, str(len(mine)), *cells[0], *cells[1])
    return shown


def _median_and_p95(values: list[float]) -> tuple[str, str]:
    p95 = statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
    return f"{statistics.median(values):.0f}", f"{p95:.0f}"


def main() -> None:
    """Measure, print, and keep the raw times where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, help="at least 1")
    parser.add_argument("--raw", type=Path, metavar="FILE", help="write every time as a line of JSON")
    options = parser.parse_args()
    found = measure(options.rounds)
    console = Console()
    console.print(table(found))
    if options.raw:
        options.raw.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")
    npm = shutil.which("npm")
    assert npm, "npm was not found on the PATH"
    bench = subprocess.run([npm, "run", "--silent", "bench"], cwd=GUARD, capture_output=True, text=True, check=True)
    console.print("the guard's event hook, a delta each", bench.stdout, sep="\n", highlight=False)


if __name__ == "__main__":
    main()
