from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.errors import SetupError
from harness.process import platform
from harness.process.platform import Machine, System

pytestmark = pytest.mark.skipif(os.name != "posix", reason="simulates every system with the paths of POSIX")
LINUX = System("linux", "x64")
WSL = System("linux", "x64", wsl=True)
WINDOWS = System("windows", "x64")
MAC = System("darwin", "arm64")


def machine(system="Linux", architecture="x86_64", release="6.1", libc="glibc", *, musl_loader=False, avx2=True):
    return Machine(system, architecture, release, libc, musl_loader, avx2)


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("told", "package", "ripgrep"),
    [
        (machine(), "opencode-linux-x64", "@vscode/ripgrep-linux-x64"),
        (machine(avx2=False), "opencode-linux-x64-baseline", "@vscode/ripgrep-linux-x64"),
        (machine(libc="", musl_loader=True), "opencode-linux-x64-musl", "@vscode/ripgrep-linux-x64"),
        (machine(libc="musl"), "opencode-linux-x64-musl", "@vscode/ripgrep-linux-x64"),
        (machine(libc="musl", avx2=False), "opencode-linux-x64-baseline-musl", "@vscode/ripgrep-linux-x64"),
        (machine(libc="", musl_loader=False), "opencode-linux-x64", "@vscode/ripgrep-linux-x64"),
        (machine(libc="glibc", musl_loader=True), "opencode-linux-x64", "@vscode/ripgrep-linux-x64"),
        (machine(architecture="aarch64", avx2=False), "opencode-linux-arm64", "@vscode/ripgrep-linux-arm64"),
        (
            machine(architecture="aarch64", libc="musl", avx2=False),
            "opencode-linux-arm64-musl",
            "@vscode/ripgrep-linux-arm64",
        ),
        (machine("Darwin", "arm64", libc="", avx2=False), "opencode-darwin-arm64", "@vscode/ripgrep-darwin-arm64"),
        (machine("Darwin", libc="", avx2=False), "opencode-darwin-x64-baseline", "@vscode/ripgrep-darwin-x64"),
        (machine("Windows", "AMD64", libc=""), "opencode-windows-x64", "@vscode/ripgrep-win32-x64"),
        (machine("Windows", "ARM64", libc="", avx2=False), "opencode-windows-arm64", "@vscode/ripgrep-win32-arm64"),
        (machine(release="5.15.90.1-microsoft-standard-WSL2"), "opencode-linux-x64", "@vscode/ripgrep-linux-x64"),
    ],
)
def test_packages_of_a_system(told, package, ripgrep):
    system = System.detect(told)
    assert (system.opencode_package, system.ripgrep_package) == (package, ripgrep)


@pytest.mark.parametrize(
    ("told", "wsl"),
    [
        (machine(release="5.15.90.1-microsoft-standard-WSL2"), True),
        (machine(release="4.4.0-19041-Microsoft"), True),
        (machine(), False),
        (machine("Windows", "AMD64", release="10-microsoft"), False),
    ],
)
def test_wsl_is_told_by_the_release_of_the_kernel(told, wsl):
    assert System.detect(told).wsl is wsl


@pytest.mark.parametrize(("system", "architecture"), [("Linux", "riscv64"), ("FreeBSD", "x86_64")])
def test_a_machine_without_a_binary_is_refused(system, architecture):
    with pytest.raises(SetupError) as caught:
        System.detect(machine(system, architecture))
    assert str(caught.value) == (
        f"OpenCode has no binary for this machine: {system} on {architecture}; "
        "wanted Linux, macOS or Windows on x64 or arm64"
    )


def test_this_machine_is_known():
    assert System.detect().posix is (os.name == "posix")


@pytest.mark.parametrize(("system", "name"), [(LINUX, "rg"), (MAC, "rg"), (WINDOWS, "rg.exe")])
def test_file_name_of_a_program(system, name):
    assert system.executable("rg") == name


@pytest.fixture
def drive(tmp_path, monkeypatch):
    """A folder that stands in for the Windows drive of WSL."""
    folder = tmp_path.resolve() / "mnt" / "c"
    folder.mkdir(parents=True)
    monkeypatch.setattr(platform, "_WINDOWS_DRIVE", re.compile(rf"{re.escape(str(folder))}(/|\Z)"))
    return folder


@pytest.mark.parametrize(
    ("system", "path", "windows"),
    [
        (WSL, "/mnt/c/tools/opencode", True),
        (WSL, "/mnt/c", True),
        (WSL, "/mnt/wsl/shared/opencode", False),
        (WSL, "/mnt/data/opencode", False),
        (WSL, "/home/u/opencode.exe", False),
        (LINUX, "/mnt/c/tools/opencode", False),
    ],
)
def test_a_program_that_cannot_be_read_is_told_by_its_drive(system, path, windows):
    assert system.is_windows_program(Path(path)) is windows


@pytest.mark.parametrize(
    ("start", "in_the_home", "on_the_drive"),
    [(b"\x7fELF\x02", False, False), (b"MZ\x90\x00", True, True), (b"#!/bin/sh\n", False, True), (b"", False, True)],
)
def test_a_program_of_windows_is_told_by_its_first_bytes_through_links_too(
    tmp_path, drive, start, in_the_home, on_the_drive
):
    for place, windows in ((tmp_path / "home" / "opencode.exe", in_the_home), (drive / "opencode", on_the_drive)):
        program(place).write_bytes(start)
        link = tmp_path / f"link-to-{place.name}"
        link.symlink_to(place)
        assert [WSL.is_windows_program(path) for path in (place, link)] == [windows, windows]
        assert not LINUX.is_windows_program(link)


