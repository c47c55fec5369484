"""Keeps what a run left behind, for inspection and for judging it again."""

from __future__ import annotations

import json
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from harness.report.places import shown
from harness.scenario import SUFFIX

if TYPE_CHECKING:
    from harness.report.run import Run
    from harness.settings import Settings
    from harness.timeline import Record

__all__ = ["folder_of", "keep"]

LOCK_SECONDS = 30


def keep(run: Run, settings: Settings, scenario: str) -> str | None:
    """Write the run's folder where `keep_runs` asks for it, and give it as a reader finds it; else None.

    The folder of an earlier run of the same item goes away in any case: what lies there is always of the last run.
    `scenario` names the file as its user does.
    """
    folder = folder_of(settings.runs_dir, run.scenario.path)
    wanted = settings.keep_runs == "always" or (settings.keep_runs == "on-failure" and not run.passed)
    if not wanted and not folder.exists():
        return None
    settings.runs_dir.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=settings.runs_dir))
    try:
        if wanted:
            _write(fresh / "run", run, scenario)
        with FileLock(settings.runs_dir / ".lock", timeout=LOCK_SECONDS):
            _swap(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return shown(folder) if wanted else None


def folder_of(runs: Path, scenario: Path) -> Path:
    """Give the folder of an item: no two items share one, and none lies inside another's.

    `scenarios/faults/reset.scenario.yaml` becomes `faults/reset`. Where the short name could meet another item's, more
    of it stays: `reset.scenario` beside a folder `reset`, and all of it outside of `scenarios`.
    """
    place = _relative(scenario.resolve(), runs.resolve().parent)
    inside = place.parts[0] == "scenarios" and len(place.parts) > 1
    stem = place.name.removesuffix(SUFFIX)
    beside = (scenario.parent / stem).is_dir()
    name = place.name if not inside else f"{stem}.scenario" if beside else stem
    return runs.joinpath(*place.parts[1 if inside else 0 : -1], name)


def _relative(scenario: Path, root: Path) -> Path:
    if scenario.is_relative_to(root):
        return scenario.relative_to(root)
    return Path("elsewhere", _hash(str(scenario.parent)), scenario.name)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]


def _swap(fresh: Path, folder: Path) -> None:
    """Put the new folder in the old one's place; nobody meets a folder that is half written."""
    if folder.exists():
        folder.rename(fresh / "old")
    if (fresh / "run").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        (fresh / "run").rename(folder)


def _write(folder: Path, run: Run, scenario: str) -> None:
    (folder / "exchanges").mkdir(parents=True)
    if run.folder and (run.folder / "workspace").is_dir():
        shutil.copytree(run.folder / "workspace", folder / "workspace", symlinks=True)
    run.record.save(folder / "timeline.ndjson")
    log = "".join(f"{line}\n" for line in run.record.facts.get("log", ()))
    (folder / "opencode.log").write_text(log, encoding="utf-8")
    for number, entries in _exchanges(run.record).items():
        _json(folder / "exchanges" / f"{number:03}.json", entries)
    _json(folder / "verdicts.json", _verdicts(run, scenario))


def _exchanges(record: Record) -> dict[int, list[dict[str, Any]]]:
    """Give the entries of every exchange: number -> what happened, in order."""
    found: dict[int, list[dict[str, Any]]] = {}
    for entry in record.entries:
        if entry.source == "fake" and "number" in entry.data:
            at = round(entry.at - record.start, 6)
            found.setdefault(entry.data["number"], []).append(
                {"entry": entry.seq, "at": at, "kind": entry.kind, **entry.data}
            )
    return found


def _verdicts(run: Run, scenario: str) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "passed": run.passed,
        "seconds": round(run.seconds, 3),
        "error": {"kind": run.error.kind, "text": str(run.error)} if run.error else None,
        "invariants": [{"name": one.name, "text": one.message, "evidence": list(one.evidence)} for one in run.broken],
        "expectations": [
            {
                "expectation": check.expectation.kind,
                "line": check.span.line,
                "status": verdict.status,
                "actual": verdict.actual,
                "expected": verdict.expected,
                "where": verdict.where,
                "evidence": list(verdict.evidence),
            }
            for check, verdict in run.verdicts
        ],
    }


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
