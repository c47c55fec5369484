"""Who blocked a call: the texts by which guards speak to the model (DESIGN.md, table of words)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.expectations.views import Emission
    from harness.timeline import Record

__all__ = ["blocked_by", "missing_marker", "named_guards", "unknown_guard"]


def named_guards(record: Record, name: str | None) -> list[Mapping[str, Any]]:
    """Give the guards of the run: all, or the one of this name."""
    return [guard for guard in record.facts.get("guards", ()) if name is None or guard.get("name") == name]


def blocked_by(call: Emission, guards: Sequence[Mapping[str, Any]], says: str | None = None) -> bool:
    """Whether the call ended in an error whose text holds a marker of these guards, and `says` if given.

    A guard without a known marker is recognised by `says` alone. Markers are looked for as they stand: `[ANTI-LOOP]`
    is not in `[ANTI-LOOP STREAM]`, and `[DETECTOR ` is the beginning of every marker of anti-loop.
    """
    if call.status != "error" or (says is not None and says not in call.error):
        return False
    return any(guard["marker"] in call.error if guard.get("marker") else says is not None for guard in guards)


def unknown_guard(record: Record, name: str | None) -> str:
    """Say that the run had no guard of this name, with the names that it had; empty when it had."""
    if name is None or named_guards(record, name):
        return ""
    had = ", ".join(str(guard.get("name")) for guard in named_guards(record, None)) or "none"
    return f"the run had no guard named {name} (guards: {had})"


def missing_marker(guards: Sequence[Mapping[str, Any]]) -> str:
    """Say that the blocks of a guard cannot be told from other errors, and what to do; empty when they can."""
    without = next((guard for guard in guards if not guard.get("marker")), None)
    if without is None:
        return ""
    name, path = without.get("name"), without.get("path")
    return f"no marker is known for {name}: say guard: {{path: {path}, marker: TEXT}}, or give says: TEXT here"
