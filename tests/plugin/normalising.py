"""Takes out of a report what differs between two runs, so that a golden file can hold the rest."""

from __future__ import annotations

import re

CHANGING = (
    (r"\(\d of \d+ entries, (.*)\)\n(  #.*\n)+", r"(5 of N entries, \1)\n  ...\n"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"timestamp=\S+ level=(\w+) run=\w+", r"timestamp=TIME level=\1 run=ID"),
    (r"\(process \d+\)", "(process N)"),
    (r"ripgrep-linux-\w+", "ripgrep-SYSTEM"),
)


def normal(text, **places):
    """Replace times, ids, ports and the entries around the proof, and each path by its name in capitals."""
    for name, path in places.items():
        text = text.replace(str(path), name.upper())
    for pattern, replacement in CHANGING:
        text = re.sub(pattern, replacement, text)
    return text


def section(text, title):
    """Give what pytest printed under the underlined heading that begins with `title`, without the worker's name."""
    ends = r"^_{4,} |^={4,} |^-+ generated |^guardlab: "
    found = re.search(rf"^_+ {re.escape(title)}.*? _+\n(.*?)(?={ends})", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section {title} in:\n{text}"
    return re.sub(r"\A\[gw\d\] .*\n", "", found[1]).rstrip() + "\n"


def normal_entries(text):
    """Replace where in the timeline and when each entry stands."""
    placed = re.sub(r"^  #\d+ +[+-]\d+\.\d\ds ", "  #N +T ", text, flags=re.MULTILINE)
    return re.sub(r"of \d+ entries", "of N entries", placed)
