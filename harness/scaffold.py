"""Writes the first files of a folder of scenarios from templates; nothing that is there is ever overwritten."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import StrictUndefined, Template

from harness.errors import SetupError
from harness.scenario import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WORKFLOW", "scaffold"]

WORKFLOW = Path(".github/workflows/guardlab.yml")


def scaffold(folder: Path, name: str, *, guard: Path | None = None, ci: bool = False) -> list[Path]:
    """Write a scenario below `folder`, with `ci` a workflow too, and give the paths; the scenario comes first.

    `name` becomes `scenarios/NAME.scenario.yaml`; a name with that suffix is a path. `guard` is a plugin by its path;
    without one the scenario is about infinity. Raises SetupError when a file is there already or the guard is not;
    then nothing is written.
    """
    target = folder / (name if name.endswith(SUFFIX) else Path("scenarios", f"{name}{SUFFIX}"))
    texts = {target: _render("scenario.yaml.jinja", {"guard": guard and _seen_from(target.parent, guard)})}
    if ci:
        where = target.parent.relative_to(folder).as_posix()
        built = guard is not None and (folder / "package.json").is_file()
        texts[folder / WORKFLOW] = _render("workflow.yml.jinja", {"scenarios": where, "built": built})
    there = [path for path in texts if path.exists()]
    if there:
        raise SetupError(
            f"{' and '.join(map(str, there))} exists already; nothing was written",
            "Choose another name: guardlab new NAME" if target in there else "Leave --ci away.",
        )
    for path, text in texts.items():
        _write(path, text)
    return list(texts)


def _seen_from(folder: Path, guard: Path) -> str:
    """Give the guard's path as the scenario file needs it: relative to its own folder."""
    if not guard.exists():
        raise SetupError(
            f"--guard: {guard} does not exist", "Give the folder of its package, or its file. Is it built?"
        )
    try:
        return Path(os.path.relpath(guard.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on Windows nothing leads from one drive to another
        return guard.resolve().as_posix()


def _render(template: str, values: Mapping[str, object]) -> str:
    text = files("harness").joinpath("templates", template).read_text(encoding="utf-8")
    made = Template(text, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined)
    return str(made.render(values))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror or error}") from error
