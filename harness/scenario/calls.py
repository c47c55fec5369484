"""The calls of OpenCode's API that a guard can make, by the names that the probe gives them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CALLS", "meant_call"]

# What has its own name by method or place; a test asks the probe (probe/calls.mjs) for the name of each.
_SESSION = {
    "session.list": ("GET", "/session"),
    "session.create": ("POST", "/session"),
    "session.status": ("GET", "/session/status"),
    "session.get": ("GET", "/session/ses_1"),
    "session.update": ("PATCH", "/session/ses_1"),
    "session.delete": ("DELETE", "/session/ses_1"),
    "session.prompt": ("POST", "/session/ses_1/message"),
    "session.messages": ("GET", "/session/ses_1/message"),
    "permission.reply": ("POST", "/session/ses_1/permissions/per_1"),
    "api.session.permission": ("POST", "/api/session/ses_1/permission"),
    "api.session.permission.reply": ("POST", "/api/session/ses_1/permission/per_1/reply"),
    **{f"session.{verb}": ("GET", f"/session/ses_1/{verb}") for verb in ("children", "diff", "todo")},
    **{
        f"session.{verb}": ("POST", f"/session/ses_1/{verb}")
        for verb in (
            "abort", "command", "fork", "init", "prompt_async", "revert", "share", "shell", "summarize", "unrevert",
        )
    },
}  # fmt: skip

_ASKED = (
    "agent", "command", "config", "config.providers", "event", "file", "file.content", "file.status", "find",
    "find.file", "find.symbol", "formatter", "lsp", "mcp", "path", "permission", "project", "project.current",
    "provider", "provider.auth", "question", "skill", "vcs", "vcs.diff", "vcs.diff.raw", "vcs.status",
)  # fmt: skip
_SENT = (
    "instance.dispose", "log", "tui.append-prompt", "tui.clear-prompt", "tui.execute-command", "tui.open-help",
    "tui.open-models", "tui.open-sessions", "tui.open-themes", "tui.publish", "tui.select-session", "tui.show-toast",
    "tui.submit-prompt", "vcs.apply",
)  # fmt: skip

CALLS: Mapping[str, tuple[str, str]] = {
    **_SESSION,
    **{name: ("GET", f"/{name.replace('.', '/')}") for name in _ASKED},
    **{name: ("POST", f"/{name.replace('.', '/')}") for name in _SENT},
}
"""Name -> method and path of a call that has it. Of sessions and permissions these are all; other paths make more."""

_ALL_KNOWN = ("session.", "permission.")
_OTHER = "api."  # OpenCode's second API, whose names are like those of the first
_NEAR = 0.8


def meant_call(name: str) -> str | None:
    """Say what must have been meant by a name that no call has; None when it may be one."""
    if name in CALLS or name.startswith(_OTHER):
        return None
    near = get_close_matches(name, CALLS, n=1, cutoff=_NEAR)
    if near:
        return f"did you mean '{near[0]}'?"
    group = next((start for start in _ALL_KNOWN if name.startswith(start)), None)
    return group and f"known are: {', '.join(sorted(call for call in CALLS if call.startswith(group)))}"
