"""Measures the fake model against a server written by hand, aimock and llmock: speed, first byte, memory, start.

Every round starts each server in turn and asks it for streams of small chat chunks without a pace: `one stream` of
20,000, as the `first` of its kind and again when the server is `warm` (after some 200,000 chunks: aimock's just-in-time
compiler needs them), and `100 streams` of 500 at once. Chunks a second are counted from the request to the end of the
last stream. `first byte` is the time to the first frame of an answer of 20 chunks, of 20,000, and of one without end.
Memory is the resident set after that; `start` goes from the start of the process to the end of its first answer. The
client is a process of its own and the same for all (client.py). What the two writers do is in writer.py: the fair one
is the measure, since it too gives every chunk to the socket by itself and lets others run. The fake model keeps its
close record all the time. After the rounds: its memory over one stream of ten million chunks, and how soon it stops
when 200 clients leave, 8 at a time.

    python -m tests.benchmarks.fake_model [--rounds 5] [--chunks 10000000] [--raw FILE]

Installs aimock and llmock into a folder of its own, by npm and pip, and removes it. `--raw` writes what every round
measured as a line of JSON. Says which targets were reached; exits with 0 either way.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table

from tests.benchmarks.fake_model.leaving import Left, leave
from tests.benchmarks.fake_model.servers import AIMOCK, ENDLESS, FAIR, OURS, Program, Server, programs, running

CLIENT = Path(__file__).parent / "client.py"
FIRSTS = 9
FINITE = ("short", "long")
MB = 1e6
ROWS = {
    "young": ("chunks/s, one stream, the first", ",.0f"),
    "one": ("chunks/s, one stream, server warm", ",.0f"),
    "hundred": ("chunks/s, 100 streams, server warm", ",.0f"),
    "cpu": ("server's CPU, us a chunk", ".1f"),
    "short": ("first byte, ms: of 20 chunks", ".2f"),
    "long": ("first byte, ms: of 20,000", ".2f"),
    "endless": ("first byte, ms: endless", ".2f"),
    "rss": ("memory, MB", ".0f"),
    "start": ("start, s", ".2f"),
}
FLAT_MB = 2.0
"""What the allocator may drift over ten million chunks."""

LAG_MS = 20.0
MOST_ABOVE = 3
TIMES_AIMOCK = 1.5
WHY = (
    f"Why: {AIMOCK} makes its whole answer before the first byte of it leaves (see its first byte), serves nobody "
    "meanwhile, and never looks whether its client is there. A server that gives every chunk to the socket by itself "
    f"and lets others run after it has the speed of `{FAIR}` as its limit."
)
"""Printed when aimock was too fast."""

WIDTH = 132

Round: TypeAlias = dict[str, dict[str, float]]
"""What one round measured: by server, by row."""


def ask(server: Server, what: str, streams: int = 1, until: str = "all") -> dict[str, Any]:
    """Let the client ask; returns what it prints."""
    command = [sys.executable, str(CLIENT), str(server.port), server.path, what, str(streams), until]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def visit(name: str, program: Program, log: Path) -> dict[str, float]:
    """Start a server and measure everything once."""
    with running(program, log) as server:
        found = {"start": server.started, "young": _speed(ask(server, "long"))}
        for what in (*FINITE, "endless") if name in ENDLESS else FINITE:
            found[what] = statistics.median(ask(server, what, until="first")["first"][0] for _ in range(FIRSTS))
        before = _cpu(server)
        one = ask(server, "long")
        found["one"] = _speed(one)
        found["cpu"] = (_cpu(server) - before) / one["chunks"] * 1e6
        found["hundred"] = _speed(ask(server, "many", streams=100))
        return found | {"rss": server.process.memory_info().rss / MB}


def _speed(answer: dict[str, Any]) -> float:
    return answer["chunks"] / answer["seconds"]


def _cpu(server: Server) -> float:
    times = server.process.cpu_times()
    return times.user + times.system


def memory(program: Program, log: Path) -> list[float]:
    """Return the fake model's resident set, in MB, twice a second while it streams `huge`."""
    with running(program, log) as server:
        ask(server, "long")
        command = [sys.executable, str(CLIENT), str(server.port), server.path, "huge", "1", "all"]
        seen = []
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as client:
            while client.poll() is None:
                time.sleep(0.5)
                seen.append(server.process.memory_info().rss / MB)
        assert client.returncode == 0
        return seen


