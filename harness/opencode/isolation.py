"""A home of its own for each OpenCode: nothing of the user's machine is read, and nothing leaves it."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.errors import SetupError
from harness.process.platform import System

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Home", "private_environment", "seed_config_folder"]

_GITCONFIG = """\
[user]
	name = guardlab
	email = guardlab@example.invalid
[init]
	defaultBranch = main
[core]
	autocrlf = false
	fsmonitor = false
	longpaths = true
[commit]
	gpgsign = false
[gc]
	auto = 0
[maintenance]
	auto = false
[safe]
	directory = *
"""

_SWITCHES = (  # opencode-facts.md F.3
    "OPENCODE_DISABLE_FFF",  # else every process leaves a library of 5.6 MB in TMPDIR
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_SHARE",
    "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER",
    "OPENCODE_DISABLE_AUTOCOMPACT",
)


def private_environment(
    root: Path, system: System, programs: list[Path], inherited: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return an environment, built up from nothing, whose home and temporary folder lie below `root`; both are made.

    `programs` are the programs whose folders belong on the PATH, besides those of the system.
    """
    caller = os.environ if inherited is None else inherited
    home, temporary = root / "home", root / "tmp"
    for folder in (home, temporary):
        folder.mkdir(parents=True, exist_ok=True)
    places = {f"XDG_{kind.upper()}_HOME": str(root / kind) for kind in ("config", "data", "state", "cache")}
    return {
        **system.home_variables(home, temporary, caller),
        **places,
        "PATH": system.search_path(programs, caller),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }


def seed_config_folder(folder: Path, version: str) -> None:
    """Make a config folder that OpenCode takes for installed, so that it does not fetch 95 MB from npm.

    `version` is OpenCode's: it looks for the plugin package of its own version (opencode-facts.md F.1).
    """
    (folder / "node_modules").mkdir(parents=True, exist_ok=True)
    wanted = {"dependencies": {"@opencode-ai/plugin": version}}
    lock = {"name": "opencode", "lockfileVersion": 3, "packages": {"": wanted}}
    (folder / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Home:
    """The hermetic home of one OpenCode process (opencode-facts.md F.3); it can be used again after a restart.

    root: the folder that holds everything. user, password: what the server asks for (HTTP basic authentication).
    shell: the real bash. git: the real git. system: the system that it is made for.
    """

    root: Path
    user: str
    password: str = field(repr=False)
    shell: Path
    git: Path
    system: System
    _environment: Mapping[str, str] = field(repr=False)

    @classmethod
    def create(cls, root: Path, version: str, ripgrep: Path, egress_url: str, *, system: System | None = None) -> Home:
        """Make the home below `root`, which must be absolute.

        version: OpenCode's version, for the seeded config folder. ripgrep: the `rg` that grep and glob need.
        egress_url: the address of the trap that every request to elsewhere goes to.
        Raises SetupError when git or bash is missing.
        """
        here = system or System.detect()
        git, shell = here.find("git"), here.shell()
        if git is None:
            raise SetupError("git was not found on the PATH", "Install git: every scenario runs in a git repository.")
        if shell is None:
            raise SetupError(
                "bash was not found", "Install bash (on Windows: Git for Windows): scripted commands run in it."
            )
        root.mkdir(parents=True, exist_ok=True)
        seed_config_folder(root / "config" / "opencode", version)
        (root / "managed").mkdir(exist_ok=True)
        (root / "models.json").write_text("{}", encoding="utf-8")
        (root / "gitconfig").write_text(_GITCONFIG, encoding="utf-8")
        user, password = "opencode", secrets.token_urlsafe(24)
        environment = {
            **private_environment(root, here, [ripgrep, git, shell]),
            **_opencode_variables(root, user, password),
            **_proxy_variables(egress_url),
            "SHELL": str(shell),
            "GIT_CONFIG_GLOBAL": str(root / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "npm_config_offline": "true",
        }
        return cls(root=root, user=user, password=password, shell=shell, git=git, system=here, _environment=environment)

    @property
    def log(self) -> Path:
        """OpenCode's own log; it exists once OpenCode has run (opencode-facts.md H)."""
        return self.root / "data" / "opencode" / "log" / "opencode.log"

    def environment(self) -> dict[str, str]:
        """Return the whole environment for OpenCode in this home; the caller's own variables are not in it."""
        return dict(self._environment)


def _opencode_variables(root: Path, user: str, password: str) -> dict[str, str]:
    return {
        **dict.fromkeys(_SWITCHES, "1"),
        "OPENCODE_TEST_HOME": str(root / "home"),
        "OPENCODE_TEST_MANAGED_CONFIG_DIR": str(root / "managed"),  # else the machine's /etc/opencode is merged last
        "OPENCODE_MODELS_PATH": str(root / "models.json"),
        "OPENCODE_AUTH_CONTENT": "{}",
        "OPENCODE_SERVER_USERNAME": user,
        "OPENCODE_SERVER_PASSWORD": password,
    }


def _proxy_variables(url: str) -> dict[str, str]:
    proxied = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost,::1")
    return {**dict.fromkeys((*proxied, *(name.lower() for name in proxied)), url), **direct}
