"""What three hundred scenarios on one server leave behind: `python tests/benchmarks/leaks.py [--rounds 15]`.

Prints, at the start (after one round to warm up) and at the end: processes, listening ports, threads, file descriptors
and temporary files of this process, and the memory of both. Exits with 1 when something is left or has grown too much.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
from pathlib import Path

import psutil

from harness.lab import Lab
from harness.opencode import pool
from harness.scenario.loader import load

SCENARIOS = Path(__file__).parent.parent.parent / "scenarios"
QUICK = 20
OPENCODE_MB = 8.0  # a scenario: an instance costs 5 to 8 MB that OpenCode does not give back (opencode-facts.md G)
OWN_MB = 0.05  # a scenario: what Python's allocator may drift


def quick_scenarios() -> list:
    """The first scenarios of the call clauses that want no process of their own: a few requests each."""
    loaded = [load(path) for path in sorted((SCENARIOS / "infinity").glob("inf-0*.scenario.yaml"))]
    return [one for one in loaded if not one.isolated][:QUICK]


def look(lab: Lab) -> dict[str, float]:
    """Count what a run could leave behind."""
    gc.collect()
    own = psutil.Process()
    return {
        "processes": len(own.children(recursive=True)),
        "listening ports": len([c for c in own.net_connections() if c.status == psutil.CONN_LISTEN]),
        "threads": threading.active_count(),
        "file descriptors": own.num_fds(),
        "temporary files": len(list(lab.root.iterdir())),
        "own MB": own.memory_info().rss / 1e6,
        "OpenCode MB": psutil.Process(lab.pool.running[0]).memory_info().rss / 1e6,
    }


def main() -> int:
    """Play the rounds and compare."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=15)
    rounds = options.parse_args().rounds
    pool.MOST_SCENARIOS = pool.MOST_MEMORY = sys.maxsize  # one server for all of them
    scenarios, failed = quick_scenarios(), 0
    with Lab() as lab:
        for one in scenarios:
            failed += not lab.play(one).passed
        first = look(lab)
        for _ in range(rounds - 1):
            for one in scenarios:
                failed += not lab.play(one).passed
        last = look(lab)
    played = (rounds - 1) * len(scenarios)
    for name, before in first.items():
        print(f"{name:18} {before:10.1f} {last[name]:10.1f}")  # noqa: T201 - a program for people
    grown = {name: (last[name] - first[name]) / max(played, 1) for name in ("own MB", "OpenCode MB")}
    print(f"{rounds * len(scenarios) - failed} green, {failed} red; a scenario: {grown}")  # noqa: T201 - the same
    counted = [name for name in first if "MB" not in name and last[name] > first[name]]
    return int(bool(failed or counted or grown["OpenCode MB"] > OPENCODE_MB or grown["own MB"] > OWN_MB))


if __name__ == "__main__":
    sys.exit(main())
