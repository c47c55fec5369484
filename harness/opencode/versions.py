"""The versions of the programs that the lab is built against, and how a version is read from a program's output."""

from __future__ import annotations

import re

__all__ = ["OLDEST_VERSION", "PINNED_VERSION", "RIPGREP_VERSION", "read_version"]

PINNED_VERSION = "1.18.33"
"""The OpenCode that opencode-facts.md was written from."""

OLDEST_VERSION = "1.18.3"
"""The oldest OpenCode that the lab is meant for: the first 1.18 in the npm registry."""

RIPGREP_VERSION = "1.18.0"
"""The version of the npm packages `@vscode/ripgrep-<os>-<arch>`, not of ripgrep itself."""

_VERSION = re.compile(r"\A\s*(?:ripgrep\s+)?v?(\d+\.\d+\.\d+(?:[-+.][\w.+-]+)?)\b")


def read_version(output: str) -> str | None:
    """Return the version at the start of a program's `--version` output, or None.

    OpenCode prints the bare version; ripgrep prints its name first.
    """
    found = _VERSION.match(output)
    return found.group(1) if found else None
