"""Turns a *.scenario.yaml into one pytest item and plays it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakemodel.loading import SourceError
from harness.asked import again, described, elsewhere, guard_at
from harness.ending import for_github, properties
from harness.errors import GuardlabError, SetupError
from harness.hold import Hold
from harness.interrupt import Shield
from harness.lab import TAG_PREFIX, Lab
from harness.opencode.binary import Binary, resolve
from harness.plugin import BINARY_KEY, OWNER, RUN
from harness.process.supervisor import sweep_tag_prefix
from harness.report.failure import Failure, kind_of, render
from harness.report.outcome import kept_failures
from harness.report.places import shown
from harness.scenario.loader import load
from harness.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from harness.scenario.model import Scenario
    from harness.scene import Scene

__all__ = ["ScenarioFile", "ScenarioItem", "binary_words", "describe_binary", "shield", "sweep_run"]

BINARY = pytest.StashKey["Binary | SetupError"]()
TROUBLE = pytest.StashKey[SetupError]()
INTERRUPT = "guardlab-interrupt"
LAB = pytest.StashKey[Lab]()


class Interrupt:
    """A plugin for runs that own processes. A Ctrl-C is not caught but told: a test may be there to be interrupted."""

    def __init__(self, shielding: Shield) -> None:
        """Keep what ignores."""
        self._shield = shielding

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Ignore what follows: it would land in our cleaning up, or in pytest's code, which answers by a traceback."""
        self._shield.ignore()


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
        self.failures: list[Failure] = []
        self.user_properties += properties(scenario)
        self.until: float | None = None
        self.add_marker("scenario")
        for word in _keywords(scenario):
            self.extra_keyword_matches.add(word)
        for tag in scenario.head.tags:
            if tag in ("incident", "healthy"):
                self.add_marker(tag)

    def runtest(self) -> None:
        """Play it; raise its report when it does not pass."""
        if reason := elsewhere(self.scenario):
            pytest.skip(f"this scenario is {reason}")
        file, self.failures = self.scenario.document.file, []
        try:
            lab = lab_of(self.config)
            run = lab.play(self.scenario, upcoming=self.upcoming, hold=_hold(self.config), until=self.until)
            self.failures = kept_failures(run, lab.settings, file, again("pytest", file, _asked(self.config)))
        except GuardlabError as error:
            self.failures = [Failure(error.kind, file=file, span=None, key=error.kind, problem=str(error))]
        if self.failures:
            raise ScenarioFailed(render(self.failures))

    def complete(self, report: Any) -> None:
        """Say by its report what the run counts as, and show an unknown verdict as pytest's error, not its failure."""
        if report.when != "call" or not report.failed:
            return
        kind = kind_of(self.failures) or "crash"
        self.user_properties.append(("guardlab_kind", kind))  # the junit file takes them from the teardown's report
        report.user_properties = list(self.user_properties)
        if self.failures:
            report.guardlab_github = for_github(self.failures)  # xdist carries what is plain data
        if kind == "unknown":
            report.when = "setup"  # pytest counts and shows as an error what fails in any phase but the call

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002 - pytest's signature
        """Show a report as it is."""
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Say where it stands."""
        return self.path, 0, f"{self.scenario.name}: {self.scenario.head.title}"


def lab_of(config: pytest.Config) -> Lab:
    """Give this worker's lab; it is started when the first scenario runs and stopped with the session.

    Raises SetupError when it cannot be started. It is tried once: npm takes its time to say no.
    """
    if TROUBLE in config.stash:
        raise config.stash[TROUBLE]
    if LAB not in config.stash:
        try:
            config.stash[LAB] = _started(config)
        except SetupError as error:
            config.stash[TROUBLE] = error
            raise
    return config.stash[LAB]


def _started(config: pytest.Config) -> Lab:
    worker = getattr(config, "workerinput", {}).get("workerid", "main")
    lab = Lab(
        settings_of(config),
        binary=binary_of(config),
        owner=config.stash[OWNER],
        tag=f"{TAG_PREFIX}{config.stash[RUN]}-{worker}",
        guard=guard_at(config.getoption("guard_path"), config.invocation_params.dir),
    )
    lab.__enter__()
    shield(config)
    config.add_cleanup(lambda: lab.__exit__(None, None, None))
    return lab


def shield(config: pytest.Config) -> None:
    """Shield what is cleaned up by functions that are added to `config` from now on; once is enough."""
    if not config.pluginmanager.hasplugin(INTERRUPT):
        shielding = Shield(signal.SIGTERM).__enter__()
        config.pluginmanager.register(Interrupt(shielding), INTERRUPT)
        config.add_cleanup(lambda: shielding.__exit__(None, None, None))


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
    """Find OpenCode once, whatever comes of it; a worker is told what its controller found."""
    if BINARY not in config.stash:
        told = getattr(config, "workerinput", {}).get(BINARY_KEY)
        config.stash[BINARY] = _told(told) if told else _found(config)
    found = config.stash[BINARY]
    if isinstance(found, SetupError):
        raise found
    return found


def _found(config: pytest.Config) -> Binary | SetupError:
    try:
        return resolve(settings_of(config))
    except SetupError as error:
        return error


def _told(words: Mapping[str, str]) -> Binary | SetupError:
    if "path" not in words:
        return SetupError(words["message"], words["hint"])
    return Binary(Path(words["path"]), words["version"], words["why"])


def binary_words(config: pytest.Config) -> Mapping[str, str]:
    """Say in plain data which OpenCode was found, or that none was, for workers."""
    try:
        binary = binary_of(config)
    except SetupError as error:
        return {"message": error.message, "hint": error.hint}
    return {"path": str(binary.path), "version": binary.version, "why": binary.why}


def describe_binary(config: pytest.Config) -> str:
    """Say which OpenCode is used and why. That there is none is told by the scenarios: perhaps none of them is chosen.

    Raises UsageError for options that make no sense.
    """
    try:
        settings_of(config)
    except SetupError as error:
        raise pytest.UsageError(str(error)) from error
    try:
        return described(binary_of(config))
    except SetupError as error:
        return f"opencode: none ({error.message})"


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


def _asked(config: pytest.Config) -> Mapping[str, object]:
    """Give the options that change what a scenario does."""
    names = ("--guard", "--opencode-binary", "--opencode-version", "--step-timeout")
    return {name: config.getoption(name) for name in names}


def _keywords(scenario: Scenario) -> Iterator[str]:
    yield from scenario.head.proves
    yield from scenario.head.tags
    yield from (guard.name for guard in scenario.guards)
    source = scenario.head.source
    if isinstance(source, dict) and "row" in source:
        yield str(source["row"])
