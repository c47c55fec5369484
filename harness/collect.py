"""Turns a *.scenario.yaml into one pytest item and plays it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakemodel.loading import SourceError
from harness.ending import properties
from harness.errors import GuardlabError
from harness.hold import Hold
from harness.interrupt import shield
from harness.lab import TAG_PREFIX, Lab
from harness.opencode.binary import Binary, resolve
from harness.plugin import OWNER, RUN
from harness.process.platform import System
from harness.process.supervisor import sweep_tag_prefix
from harness.report.failure import Failure, render
from harness.report.outcome import kept_failures
from harness.report.places import shown
from harness.scenario.loader import load
from harness.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from harness.scenario.model import Scenario
    from harness.scene import Scene

__all__ = ["ScenarioFile", "ScenarioItem", "describe_binary"]

BINARY = pytest.StashKey[Binary]()
LAB = pytest.StashKey[Lab]()


class ScenarioFailed(Exception):  # noqa: N818 - pytest shows the name
    """A scenario that did not pass; its text is the report."""


class ScenarioFile(pytest.File):
    """One scenario file."""

    def collect(self) -> Iterable[ScenarioItem]:
        """Read the file; a mistake in it is a collection error with its place."""
        scenario = load(self.path, shown_as=shown(self.path, self.config.invocation_params.dir))
        yield ScenarioItem.from_parent(self, name=scenario.name, scenario=scenario)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002 - pytest's signature
        """Show a mistake in the file without a traceback."""
        if isinstance(excinfo.value, SourceError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class ScenarioItem(pytest.Item):
    """One scenario; its clauses, guards, tags and corpus row are keywords (`-k INF-21`)."""

    def __init__(self, *, scenario: Scenario, **given: Any) -> None:
        """Keep the scenario."""
        super().__init__(**given)
        self.scenario = scenario
        self.upcoming: Scenario | None = None
        self.add_marker("scenario")
        for word in _keywords(scenario):
            self.extra_keyword_matches.add(word)
        for tag in scenario.head.tags:
            if tag in ("incident", "healthy"):
                self.add_marker(tag)

    def runtest(self) -> None:
        """Play it; raise its report when it does not pass."""
        systems, here = self.scenario.head.systems, System.detect().names
        if systems and not here.intersection(systems):
            pytest.skip(f"this scenario is for {', '.join(systems)}; this is {', '.join(sorted(here))}")
        file = self.scenario.document.file
        try:
            lab = lab_of(self.config)
            run = lab.play(self.scenario, upcoming=self.upcoming, hold=_hold(self.config))
            failures = kept_failures(run, lab.settings, file, f"pytest {file} --keep-runs=always")
        except GuardlabError as error:
            failures = [Failure(error.kind, file=file, span=None, key=error.kind, problem=str(error))]
        self.user_properties += properties(self.scenario, file, failures)
        if failures:
            raise ScenarioFailed(render(failures))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002 - pytest's signature
        """Show a report as it is."""
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Say where it stands."""
        return self.path, 0, f"{self.scenario.name}: {self.scenario.head.title}"


def lab_of(config: pytest.Config) -> Lab:
    """Give this worker's lab; it is started when the first scenario runs and stopped with the session."""
    if LAB not in config.stash:
        worker = getattr(config, "workerinput", {}).get("workerid", "main")
        guard = config.getoption("guard_path")
        lab = Lab(
            settings_of(config),
            binary=binary_of(config),
            owner=config.stash[OWNER],
            tag=f"{TAG_PREFIX}{config.stash[RUN]}-{worker}",
            guard=(config.invocation_params.dir / guard) if guard else None,
        )
        lab.__enter__()
        shield(config)
        config.stash[LAB] = lab
        config.add_cleanup(lambda: lab.__exit__(None, None, None))
    return config.stash[LAB]


def settings_of(config: pytest.Config) -> Settings:
    """Read the options, the environment and the ini file."""
    return Settings.from_environment(
        os.environ,
        binary=config.getoption("--opencode-binary"),
        binary_ini=config.getini("opencode_binary") or None,
        version=config.getoption("--opencode-version"),
        keep_runs=config.getoption("--keep-runs"),
        step_timeout=config.getoption("--step-timeout"),
        runs_dir=config.rootpath / ".guardlab",
    )


def binary_of(config: pytest.Config) -> Binary:
    """Find OpenCode once."""
    if BINARY not in config.stash:
        config.stash[BINARY] = resolve(settings_of(config))
    return config.stash[BINARY]


def describe_binary(config: pytest.Config) -> str:
    """Say which OpenCode is used and why. Raises UsageError when there is none: no scenario could run."""
    try:
        binary = binary_of(config)
    except GuardlabError as error:
        raise pytest.UsageError(str(error)) from error
    return f"opencode: {binary.version} ({binary.path}, {binary.why})"


def sweep_run(run: str) -> list[str]:
    """Kill and name the processes of a run whose worker is gone, and remove its temporary folders."""
    survivors = [survivor.command_line for survivor in sweep_tag_prefix(f"{TAG_PREFIX}{run}-")]
    for folder in Path(tempfile.gettempdir()).glob(f"{TAG_PREFIX}{run}-*"):
        shutil.rmtree(folder, ignore_errors=True)
    return survivors


def _hold(config: pytest.Config) -> Callable[[Scene], None] | None:
    """Keep a run's OpenCode up where that is asked for. pytest's capture is off meanwhile, keyboard included."""
    if not config.getoption("hold"):
        return None

    def hold(scene: Scene) -> None:
        capture = config.pluginmanager.getplugin("capturemanager")
        capture.suspend(in_=True)
        try:
            Hold(config.get_terminal_writer().line)(scene)
        finally:
            capture.resume()

    return hold


def _keywords(scenario: Scenario) -> Iterator[str]:
    yield from scenario.head.proves
    yield from scenario.head.tags
    yield from (guard.name for guard in scenario.guards)
    source = scenario.head.source
    if isinstance(source, dict) and "row" in source:
        yield str(source["row"])
