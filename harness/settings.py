"""What a run is told from outside: options, environment and ini values, without knowing pytest."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from platformdirs import user_cache_path

from harness.errors import SetupError
from harness.opencode.versions import PINNED_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KeepRuns", "Settings"]

KeepRuns = Literal["on-failure", "always", "never"]
_VERSION = re.compile(r"\d+\.\d+\.\d+(-[\w.-]+)?")


def _default_cache() -> Path:
    return user_cache_path("guardlab", appauthor=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one run.

    binary: path of OpenCode from the option `--opencode-binary`; it wins over everything.
    binary_env: path from the variable OPENCODE_TEST_BINARY.
    binary_ini: path from the ini file.
    version: the OpenCode to install when no path is given; a version number or `latest`; from the option
        `--opencode-version`, else from the variable GUARDLAB_OPENCODE_VERSION.
    cache_dir: where installed programs are kept; shared by every run of this user.
    runs_dir: where the artifacts of runs go.
    keep_runs: which artifacts stay after a run.
    step_timeout: seconds that one step may take.
    """

    binary: str | None = None
    binary_env: str | None = None
    binary_ini: str | None = None
    version: str = PINNED_VERSION
    cache_dir: Path = field(default_factory=_default_cache)
    runs_dir: Path = Path(".guardlab")
    keep_runs: KeepRuns = "on-failure"
    step_timeout: float = 60.0

    def __post_init__(self) -> None:
        """Refuse values that would only fail later.

        Raises SetupError for a `version` that is none, an unknown `keep_runs`, and a `step_timeout` not above zero.
        """
        if self.version != "latest" and not _VERSION.fullmatch(self.version):
            raise SetupError(
                f"the OpenCode version is {self.version!r}; wanted a full one like {PINNED_VERSION}, or latest",
                "It comes from --opencode-version, else from the variable GUARDLAB_OPENCODE_VERSION.",
            )
        if self.keep_runs not in get_args(KeepRuns):
            choices = ", ".join(get_args(KeepRuns))
            raise SetupError(f"keep-runs is {self.keep_runs!r}; wanted one of: {choices}")
        if not self.step_timeout > 0:
            raise SetupError(f"the step timeout is {self.step_timeout:g} s; wanted more than 0 s")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], **overrides: object) -> Settings:
        """Return the settings that the environment gives, with `overrides` (field names) on top.

        Reads OPENCODE_TEST_BINARY, GUARDLAB_OPENCODE_VERSION and GUARDLAB_CACHE; an empty variable counts as absent. An
        override that is None counts as not given, so that an option without a value can be passed on as it is.
        """
        cache = environ.get("GUARDLAB_CACHE")
        found: dict[str, Any] = {
            "binary_env": environ.get("OPENCODE_TEST_BINARY") or None,
            "version": environ.get("GUARDLAB_OPENCODE_VERSION") or PINNED_VERSION,
            "cache_dir": Path(cache) if cache else _default_cache(),
        }
        given = {name: value for name, value in overrides.items() if value is not None}
        return cls(**found | given)
