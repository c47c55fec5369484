"""The opencode.json of one scenario's workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MODEL", "PACKAGES", "PROVIDER", "config_of"]

PROVIDER, MODEL = "test", "model"

PACKAGES: Mapping[str, str] = {
    "openai_chat": "@ai-sdk/openai-compatible",
    "openai_chat_whole": "@ai-sdk/mistral",
    "openai_responses": "@ai-sdk/openai",
    "anthropic_messages": "@ai-sdk/anthropic",
    "google_generate": "@ai-sdk/google",
}
"""What the fake model can speak -> OpenCode's bundled package that speaks it (opencode-facts.md J)."""

# opencode-facts.md F.3: nothing is shared, downloaded, formatted or recorded beside the session itself.
QUIET: Mapping[str, Any] = {
    "snapshot": False,
    "share": "disabled",
    "autoupdate": False,
    "lsp": False,
    "formatter": False,
}


class _Guard(Protocol):
    @property
    def spec(self) -> Any: ...
    @property
    def root(self) -> Path: ...


def config_of(
    *,
    base_url: str,
    package: str = PACKAGES["openai_chat"],
    shell: Path,
    probe: Any,
    guards: Sequence[_Guard],
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """Build the config: one provider that is the fake model, the recording shell, the probe first, then the guards.

    `probe` is the probe's plugin entry; `extra` (the scenario's `opencode.config`) is merged on top.
    """
    model = {"name": MODEL, "tool_call": True, "reasoning": True, "limit": {"context": 200_000, "output": 32_000}}
    provider = {
        "npm": package,
        "name": PROVIDER,
        "options": {"baseURL": base_url, "apiKey": "guardlab"},
        "models": {MODEL: model},
    }
    config = {
        **QUIET,
        "enabled_providers": [PROVIDER],
        "model": f"{PROVIDER}/{MODEL}",
        "small_model": f"{PROVIDER}/{MODEL}",
        "shell": str(shell),
        "provider": {PROVIDER: provider},
        "plugin": [probe, *(guard.spec for guard in guards)],
    }
    return merged(config, extra)


def merged(base: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `extra` over `base`, mapping by mapping; lists are appended to, since the probe comes first."""
    result = dict(base)
    for key, value in extra.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = merged(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            result[key] = [*old, *value]
        else:
            result[key] = value
    return result
