from __future__ import annotations

import json
import os
import subprocess

import pytest

from harness.errors import SetupError
from harness.opencode.isolation import Home, private_environment
from harness.process.platform import System

pytestmark = pytest.mark.skipif(os.name != "posix", reason="simulates every system with the paths of POSIX")
LINUX = System("linux", "x64")
WINDOWS = System("windows", "x64")


def test_the_environment_is_the_hermetic_set_and_nothing_else(home):
    root = home.root
    git, bash = home.git.parent, home.shell.parent
    path = dict.fromkeys(map(str, (root.parent / "bin", git, bash, "/usr/bin", "/bin", "/usr/sbin", "/sbin")))
    assert home.environment() == {
        "HOME": f"{root}/home",
        "TMPDIR": str(root / "tmp"),
        "XDG_CONFIG_HOME": f"{root}/config",
        "XDG_DATA_HOME": f"{root}/data",
        "XDG_STATE_HOME": f"{root}/state",
        "XDG_CACHE_HOME": f"{root}/cache",
        "PATH": os.pathsep.join(path),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "SHELL": str(home.shell),
        "OPENCODE_TEST_HOME": f"{root}/home",
        "OPENCODE_TEST_MANAGED_CONFIG_DIR": f"{root}/managed",
        "OPENCODE_MODELS_PATH": f"{root}/models.json",
        "OPENCODE_AUTH_CONTENT": "{}",
        "OPENCODE_SERVER_USERNAME": "opencode",
        "OPENCODE_SERVER_PASSWORD": home.password,
        "OPENCODE_DISABLE_FFF": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_CLAUDE_CODE": "1",
        "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
        "OPENCODE_DISABLE_SHARE": "1",
        "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER": "1",
        "OPENCODE_DISABLE_AUTOCOMPACT": "1",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "all_proxy": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost,::1",
        "no_proxy": "127.0.0.1,localhost,::1",
        "GIT_CONFIG_GLOBAL": f"{root}/gitconfig",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "npm_config_offline": "true",
    }


def test_the_config_folder_is_seeded_for_the_version(home):
    config = home.root / "config" / "opencode"
    assert list((config / "node_modules").iterdir()) == []
    assert json.loads((config / "package-lock.json").read_text()) == {
        "name": "opencode",
        "lockfileVersion": 3,
        "packages": {"": {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}},
    }


def test_what_opencode_is_pointed_at_exists_and_is_empty(home):
    assert (home.root / "models.json").read_text() == "{}"
    for folder in ("home", "tmp", "managed"):
        assert list((home.root / folder).iterdir()) == []


def test_git_knows_who_it_is_and_takes_nothing_from_the_user(home):
    listed = subprocess.run(
        [home.git, "config", "--list", "--show-origin"],
        env=home.environment(),
        cwd=home.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {line.split("\t")[0] for line in listed.stdout.splitlines()} == {f"file:{home.root}/gitconfig"}
    assert "\tuser.name=guardlab" in listed.stdout
    assert "\tcore.autocrlf=false" in listed.stdout


def test_each_home_has_a_password_of_its_own_that_is_not_printed(home, tmp_path):
    other = Home.create(tmp_path / "other", "1.18.33", tmp_path / "rg", "http://127.0.0.1:9")
    assert len(home.password) >= 32
    assert other.password != home.password
    assert home.password not in repr(home)


def test_the_environment_is_a_copy(home):
    home.environment()["HOME"] = "elsewhere"
    assert home.environment()["HOME"] == f"{home.root}/home"


def test_opencodes_own_log(home):
    assert home.log == home.root / "data" / "opencode" / "log" / "opencode.log"


def test_no_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError) as caught:
        Home.create(tmp_path / "home", "1.18.33", tmp_path / "rg", "http://127.0.0.1:9")
    assert str(caught.value) == "git was not found on the PATH\nInstall git: every scenario runs in a git repository."


def test_no_bash(tmp_path, monkeypatch):
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError) as caught:
        Home.create(tmp_path / "home", "1.18.33", tmp_path / "rg", "http://127.0.0.1:9")
    assert str(caught.value) == (
        "bash was not found\nInstall bash (on Windows: Git for Windows): scripted commands run in it."
    )


def test_a_private_environment_takes_nothing_from_the_caller(tmp_path):
    caller = {"HOME": "/home/u", "OPENAI_API_KEY": "secret", "PATH": "/home/u/bin", "XDG_DATA_HOME": "/home/u/data"}
    made = private_environment(tmp_path, LINUX, [tmp_path / "rg"], caller)
    assert made["PATH"] == f"{tmp_path}:/usr/bin:/bin:/usr/sbin:/sbin"
    assert sorted(made) == [
        "HOME",
        "LANG",
        "PATH",
        "TERM",
        "TMPDIR",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ]
    assert not any("/home/u" in value for value in made.values())


def test_a_private_environment_of_windows_has_both_names_of_the_home(tmp_path):
    made = private_environment(tmp_path, WINDOWS, [], {"SystemRoot": "root"})
    assert made["HOME"] == made["USERPROFILE"] == str(tmp_path / "home")
    assert made["TEMP"] == made["TMP"] == str(tmp_path / "tmp")
    assert made["SystemRoot"] == "root"
