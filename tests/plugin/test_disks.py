"""Disks that take nothing: the run says so, loses nothing that it knows, and leaves nothing."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager

import pytest
from normalising import normal, section
from projects import ANSWERS_VERSION, GREETING

pytestmark = [pytest.mark.needs_root, pytest.mark.usefixtures("root")]

FILLS = """
script:
  - call: {bash: {command: dd if=/dev/zero of=fill bs=1k count=%d}}
  - say: Done.
steps:
  - prompt: Fill the disk.
"""
KIBIBYTES = 32 * 1024


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """Skip where no disk can be mounted; where GUARDLAB_REQUIRE_ROOT=1 promises it, that is an error."""
    try:
        with disk(tmp_path_factory.mktemp("disk"), "size=64k"):
            pass
    except (OSError, subprocess.CalledProcessError) as error:
        if os.environ.get("GUARDLAB_REQUIRE_ROOT") == "1":
            raise
        pytest.skip(f"needs root, to mount a small disk ({error})")


@contextmanager
def disk(folder, options):
    """Mount a disk in memory over a folder."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "guardlab", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(folder):
    """Take what is left of a disk."""
    with pytest.raises(OSError, match="No space left"):
        (folder / "fill").write_bytes(bytes(1024 * 1024))


def test_a_temporary_folder_that_becomes_full(project):
    project.scenario("fills", FILLS % (2 * KIBIBYTES))
    with disk(project.temporary, f"size={KIBIBYTES}k"):
        run = project.run()
        assert project.left() == []
    assert (run.code, project.kept()) == (1, ["fills.scenario.yaml"])
    assert "SQLiteError: database or disk is full" in run.text


def test_a_temporary_folder_without_room(project, golden):
    project.scenario("greeting", GREETING)
    with disk(project.temporary, "size=256k"):
        run = project.run()
        assert project.left() == []
    assert (run.code, project.kept()) == (1, [])
    assert "guardlab: 0 passed, 1 failed (1 setup)" in run.text
    golden("plugin-no-room", normal(section(run.text, "greeting"), temporary=project.temporary))


def test_the_report_of_a_run_whose_files_cannot_be_kept(project, monkeypatch, golden):
    monkeypatch.setenv("OPENCODE_TEST_BINARY", project.program("opencode", ANSWERS_VERSION + "exit 7\n"))
    project.scenario("greeting", GREETING)
    (project.path / ".guardlab").mkdir()
    with disk(project.path / ".guardlab", "size=64k"):
        fill(project.path / ".guardlab")
        run = project.run()
    assert (run.code, project.left(), project.kept()) == (1, [], [])
    assert "guardlab: 0 passed, 1 failed (1 crash)" in run.text
    golden("plugin-full-disk", normal(section(run.text, "greeting"), project=project.path))


@pytest.fixture
def home(project, monkeypatch):
    """A home of its own."""
    folder = project.path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return folder


def test_a_home_that_can_only_be_read_is_good_enough(project, home):
    project.scenario("greeting", GREETING)
    with disk(home, "ro"):
        run = project.run()
    assert (run.code, project.left(), project.kept()) == (0, [], [])


def test_a_cache_that_can_only_be_read_and_holds_no_ripgrep(project, home, monkeypatch, golden):
    project.scenario("greeting", GREETING)
    project.program("npm", "exit 9\n")  # there is one, but it is not even asked
    with disk(home, "ro"), monkeypatch.context() as changed:
        changed.delenv("GUARDLAB_CACHE")
        changed.setenv("PATH", str(project.path))
        run = project.run()
    assert (run.code, project.left(), project.kept()) == (1, [], [])
    golden("plugin-read-only-cache", normal(section(run.text, "greeting"), home=home))
