from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
from pathlib import Path

import pytest

from harness.opencode import asking, doctor
from harness.opencode.doctor import Check, examine
from harness.process.platform import Machine, System
from harness.settings import Settings

pytestmark = pytest.mark.skipif(os.name != "posix", reason="its programs are scripts")
LINUX = System("linux", "x64")
WSL = System("linux", "x64", wsl=True)
NAMES = ["system", "loopback", "git", "shell", "npm", "opencode", "version", "ripgrep"]


class Clinic:
    """A machine on which everything is there, until a test breaks something."""

    def __init__(self, folder):
        self.programs = folder / "programs"
        self.settings = Settings(cache_dir=folder / "cache", runs_dir=folder / "runs")
        self.put("git", "echo git version 2.43.0")
        self.put("npm", "echo 10.8.2")
        self.put("opencode", "echo 1.18.33")
        self.put("rg", "echo ripgrep 14.1.0")
        self.put("bash", f'exec {shutil.which("bash")} "$@"')

    def put(self, name, text):
        self.programs.mkdir(exist_ok=True)
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def take(self, name):
        (self.programs / name).unlink()

    def wrong(self, system=LINUX):
        return [check for check in examine(self.settings, system) if not check.ok]


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    made = Clinic(tmp_path)
    # npm is a stand-in that can't install, so OpenCode and ripgrep come from the PATH
    monkeypatch.setenv("PATH", str(made.programs))
    return made


def test_a_sound_machine(clinic):
    checks = examine(clinic.settings, LINUX)
    assert [check.name for check in checks] == NAMES
    assert [check for check in checks if not check.ok or check.mend] == []
    what = {check.name: check.what for check in checks}
    assert what["system"] == "linux x64"
    assert what["loopback"] == "127.0.0.1 can be reached"
    assert what["git"] == f"git version 2.43.0, {clinic.programs}/git"
    assert what["shell"].endswith(f", {clinic.programs}/bash")
    assert what["npm"] == f"npm 10.8.2, {clinic.programs}/npm"
    assert what["opencode"].startswith(f"OpenCode 1.18.33, {clinic.programs}/opencode (from the PATH, because ")
    assert what["version"] == "1.18.33, which the lab was built with"
    assert what["ripgrep"] == f"{clinic.programs}/rg"


def test_no_opencode(clinic):
    clinic.take("opencode")
    clinic.take("npm")
    broken = {check.name: check for check in clinic.wrong()}
    assert list(broken) == ["npm", "opencode", "version"]
    assert broken["opencode"] == Check(
        "opencode",
        ok=False,
        what="there is no opencode on the PATH, and npm gave none: npm was not found on the PATH",
        mend=(
            "Name one with --opencode-binary PATH, the variable OPENCODE_TEST_BINARY or the ini option "
            "opencode_binary; or install npm, so that guardlab can fetch one; or put `opencode` on the PATH."
        ),
    )
    assert broken["version"] == Check(
        "version", ok=False, what="unknown, as there is no OpenCode", mend="Mend OpenCode first."
    )


def test_no_ripgrep(clinic):
    clinic.take("rg")
    clinic.take("npm")
    broken = {check.name: check for check in clinic.wrong()}
    assert list(broken) == ["npm", "ripgrep"]
    assert broken["ripgrep"] == Check(
        "ripgrep",
        ok=False,
        what="there is no rg on the PATH, and npm gave none: npm was not found on the PATH",
        mend="Install ripgrep, or install npm, so that guardlab can fetch it.",
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (None, "not found on the PATH"),
        ("echo git version 2.27.1", "{git} is too old: git version 2.27.1"),
        ("echo xcrun: error >&2; exit 1", "`{git} --version` ended with exit code 1 and printed: xcrun: error"),
        ("true", "`{git} --version` printed: nothing"),
    ],
)
def test_git(clinic, text, what):
    clinic.take("git")
    if text:
        clinic.put("git", text)
    assert clinic.wrong() == [
        Check(
            "git",
            ok=False,
            what=what.format(git=clinic.programs / "git"),
            mend="Install git 2.28 or newer and put it on the PATH.",
        )
    ]


@pytest.mark.parametrize("version", ["git version 2.28.0", "git version 3.0.0", "git version 2.39.3 (Apple Git-146)"])
def test_a_git_that_is_new_enough(clinic, version):
    clinic.put("git", f"echo '{version}'")
    assert clinic.wrong() == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (None, "no bash was found"),
        ("exit 0", "{bash} does not run commands: asked to print its version, it printed nothing"),
        ("echo hello", "{bash} does not run commands: asked to print its version, it printed hello"),
        ("exit 5", "`{bash} -c {question}` ended with exit code 5 and printed: nothing"),
    ],
)
def test_the_shell(clinic, text, what):
    clinic.take("bash")
    if text:
        clinic.put("bash", text)
    what = what.format(bash=clinic.programs / "bash", question='printf %s "guardlab $BASH_VERSION"')
    mend = "Install bash (on Windows: Git for Windows, whose bash stands beside git)."
    assert clinic.wrong() == [Check("shell", ok=False, what=what, mend=mend)]


