"""Finds the corpus, public loop incidents and healthy look-alikes: the wheel carries it, the checkout holds it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["named"]

NAME = "corpus"
FOLDERS = ("incidents", "healthy")


def named(path: Path) -> list[Path]:
    """Give what a path means: itself, or, where there is no such path, the parts of the corpus that it names.

    `corpus` is all of it, `corpus/incidents` a folder, and below that lie its files.
    """
    first, *rest = path.parts or ("",)
    if first != NAME or path.exists():
        return [path]
    chosen = [folder for folder in FOLDERS if rest[:1] in ([], [folder])]
    return [_root().joinpath(folder, *rest[1:]) for folder in chosen] or [path]


def _root() -> Path:
    carried = Path(str(files("harness"))) / "_corpus"
    return carried if carried.is_dir() else Path(__file__).parent.parent / "scenarios"
