"""The pytest plugin: options and hooks. It stays light, since every project that has guardlab installed imports it."""

from __future__ import annotations

import os
import secrets
import time
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from harness.scenario import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from harness.collect import ScenarioFile

__all__: list[str] = []

LEAVE_SECONDS = 5.0  # what a run may still take when its time is up: to leave OpenCode clean, and to write its report
RUN = pytest.StashKey[str]()
OWNER = pytest.StashKey[int]()
SHARED = pytest.StashKey[bool]()
REPORTS = (pytest.TestReport, pytest.CollectReport)
WORKER_KEY, OWNER_KEY, BINARY_KEY = "guardlab_run", "guardlab_owner", "guardlab_binary"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; their values are read when the first scenario runs."""
    group = parser.getgroup("guardlab", "guardlab: scenarios against the real OpenCode")
    group.addoption(
        "--opencode-binary",
        metavar="PATH",
        help="the OpenCode to test (else OPENCODE_TEST_BINARY, ini opencode_binary, the pinned version)",
    )
    group.addoption(
        "--opencode-version",
        metavar="VERSION",
        help="install and use this version of OpenCode (else GUARDLAB_OPENCODE_VERSION)",
    )
    group.addoption("--step-timeout", metavar="SECONDS", type=float, help="how long one step may take (default 60)")
    group.addoption(
        "--keep-runs",
        choices=("on-failure", "always", "never"),
        help="which runs leave their files under .guardlab (default on-failure)",
    )
    group.addoption("--guard", metavar="PATH", dest="guard_path", help="load this instead of each scenario's guard")
    group.addoption("--hold", action="store_true", help="keep OpenCode up after the run of one scenario, to look at it")
    parser.addini("opencode_binary", "the OpenCode to test, below the option and OPENCODE_TEST_BINARY")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers that scenarios carry, and name this run, so that its processes can be told from others'."""
    for name, what in (
        ("scenario", "a guardlab scenario"),
        ("incident", "a scenario of a public loop incident"),
        ("healthy", "a scenario of a healthy look-alike"),
    ):
        config.addinivalue_line("markers", f"{name}: {what}")
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    config.stash[RUN] = worker.get(WORKER_KEY) or secrets.token_hex(4)
    config.stash[OWNER] = worker.get(OWNER_KEY) or os.getpid()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker which run it belongs to, and which OpenCode there is: it need not look again."""
    node.workerinput[WORKER_KEY] = node.config.stash[RUN]
    node.workerinput[OWNER_KEY] = node.config.stash[OWNER]
    if _has_scenarios(node.config):
        from harness.collect import binary_words  # noqa: PLC0415 - loaded only where there are scenarios

        node.workerinput[BINARY_KEY] = binary_words(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Be ready to sweep up after workers that play scenarios, and let no second Ctrl-C break off that sweep."""
    config = node.config
    if SHARED not in config.stash and any(_is_of_scenario(one) for one in ids):
        from harness.collect import shield  # noqa: PLC0415 - loaded only where there are scenarios

        config.stash[SHARED] = True
        shield(config)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse a guard that is not there, and to hold what runs in a worker: it has no terminal to be told to end by."""
    if session.config.option.guard_path:
        from harness.asked import guard_at  # noqa: PLC0415 - loaded only where it is asked for
        from harness.errors import SetupError  # noqa: PLC0415

        try:
            guard_at(session.config.option.guard_path, session.config.invocation_params.dir)
        except SetupError as error:
            raise pytest.UsageError(str(error)) from error
    if session.config.option.hold and session.config.pluginmanager.hasplugin("dsession"):
        raise pytest.UsageError("--hold needs the terminal, which the workers of xdist do not have: leave out -n")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Take *.scenario.yaml."""
    if not file_path.name.endswith(SUFFIX):
        return None
    from harness.collect import ScenarioFile  # noqa: PLC0415 - loaded only where there are scenarios

    return ScenarioFile.from_parent(parent, path=file_path)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to hold more than one scenario."""
    chosen = sum(hasattr(item, "upcoming") for item in session.items)
    if session.config.option.hold and chosen != 1 and not session.config.option.collectonly:
        raise pytest.UsageError(f"--hold holds one scenario, {chosen} are chosen: name its file, or use -k")


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Let a scenario know which one comes next, so that the folders of that one are laid out meanwhile."""
    if hasattr(item, "upcoming"):
        item.upcoming = getattr(nextitem, "scenario", None)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """Let a scenario be over, with a report, before pytest-timeout ends it; None leaves the timer to that plugin."""
    if hasattr(item, "until"):
        item.until = time.monotonic() + settings.timeout - min(LEAVE_SECONDS, settings.timeout / 2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a scenario say what its report counts as."""
    report = yield
    if hasattr(item, "upcoming"):
        item.complete(report)
    return report


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which OpenCode is used and why, where a path that was asked for holds scenarios."""
    if config.option.collectonly or hasattr(config, "workerinput") or not _has_scenarios(config):
        return None
    from harness.collect import describe_binary  # noqa: PLC0415 - loaded only where there are scenarios

    return describe_binary(config)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Count scenarios by kind, say which clauses are proven, and tell GitHub where it runs; workers keep silent."""
    if hasattr(config, "workerinput"):
        return
    every = chain.from_iterable(terminalreporter.stats.values())
    reports = [one for one in every if isinstance(one, REPORTS) and _is_of_scenario(one.nodeid)]
    if reports:
        from harness.ending import tell_end  # noqa: PLC0415 - loaded only where there were scenarios

        tell_end(terminalreporter, config, reports)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Clean up for a worker that was killed; by now xdist has waited for those that end well."""
    if SHARED not in config.stash:
        return
    from harness.collect import sweep_run  # noqa: PLC0415 - loaded only where workers played scenarios

    for survivor in sweep_run(config.stash[RUN]):
        config.get_terminal_writer().line(f"guardlab: a process outlived its worker and was killed: {survivor}")


def _is_of_scenario(nodeid: str) -> bool:
    return nodeid.split("::", maxsplit=1)[0].endswith(SUFFIX)


def _has_scenarios(config: pytest.Config) -> bool:
    """Look where pytest was told to, two levels deep: enough for a folder of scenarios, cheap where there are none."""
    return any(_holds_scenarios(config.invocation_params.dir / str(arg).split("::")[0]) for arg in config.args)


def _holds_scenarios(path: Path) -> bool:
    if path.is_file():
        return path.name.endswith(SUFFIX)
    return any(chain.from_iterable(path.glob(f"{depth}*{SUFFIX}") for depth in ("", "*/", "*/*/")))