def test_a_shell_that_hangs(clinic, monkeypatch):
    monkeypatch.setattr(asking, "_DEADLINE", 0.3)
    clinic.put("bash", "exec sleep 60")
    assert doctor.check_shell(LINUX).what == (
        f'`{clinic.programs}/bash -c printf %s "guardlab $BASH_VERSION"` did not end within 0.3 s'
    )


def test_npm_is_missing_and_needed(clinic):
    clinic.take("npm")
    clinic.take("rg")
    assert clinic.wrong()[0] == Check(
        "npm",
        ok=False,
        what="not found on the PATH",
        mend="Install Node.js with npm: it fetches OpenCode and ripgrep.",
    )


def test_npm_without_node_is_needed(clinic):
    clinic.put("npm", "echo 'env: node: No such file or directory' >&2; exit 127")
    clinic.take("rg")
    assert clinic.wrong()[0].what == (
        f"`{clinic.programs}/npm --version` ended with exit code 127 and printed: env: node: No such file or directory"
    )


def test_npm_is_missing_and_not_needed(clinic):
    clinic.take("npm")
    assert clinic.wrong() == []
    (npm,) = [check for check in examine(clinic.settings, LINUX) if check.name == "npm"]
    assert npm.what == "not found on the PATH; not needed, as OpenCode and ripgrep are there"


def test_no_loopback(clinic, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", refuse)
    assert clinic.wrong() == [
        Check(
            "loopback",
            ok=False,
            what="127.0.0.1 can't be reached: Network is unreachable",
            mend="Bring the loopback interface up (Linux: `ip link set lo up`) and let local firewalls pass 127.0.0.1.",
        )
    ]


@pytest.mark.parametrize("version", ["1.18.2", "1.9.40", "0.20.0"])
def test_an_opencode_that_is_too_old(clinic, version):
    clinic.put("opencode", f"echo {version}")
    assert clinic.wrong() == [
        Check(
            "version",
            ok=False,
            what=f"OpenCode {version} is older than 1.18.3, the oldest that the lab knows",
            mend=(
                "Take OpenCode 1.18.33, the default: leave away the options --opencode-binary and "
                "--opencode-version and the variables OPENCODE_TEST_BINARY and GUARDLAB_OPENCODE_VERSION."
            ),
        )
    ]


@pytest.mark.parametrize("version", ["1.18.3", "1.19.0-beta.2", "2.0.0"])
def test_an_opencode_of_another_version(clinic, version):
    clinic.put("opencode", f"echo {version}")
    assert clinic.wrong() == []
    (check,) = [check for check in examine(clinic.settings, LINUX) if check.name == "version"]
    assert check.what == f"{version}; the lab was built with 1.18.33"


def test_a_temporary_folder_on_a_windows_drive_in_wsl(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/mnt/c/Temp")
    check = doctor.check_system(WSL)
    assert (check.name, check.ok) == ("system", False)
    assert re.fullmatch(
        r"linux x64 inside WSL: the workspace /mnt/c/Temp/guardlab-\S+/workspace lies on a Windows drive seen from WSL",
        check.what,
    )
    assert check.mend.endswith("Set the variable TMPDIR to a folder in the Linux file system, such as /tmp.")


def test_a_project_on_a_windows_drive_in_wsl_is_well(clinic):
    clinic.settings = Settings(cache_dir=clinic.settings.cache_dir, runs_dir=Path("/mnt/c/project/.guardlab"))
    assert clinic.wrong(WSL) == []


def test_a_temporary_folder_with_a_long_path_on_windows(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/" + "x" * 110)
    check = doctor.check_system(System("windows", "x64"))
    assert (check.ok, check.mend) == (False, "Set the variable TMPDIR to a folder with a shorter path.")


def test_a_wanted_version_that_a_given_path_wins_over(clinic):
    path = clinic.programs / "opencode"
    clinic.settings = Settings(cache_dir=clinic.settings.cache_dir, binary_env=str(path), version="latest")
    (check,) = [check for check in examine(clinic.settings, LINUX) if check.name == "opencode"]
    assert check.what == (
        f"OpenCode 1.18.33, {path} (given by OPENCODE_TEST_BINARY; it wins over the wanted version latest)"
    )


def test_a_machine_that_opencode_is_not_built_for(clinic, monkeypatch):
    monkeypatch.setattr(
        Machine, "read", lambda: Machine("FreeBSD", "amd64", "14", libc="", musl_loader=False, avx2=True)
    )
    assert clinic.wrong(None) == [
        Check(
            "system",
            ok=False,
            what=(
                "OpenCode has no binary for this machine: FreeBSD on amd64; "
                "wanted Linux, macOS or Windows on x64 or arm64"
            ),
            mend="Use another machine.",
        )
    ]


def test_every_check_is_named():
    assert len(NAMES) == len([name for name in vars(doctor) if name.startswith("check_")])
