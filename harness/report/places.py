"""Names files as a reader finds them."""

from __future__ import annotations

from pathlib import Path

__all__ = ["shown"]


def shown(path: Path, base: Path | None = None) -> str:
    """Name a path relative to `base` (the current folder, if None) where it lies below, else as it is given.

    Slashes part folders on every system: editors follow both, and GitHub attaches its marks to nothing else.
    """
    here = base or Path.cwd()
    whole = path.absolute()
    return (whole.relative_to(here) if whole.is_relative_to(here) else path).as_posix()
