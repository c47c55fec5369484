"""The pytest plugin: options and hooks. It stays light, since every project that has guardlab installed imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from harness.collect import ScenarioFile

__all__: list[str] = []

SUFFIX = ".scenario.yaml"
SECTION = "guardlab"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; their values are read when the first scenario runs."""
    group = parser.getgroup(SECTION, "guardlab: scenarios against the real OpenCode")
    group.addoption(
        "--opencode-binary",
        metavar="PATH",
        help="the OpenCode to test (else OPENCODE_TEST_BINARY, ini opencode_binary, the pinned version)",
    )
    group.addoption("--opencode-version", metavar="VERSION", help="install and use this version of OpenCode")
    group.addoption(
        "--step-timeout", metavar="SECONDS", type=float, help="how long one step of a scenario may take (default 60)"
    )
    group.addoption(
        "--keep-runs",
        choices=("on-failure", "always", "never"),
        help="which runs leave their files under .guardlab (default on-failure)",
    )
    group.addoption(
        "--guard", metavar="PATH", dest="guard_path", help="use this guard in every scenario that has a guard"
    )
    parser.addini("opencode_binary", "the OpenCode to test, below the option and OPENCODE_TEST_BINARY")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers that scenarios carry."""
    for name, what in (
        ("scenario", "a guardlab scenario"),
        ("incident", "a public loop incident"),
        ("healthy", "a healthy look-alike"),
    ):
        config.addinivalue_line("markers", f"{name}: {what}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Take *.scenario.yaml."""
    if not file_path.name.endswith(SUFFIX):
        return None
    from harness.collect import ScenarioFile  # noqa: PLC0415 - loaded only where there are scenarios

    return ScenarioFile.from_parent(parent, path=file_path)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which OpenCode is used; quiet where nothing asks for one."""
    if not any(str(arg).rstrip("/").endswith(("scenarios", SUFFIX)) or "scenarios" in str(arg) for arg in config.args):
        return None
    from harness.collect import describe_binary  # noqa: PLC0415 - the same

    return describe_binary(config)