def test_wsl_passes_over_the_programs_of_windows(tmp_path, drive):
    linux = program(tmp_path / "usr" / "npm")
    windows = program(drive / "nodejs" / "npm")
    links = tmp_path / "links"
    links.mkdir()
    (links / "npm").symlink_to(windows)
    before = [str(windows.parent), str(links)]
    assert WSL.find("npm", os.pathsep.join([*before, "", str(linux.parent)])) == linux
    assert WSL.find("npm", os.pathsep.join(before)) is None
    assert LINUX.find("npm", os.pathsep.join(before)) == windows


def test_find_looks_on_the_path_of_the_caller(tmp_path, monkeypatch):
    there = program(tmp_path / "npm")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert LINUX.find("npm") == there
    assert LINUX.find("nothing") is None


def test_a_workspace_on_a_windows_drive_is_refused_in_wsl_through_links_too(tmp_path, drive):
    link = tmp_path / "link"
    link.symlink_to(drive)
    for folder in (drive / "work", link / "work"):
        with pytest.raises(SetupError) as caught:
            WSL.check_workspace(folder)
        assert str(caught.value) == (
            f"the workspace {folder} lies on a Windows drive seen from WSL\n"
            "File modes, links and file times do not hold there and every git call takes a multiple of the time. "
            "Set the variable TMPDIR to a folder in the Linux file system, such as /tmp."
        )
        LINUX.check_workspace(folder)


def test_a_long_workspace_path_is_refused_on_windows_only():
    folder = Path("/" + "x" * 150)
    with pytest.raises(SetupError, match="has a path of 151 characters; wanted at most 150 on Windows"):
        WINDOWS.check_workspace(folder)
    LINUX.check_workspace(folder)
    WINDOWS.check_workspace(Path("/" + "x" * 149))


@pytest.mark.parametrize("git", ["cmd/git", "bin/git", "mingw64/bin/git"])
def test_the_shell_of_windows_is_the_bash_beside_git(tmp_path, monkeypatch, git):
    place = program(tmp_path / "Git" / git)
    bash = program(tmp_path / "Git" / "bin" / "bash.exe")
    monkeypatch.setenv("PATH", str(place.parent))
    assert WINDOWS.shell() == bash


def test_windows_without_git_has_no_shell(tmp_path, monkeypatch):
    program(tmp_path / "bash")  # the door to WSL in System32
    monkeypatch.setenv("PATH", str(tmp_path))
    assert WINDOWS.shell() is None
    assert LINUX.shell() == tmp_path / "bash"


def test_a_command_line_can_be_pasted_into_a_terminal():
    words, variables = ["/a b/opencode", "attach", "it's"], {"PASSWORD": "p'w"}
    assert LINUX.command_line(words, variables) == """PASSWORD='p'"'"'w' '/a b/opencode' attach 'it'"'"'s'"""
    assert WINDOWS.command_line(words, variables) == "$env:PASSWORD = 'p''w'; & '/a b/opencode' 'attach' 'it''s'"


def test_a_child_gets_a_group_of_its_own():
    assert LINUX.spawn_options() == {"start_new_session": True}
    assert WINDOWS.spawn_options() == {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200)}


def test_home_variables_of_posix():
    assert MAC.home_variables(Path("/h"), Path("/t"), {"USER": "me", "HOME": "/me"}) == {"HOME": "/h", "TMPDIR": "/t"}


@pytest.mark.parametrize("system", [LINUX, WINDOWS])
def test_a_link_to_a_folder(system, tmp_path):
    system.link_folder(tmp_path / "link", tmp_path)
    assert (tmp_path / "link").readlink() == tmp_path


def test_without_the_privilege_windows_makes_a_junction(tmp_path, monkeypatch):
    def symlink(*_given, **_options):
        raise OSError(22, "A required privilege is not held by the client")

    made = []
    monkeypatch.setattr(Path, "symlink_to", symlink)
    monkeypatch.setitem(sys.modules, "_winapi", SimpleNamespace(CreateJunction=lambda *given: made.append(given)))
    WINDOWS.link_folder(tmp_path / "link", tmp_path)
    assert made == [(str(tmp_path), str(tmp_path / "link"))]
    with pytest.raises(OSError, match="privilege"):
        LINUX.link_folder(tmp_path / "other", tmp_path)


def test_home_variables_of_windows():
    caller = {"SYSTEMROOT": r"C:\Windows", "comspec": r"C:\Windows\cmd.exe", "USERPROFILE": r"C:\me", "SECRET": "x"}
    home, temporary = Path("home"), Path("tmp")
    assert WINDOWS.home_variables(home, temporary, caller) == {
        "SystemRoot": r"C:\Windows",
        "ComSpec": r"C:\Windows\cmd.exe",
        "HOME": "home",
        "USERPROFILE": "home",
        "HOMEDRIVE": "",
        "HOMEPATH": "home",
        "APPDATA": str(home / "AppData" / "Roaming"),
        "LOCALAPPDATA": str(home / "AppData" / "Local"),
        "TEMP": "tmp",
        "TMP": "tmp",
    }


def test_the_search_path_holds_only_what_is_needed():
    path = LINUX.search_path([Path("/cache/rg"), Path("/usr/bin/git"), Path("/cache/other")], {"PATH": "/home/u/bin"})
    assert path.split(os.pathsep) == ["/cache", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]


def test_the_search_path_of_windows():
    path = WINDOWS.search_path([Path("cache/rg.exe")], {"SystemRoot": "root"})
    assert path.split(os.pathsep) == ["cache", str(Path("root/System32")), "root"]
