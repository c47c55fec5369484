"""What a scenario finds on disk: workspace, recording shell, guards. It can be laid out while another one runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.guards import Installed, install
from harness.opencode.shell import RecordingShell
from harness.opencode.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.opencode.isolation import Home
    from harness.scenario.model import Scenario

__all__ = ["Props", "lay_out"]


@dataclass(frozen=True, slots=True)
class Props:
    """The folders of one scenario.

    Fields: `folder` holds all of them; `base` the workspace's files and their hashes before the first prompt.
    """

    folder: Path
    workspace: Workspace
    shell: RecordingShell
    guards: tuple[Installed, ...]
    base: Mapping[str, str]


def lay_out(scenario: Scenario, folder: Path, home: Home, version: str) -> Props:
    """Make everything below `folder`, which must not exist yet; `home` lends its git and its shell.

    Raises SetupError when a guard or a file of the workspace cannot be put in place.
    """
    folder.mkdir()
    files = scenario.head.workspace
    workspace = Workspace.create(folder / "workspace", files.files, files.changes, home=home, version=version)
    shell = RecordingShell.create(folder / "shell", home.shell)
    guards = tuple(install(use, folder / f"guard-{n}", workspace.root) for n, use in enumerate(scenario.guards, 1))
    return Props(folder, workspace, shell, guards, workspace.contents())
