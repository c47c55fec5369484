"""Composes YAML text to PyYAML's nodes by the core schema of YAML 1.2, in Python on every system."""

from __future__ import annotations

import re

import yaml
from yaml.resolver import BaseResolver

__all__ = ["TAG", "Composer"]

TAG = "tag:yaml.org,2002:"


class _CoreResolver(BaseResolver):
    """The core schema of YAML 1.2: ``on``, ``No``, dates and ``12:30`` are text, unlike in YAML 1.1."""


for _name, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
):
    _CoreResolver.add_implicit_resolver(TAG + _name, re.compile(f"(?:{_pattern})$"), list(_first))


class Composer(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer, _CoreResolver):
    """PyYAML in Python up to the node tree: its marks and messages are the same on every system."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)
        _CoreResolver.__init__(self)
        self._in_plain = False

    def scan_plain(self) -> yaml.ScalarToken:
        """Read plain text; as in YAML 1.2, a question mark may stand in it between brackets too."""
        self._in_plain = True
        try:
            return super().scan_plain()
        finally:
            self._in_plain = False

    def peek(self, index: int = 0) -> str:
        """Look ahead. PyYAML ends plain text between brackets at `?`, so it is shown a letter in its place."""
        character: str = super().peek(index)
        return "x" if character == "?" and self._in_plain else character
