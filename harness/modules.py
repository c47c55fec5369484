"""Which files a plugin's entry reaches by its imports, read from the text; nothing is run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Reach", "reach"]

# Static and dynamic imports, re-exports and require, with a literal specifier.
SPECIFIER = re.compile(r"""(?:\bfrom|\bimport|\brequire)\s*\(?\s*["']([^"'\n]+)["']""")
SUFFIXES = ("", ".ts", ".mts", ".tsx", ".js", ".mjs", ".cjs", ".jsx", ".json")
READABLE = frozenset(SUFFIXES[1:-1])


@dataclass(frozen=True, slots=True)
class Reach:
    """What an entry reaches.

    Fields: `files` the entry and every file that relative imports lead to; `absolute` the specifiers that name a file
    of this machine by its whole path: such a module cannot be copied, so its state is shared by all that import it.
    """

    files: tuple[Path, ...]
    absolute: tuple[str, ...]


def reach(entry: Path) -> Reach:
    """Follow the relative imports of a JavaScript or TypeScript file. A specifier that leads nowhere is left out."""
    seen: dict[Path, None] = {entry: None}
    absolute: list[str] = []
    waiting = [entry]
    while waiting:
        file = waiting.pop()
        if file.suffix not in READABLE:
            continue
        for specifier in SPECIFIER.findall(file.read_text(encoding="utf-8", errors="replace")):
            if specifier.startswith(("/", "file:")):
                absolute.append(specifier)
            found = _resolve(file.parent, specifier) if specifier.startswith(".") else None
            if found and found not in seen:
                seen[found] = None
                waiting.append(found)
    return Reach(tuple(seen), tuple(absolute))


def _resolve(folder: Path, specifier: str) -> Path | None:
    """Find the file as Bun does: as it stands, with a suffix, `.js` written for `.ts`, or a folder's index."""
    target = (folder / specifier).resolve()
    tries = [target.with_name(target.name + suffix) for suffix in SUFFIXES]
    if target.suffix in (".js", ".mjs"):
        tries.append(target.with_suffix(target.suffix.replace("js", "ts")))
    tries += [target / f"index{suffix}" for suffix in SUFFIXES[1:]]
    return next((path for path in tries if path.is_file()), None)
