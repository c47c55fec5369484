"""Looks at everything that a run needs from the machine, and says what is wrong and how to mend it."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import SetupError
from harness.opencode.asking import ask
from harness.opencode.binary import resolve, ripgrep
from harness.opencode.versions import OLDEST_VERSION, PINNED_VERSION
from harness.process.platform import System

if TYPE_CHECKING:
    from harness.opencode.binary import Binary
    from harness.settings import Settings

__all__ = ["Check", "examine"]

_WORKSPACE = "guardlab-012345678901-01234567/run-100/workspace"  # a name as long as they have, for Windows
_LOOPBACK_DEADLINE = 2.0  # seconds
_OLDEST_GIT = (2, 28)  # `git init --initial-branch`


class Check(NamedTuple):
    """What one check found.

    name: what was looked at. ok: whether a run can work with it. what: what was found. mend: what to do; empty when ok.
    """

    name: str
    ok: bool
    what: str
    mend: str = ""


def examine(settings: Settings, system: System | None = None) -> list[Check]:
    """Make every check and return them, in the order in which they should be mended.

    OpenCode and ripgrep are looked for as a run would do it, so what is missing is installed if npm can do it.
    """
    try:
        here = system or System.detect()
    except SetupError as error:
        return [Check("system", ok=False, what=error.message, mend="Use another machine.")]
    opencode, binary = check_opencode(settings, here)
    search = check_ripgrep(settings, here)
    return [
        check_system(here),
        check_loopback(),
        check_git(here),
        check_shell(here),
        check_npm(here, needed=not (opencode.ok and search.ok)),
        opencode,
        check_version(binary),
        search,
    ]


def check_system(system: System) -> Check:
    """Whether scenarios can have their workspaces where they would be made."""
    kind = f"{system.name} {system.arch}{' musl' if system.musl else ''}{' inside WSL' if system.wsl else ''}"
    try:
        system.check_workspace(Path(tempfile.gettempdir()).resolve() / _WORKSPACE)
    except SetupError as error:
        return Check("system", ok=False, what=f"{kind}: {error.message}", mend=error.hint)
    return Check("system", ok=True, what=kind)


def check_loopback() -> Check:
    """Whether a program can reach another one on 127.0.0.1."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()[:2]
            with socket.create_connection(address, timeout=_LOOPBACK_DEADLINE):
                pass
    except OSError as error:
        return Check(
            "loopback",
            ok=False,
            what=f"127.0.0.1 can't be reached: {error.strerror or error}",
            mend="Bring the loopback interface up (Linux: `ip link set lo up`) and let local firewalls pass 127.0.0.1.",
        )
    return Check("loopback", ok=True, what="127.0.0.1 can be reached")


def check_git(system: System) -> Check:
    """Whether git runs and is new enough."""
    mend = f"Install git {'.'.join(map(str, _OLDEST_GIT))} or newer and put it on the PATH."
    git = system.find("git")
    if git is None:
        return Check("git", ok=False, what="not found on the PATH", mend=mend)
    said, trouble = ask(system, git, "--version")
    version = re.search(r"(\d+)\.(\d+)", said)
    if trouble or version is None:
        return Check("git", ok=False, what=trouble or f"`{git} --version` printed: {said or 'nothing'}", mend=mend)
    if (int(version[1]), int(version[2])) < _OLDEST_GIT:
        return Check("git", ok=False, what=f"{git} is too old: {said}", mend=mend)
    return Check("git", ok=True, what=f"{said}, {git}")


def check_shell(system: System) -> Check:
    """Whether the bash for scripted commands really runs: a stub that prints nothing and exits with 0 is no shell."""
    mend = "Install bash (on Windows: Git for Windows, whose bash stands beside git)."
    shell = system.shell()
    if shell is None:
        return Check("shell", ok=False, what="no bash was found", mend=mend)
    said, trouble = ask(system, shell, "-c", 'printf %s "guardlab $BASH_VERSION"')
    if trouble or not said.startswith("guardlab "):
        what = trouble or f"{shell} does not run commands: asked to print its version, it printed {said or 'nothing'}"
        return Check("shell", ok=False, what=what, mend=mend)
    return Check("shell", ok=True, what=f"bash {said.removeprefix('guardlab ')}, {shell}")


def check_npm(system: System, *, needed: bool) -> Check:
    """Whether npm runs. It is `needed` only as long as OpenCode or ripgrep is missing."""
    npm = system.find("npm")
    said, trouble = "", "not found on the PATH"
    if npm is not None:
        said, trouble = ask(system, npm, "--version", environment=os.environ)  # as the installer calls it
    if not trouble:
        return Check("npm", ok=True, what=f"npm {said}, {npm}")
    if not needed:
        return Check("npm", ok=True, what=f"{trouble}; not needed, as OpenCode and ripgrep are there")
    return Check("npm", ok=False, what=trouble, mend="Install Node.js with npm: it fetches OpenCode and ripgrep.")


def check_opencode(settings: Settings, system: System) -> tuple[Check, Binary | None]:
    """Whether there is an OpenCode that answers, and which."""
    try:
        binary = resolve(settings, system)
    except SetupError as error:
        return Check("opencode", ok=False, what=error.message, mend=error.hint), None
    return Check("opencode", ok=True, what=f"OpenCode {binary.version}, {binary.path} ({binary.why})"), binary


def check_version(binary: Binary | None) -> Check:
    """Whether the lab knows this version of OpenCode."""
    if binary is None:
        return Check("version", ok=False, what="unknown, as there is no OpenCode", mend="Mend OpenCode first.")
    numbers = [tuple(map(int, re.findall(r"\d+", version)[:3])) for version in (OLDEST_VERSION, binary.version)]
    if numbers[1] < numbers[0]:
        return Check(
            "version",
            ok=False,
            what=f"OpenCode {binary.version} is older than {OLDEST_VERSION}, the oldest that the lab knows",
            mend=(
                f"Take OpenCode {PINNED_VERSION}, the default: leave away the options --opencode-binary and "
                "--opencode-version and the variables OPENCODE_TEST_BINARY and GUARDLAB_OPENCODE_VERSION."
            ),
        )
    if binary.version == PINNED_VERSION:
        return Check("version", ok=True, what=f"{PINNED_VERSION}, which the lab was built with")
    return Check("version", ok=True, what=f"{binary.version}; the lab was built with {PINNED_VERSION}")


def check_ripgrep(settings: Settings, system: System) -> Check:
    """Whether there is a ripgrep that answers."""
    try:
        path = ripgrep(settings, system)
    except SetupError as error:
        return Check("ripgrep", ok=False, what=error.message, mend=error.hint)
    return Check("ripgrep", ok=True, what=str(path))
