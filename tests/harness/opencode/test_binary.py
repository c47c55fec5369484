from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from filelock import FileLock

from harness.errors import SetupError
from harness.opencode import asking
from harness.opencode import npm as installer
from harness.opencode.binary import Binary, resolve, ripgrep
from harness.opencode.versions import RIPGREP_VERSION, read_version
from harness.process.platform import System
from harness.settings import Settings

pytestmark = pytest.mark.skipif(os.name != "posix", reason="its programs are scripts")
LINUX = System("linux", "x64")
WAYS_OUT = (
    "Name one with --opencode-binary PATH, the variable OPENCODE_TEST_BINARY or the ini option opencode_binary; "
    "or install npm, so that guardlab can fetch one; or put `opencode` on the PATH."
)
# A stand-in for npm. It writes down its arguments and installs a program that prints the version it was asked for;
# the file `mode` beside it says what goes wrong.
NPM = """#!{python}
import pathlib, sys, time
here = pathlib.Path(__file__).parent
with (here / "calls").open("a") as calls:
    print(*sys.argv[1:], file=calls)
mode = (here / "mode").read_text()
if mode == "fails":
    sys.exit("npm error code E404")
if sys.argv[1] == "view":
    print("nothing known" if mode == "nonsense" else "1.19.0")
    sys.exit()
package, _, version = sys.argv[-1].rpartition("@")
folder = pathlib.Path(sys.argv[3]) / "node_modules" / package / "bin"
folder.mkdir(parents=True)
if mode == "half":
    sys.exit()
if mode == "slow":
    time.sleep(0.5)
program = folder / ("opencode" if "opencode" in package else "rg")
said = dict(broken="Segmentation fault", other="9.9.9").get(mode, version)
program.write_text(f"#!/bin/sh\\necho x >> {{here}}/asked\\necho {{said}}\\n")
program.chmod(0o755)
"""
RESOLVE = """
import sys
from pathlib import Path
from harness.opencode.binary import resolve
from harness.process.platform import System
from harness.settings import Settings
print(resolve(Settings(cache_dir=Path(sys.argv[1])), System("linux", "x64")).path)
"""


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """The only folder on the PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def npm(programs):
    (programs / "npm").write_text(NPM.format(python=sys.executable))
    (programs / "npm").chmod(0o755)
    (programs / "mode").write_text("works")
    return programs


@pytest.fixture
def settings(tmp_path):
    def make(**values):
        return Settings(cache_dir=tmp_path / "cache", **values)

    return make


def calls(npm):
    return (npm / "calls").read_text().splitlines() if (npm / "calls").exists() else []


def installed(tmp_path):
    """The versions in the cache, and whatever else lies there but locks."""
    return sorted(path.name for path in (tmp_path / "cache").glob("opencode*/*") if not path.name.endswith(".lock"))


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("1.18.33\n", "1.18.33"),
        ("1.19.0-beta.2\n", "1.19.0-beta.2"),
        ("v1.18.3", "1.18.3"),
        ("ripgrep 15.1.0 (rev af60c2de9d)\n\nfeatures:+pcre2", "15.1.0"),
        ("sleep (GNU coreutils) 9.1", None),
        ("1.18", None),
        ("", None),
    ],
)
def test_reading_a_version(output, version):
    assert read_version(output) == version


def test_the_option_wins_then_the_variable_then_the_ini(tmp_path, settings, npm):
    paths = {source: script(tmp_path / source / "opencode", "echo 1.18.33") for source in ("option", "variable", "ini")}
    every = {"binary": str(paths["option"]), "binary_env": str(paths["variable"]), "binary_ini": str(paths["ini"])}
    assert resolve(settings(**every)) == Binary(paths["option"], "1.18.33", "given by --opencode-binary")
    del every["binary"]
    assert resolve(settings(**every)) == Binary(paths["variable"], "1.18.33", "given by OPENCODE_TEST_BINARY")
    del every["binary_env"]
    assert resolve(settings(**every)) == Binary(paths["ini"], "1.18.33", "given by the ini option opencode_binary")
    assert calls(npm) == []


def test_a_given_path_says_that_it_wins_over_another_wanted_version(tmp_path, settings):
    path = script(tmp_path / "opencode", "echo 1.18.33")
    for version, more in (("1.18.33", ""), ("1.18.3", "; it wins over the wanted version 1.18.3")):
        binary = resolve(settings(binary_env=str(path), version=version))
        assert binary.why == f"given by OPENCODE_TEST_BINARY{more}"
    script(path, "echo 1.18.3")
    assert resolve(settings(binary_env=str(path), version="1.18.3")).why == "given by OPENCODE_TEST_BINARY"


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        (None, "does not exist"),
        ("exit 3", "does not work: `{path} --version` ended with exit code 3 and printed: nothing"),
        ("echo no good >&2; exit 1", "does not work: `{path} --version` ended with exit code 1 and printed: no good"),
        ("echo hello", "does not work: `{path} --version` printed: hello; wanted a version number"),
        ("true", "does not work: `{path} --version` printed: nothing; wanted a version number"),
    ],
)
def test_a_given_path_that_is_no_good_is_an_error_and_nothing_else_is_tried(tmp_path, settings, npm, text, trouble):
    path = tmp_path / "mine"
    if text:
        script(path, text)
    with pytest.raises(SetupError) as caught:
        resolve(settings(binary_env=str(path)))
    assert str(caught.value) == f"OPENCODE_TEST_BINARY names {path}, which {trouble.format(path=path)}\n{WAYS_OUT}"
    assert calls(npm) == []


def test_a_program_that_does_not_end_is_no_binary(tmp_path, settings, monkeypatch):
    monkeypatch.setattr(asking, "_DEADLINE", 0.3)
    path = script(tmp_path / "opencode", "exec sleep 60")
    with pytest.raises(SetupError) as caught:
        resolve(settings(binary=str(path)))
    assert caught.value.message == (
        f"--opencode-binary names {path}, which does not work: `{path} --version` did not end within 0.3 s"
    )


def test_a_file_that_may_not_be_run_is_no_binary(tmp_path, settings):
    path = tmp_path / "opencode"
    path.write_text("#!/bin/sh\necho 1.18.33\n")
    with pytest.raises(SetupError) as caught:
        resolve(settings(binary=str(path)))
    assert caught.value.message == f"--opencode-binary names {path}, which is not executable"


def test_a_folder_is_no_binary(tmp_path, settings):
    with pytest.raises(SetupError) as caught:
        resolve(settings(binary=str(tmp_path)))
    assert caught.value.message == f"--opencode-binary names {tmp_path}, which is not a file"


def test_a_text_is_no_binary(tmp_path, settings):
    path = tmp_path / "text"
    path.write_bytes(b"\x7fELF but no more")
    path.chmod(0o755)
    with pytest.raises(SetupError) as caught:
        resolve(settings(binary=str(path)))
    assert caught.value.message == (
        f"--opencode-binary names {path}, which does not work: "
        f"`{path} --version` could not be started: Exec format error"
    )


def test_wsl_refuses_a_windows_program(settings):
    with pytest.raises(SetupError) as caught:
        resolve(settings(binary="/mnt/c/tools/opencode.exe"), System("linux", "x64", wsl=True))
    assert caught.value.message == (
        "--opencode-binary names /mnt/c/tools/opencode.exe, "
        "which is a Windows program seen from WSL; wanted the Linux one"
    )


def test_wsl_takes_a_linux_program_whatever_its_name_is(tmp_path, settings):
    path = script(tmp_path / "bin" / "opencode.exe", "echo 1.18.33")  # so opencode-ai calls it on every system
    assert resolve(settings(binary=str(path)), System("linux", "x64", wsl=True)).path == path


def test_a_program_sees_nothing_of_the_callers_environment(tmp_path, settings, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    path = script(tmp_path / "opencode", f'env > {tmp_path}/seen; test "$HOME" = "$PWD/home" && echo 1.18.33')
    assert resolve(settings(binary=str(path))).version == "1.18.33"
    assert "secret" not in (tmp_path / "seen").read_text()


def test_the_pinned_version_is_installed_once(tmp_path, settings, npm, capfd):
    place = tmp_path / "cache" / "opencode-linux-x64" / "1.18.33"
    wanted = Binary(place / "bin" / "opencode", "1.18.33", "opencode-linux-x64@1.18.33, installed with npm")
    assert resolve(settings(), LINUX) == wanted
    said = capfd.readouterr()
    assert (said.out, said.err) == (
        "",
        (
            "guardlab: installing opencode-linux-x64@1.18.33 with npm (once)\n"
            f"guardlab: installed opencode-linux-x64@1.18.33 in {place}\n"
        ),
    )
    assert resolve(settings(), LINUX) == wanted
    (call,) = calls(npm)
    assert re.fullmatch(
        f"install --prefix {re.escape(str(place.parent))}/\\.1\\.18\\.33-\\w+ --ignore-scripts "
        "--install-strategy=nested --no-save --no-package-lock --no-audit --no-fund --prefer-offline "
        "--fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 opencode-linux-x64@1.18.33",
        call,
    )
    assert installed(tmp_path) == ["1.18.33"]
    assert capfd.readouterr() == ("", "")


def test_a_program_is_not_asked_again_until_it_changes(settings, npm):
    def asked():
        return len((npm / "asked").read_text().split())

    path = resolve(settings(), LINUX).path
    before = asked()
    resolve(settings(), LINUX)
    assert asked() == before
    path.write_text(path.read_text().replace("1.18.33", "1.18.34"))
    assert resolve(settings(binary=str(path)), LINUX).version == "1.18.34"
    assert asked() == before + 1


def test_another_version_and_the_newest(settings, npm):
    assert resolve(settings(version="1.18.3"), LINUX).version == "1.18.3"
    assert resolve(settings(version="latest"), LINUX).version == "1.19.0"
    assert [call.split()[0] for call in calls(npm)] == ["install", "view", "install"]


def test_a_registry_that_answers_nonsense(settings, npm):
    (npm / "mode").write_text("nonsense")
    with pytest.raises(SetupError) as caught:
        resolve(settings(version="latest"), LINUX)
    assert caught.value.message == (
        "there is no opencode on the PATH, and npm gave none: "
        "`npm view opencode-linux-x64@latest version` printed: nothing known; wanted a version number"
    )


def test_an_installed_version_needs_no_npm(settings, npm):
    resolve(settings(), LINUX)
    (npm / "npm").unlink()
    assert resolve(settings(), LINUX).version == "1.18.33"


@pytest.mark.parametrize(
    ("mode", "trouble"),
    [
        ("half", "`[^`]+/bin/opencode --version` could not be started: No such file or directory"),
        ("broken", "`[^`]+/bin/opencode --version` printed: Segmentation fault; wanted a version number"),
        ("other", "opencode-linux-x64@1.18.33 holds OpenCode 9.9.9"),
        ("fails", "`npm install .*` failed with exit code 1:\nnpm error code E404"),
    ],
)
def test_a_broken_download_is_not_taken_and_leaves_nothing(tmp_path, settings, npm, mode, trouble):
    (npm / "mode").write_text(mode)
    with pytest.raises(SetupError) as caught:
        resolve(settings(), LINUX)
    message = f"there is no opencode on the PATH, and npm gave none: {trouble}"
    assert re.fullmatch(message, caught.value.message, re.DOTALL)
    assert caught.value.hint == WAYS_OUT
    assert installed(tmp_path) == []
    (npm / "mode").write_text("works")
    assert resolve(settings(), LINUX).version == "1.18.33"


def test_an_installed_program_that_was_damaged_is_installed_again(settings, npm):
    path = resolve(settings(), LINUX).path
    path.write_text("")
    assert resolve(settings(), LINUX) == Binary(path, "1.18.33", "opencode-linux-x64@1.18.33, installed with npm")
    assert len(calls(npm)) == 2


@pytest.mark.usefixtures("npm")
def test_what_a_killed_process_left_is_removed(tmp_path, settings):
    left = tmp_path / "cache" / "opencode-linux-x64" / ".1.18.33-abc"
    left.mkdir(parents=True)
    resolve(settings(), LINUX)
    assert not left.exists()


def test_two_processes_install_once(tmp_path, npm):
    (npm / "mode").write_text("slow")
    command = [sys.executable, "-c", RESOLVE, str(tmp_path / "cache")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = {process.communicate(timeout=30)[0] for process in started}
    assert paths == {f"{tmp_path}/cache/opencode-linux-x64/1.18.33/bin/opencode\n"}
    assert len(calls(npm)) == 1


@pytest.mark.usefixtures("npm")
def test_an_install_that_hangs_elsewhere_is_named(tmp_path, settings, monkeypatch):
    monkeypatch.setattr(installer, "_INSTALL_DEADLINE", 0.2)
    lock = tmp_path / "cache" / "opencode-linux-x64" / ".1.18.33.lock"
    lock.parent.mkdir(parents=True)
    with FileLock(lock), pytest.raises(SetupError) as caught:
        resolve(settings(), LINUX)
    assert caught.value.message == (
        "there is no opencode on the PATH, and npm gave none: "
        "another process has been installing opencode-linux-x64@1.18.33 for 0.2 s"
    )


@pytest.mark.usefixtures("npm")
def test_a_cache_that_can_not_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SetupError) as caught:
        resolve(Settings(cache_dir=tmp_path / "file" / "cache"), LINUX)
    assert caught.value.message == (
        "there is no opencode on the PATH, and npm gave none: opencode-linux-x64@1.18.33 could not be put into "
        f"{tmp_path}/file/cache/opencode-linux-x64/1.18.33: Not a directory"
    )
    assert caught.value.hint == (
        f"Set the variable GUARDLAB_CACHE to a folder that can be written and has 300 MB to spare.\n{WAYS_OUT}"
    )


def test_a_given_binary_needs_no_cache(tmp_path):
    (tmp_path / "file").touch()
    path = script(tmp_path / "opencode", "echo 1.18.33")
    assert resolve(Settings(cache_dir=tmp_path / "file" / "cache", binary=str(path))).version == "1.18.33"


def test_without_npm_opencode_is_taken_from_the_path(settings, programs):
    path = script(programs / "opencode", "echo 1.18.20")
    assert resolve(settings(), LINUX) == Binary(path, "1.18.20", "from the PATH, because npm was not found on the PATH")


def test_a_wanted_version_is_not_replaced_by_another_from_the_path(settings, programs):
    path = script(programs / "opencode", "echo 1.18.20")
    assert resolve(settings(version="1.18.20"), LINUX).path == path
    with pytest.raises(SetupError) as caught:
        resolve(settings(version="1.18.3"), LINUX)
    assert caught.value.message == (
        f"OpenCode 1.18.3 was wanted, but {path} on the PATH is 1.18.20, and npm was not found on the PATH"
    )


@pytest.mark.usefixtures("programs")
def test_nothing_at_all(settings):
    with pytest.raises(SetupError) as caught:
        resolve(settings(), LINUX)
    assert str(caught.value) == (
        f"there is no opencode on the PATH, and npm gave none: npm was not found on the PATH\n{WAYS_OUT}"
    )


def test_ripgrep_is_installed_the_same_way(tmp_path, settings, npm):
    path = ripgrep(settings(), LINUX)
    assert path == tmp_path / "cache" / "@vscode+ripgrep-linux-x64" / RIPGREP_VERSION / "bin" / "rg"
    assert calls(npm)[0].endswith(f" @vscode/ripgrep-linux-x64@{RIPGREP_VERSION}")


def test_ripgrep_from_the_path(settings, programs):
    path = script(programs / "rg", "echo ripgrep 14.1.0")
    assert ripgrep(settings(), LINUX) == path


@pytest.mark.usefixtures("programs")
def test_no_ripgrep(settings):
    with pytest.raises(SetupError) as caught:
        ripgrep(settings(), LINUX)
    assert str(caught.value) == (
        "there is no rg on the PATH, and npm gave none: npm was not found on the PATH\n"
        "Install ripgrep, or install npm, so that guardlab can fetch it."
    )