def median(rounds: list[Round], name: str, key: str) -> float:
    """Return the median of a server's figure."""
    return statistics.median(one[name][key] for one in rounds)


def ratio(rounds: list[Round], name: str, other: str, key: str) -> float:
    """Return the median of a server's figure divided by another's in the same round."""
    return statistics.median(one[name][key] / one[other][key] for one in rounds)


def table(rounds: list[Round]) -> Table:
    """Lay out the medians, and how many times the fake model's each is."""
    shown = Table("median (times the fake model's)", title=f"rounds: {len(rounds)}")
    for name in rounds[0]:
        shown.add_column(name, justify="right")
    for key, (title, form) in ROWS.items():
        shown.add_row(title, *(_cell(rounds, name, key, form) for name in rounds[0]))
    return shown


def _cell(rounds: list[Round], name: str, key: str, form: str) -> str:
    if key not in rounds[0][name]:
        return "-"
    value = f"{median(rounds, name, key):{form}}"
    return value if name == OURS else f"{value} ({ratio(rounds, name, OURS, key):.2f})"


def targets(rounds: list[Round], seen: list[float], left: list[Left]) -> Table:
    """Judge what was reached."""
    shown = Table("target", "wanted", "measured", "", title="targets")

    def judge(target: str, wanted: str, measured: str, *, reached: bool) -> None:
        shown.add_row(target, wanted, measured, "[green]reached[/]" if reached else "[red]missed[/]")

    for name, least in ((FAIR, 0.6), (AIMOCK, TIMES_AIMOCK)):
        for key in ("young", "one", "hundred"):
            times = ratio(rounds, OURS, name, key)
            judge(f"{ROWS[key][0]}, times {name}", f"at least {least}", f"{times:.2f}", reached=times >= least)
    for key in (*FINITE, "endless"):
        later = statistics.median(one[OURS][key] - one[FAIR][key] for one in rounds)
        judge(f"{ROWS[key][0]}, after {FAIR}", "under 1 ms", f"{later:+.2f} ms", reached=later < 1)
    grown = max(seen) - seen[0]
    judge("memory over the longest stream", "flat", f"{seen[0]:.1f} MB {grown:+.1f}", reached=grown < FLAT_MB)
    above = max(one.above for one in left)
    judge(f"chunks counted above those read, of {len(left)}", "at most 3", f"{above}", reached=above <= MOST_ABOVE)
    for name, lags in (
        ("as recorded", [one.lag for one in left]),
        ("by the client", [one.since_close for one in left]),
    ):
        p99 = sorted(lags)[len(lags) * 99 // 100 - 1]
        judge(f"p99 of close to stop, {name}", f"under {LAG_MS:g} ms", f"{p99:.1f} ms", reached=p99 < LAG_MS)
    return shown


def main() -> None:
    """Measure, print, and keep the raw figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="at least 1")
    parser.add_argument("--chunks", type=int, default=10_000_000, help="of the stream that memory is watched over")
    parser.add_argument("--raw", type=Path, metavar="FILE", help="write every round as a line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, known = folder / "server.log", programs(folder, options.chunks)
        rounds = [{one: visit(one, known[one], log) for one in known} for _ in range(options.rounds)]
        seen = memory(known[OURS], log)
    if options.raw:
        options.raw.write_text("".join(json.dumps(one) + "\n" for one in rounds), encoding="utf-8")
    console = Console(width=WIDTH, highlight=False)
    console.print(table(rounds), targets(rounds, seen, leave()))
    if ratio(rounds, OURS, AIMOCK, "one") < TIMES_AIMOCK:
        console.print(WHY)


if __name__ == "__main__":
    main()
