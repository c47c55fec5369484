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
KIBIBYTES = 6 * 1024


@pytest.fixture
def root():
    """Skip without the right to mount; where GUARDLAB_REQUIRE_ROOT=1 says that there is one, go on and fail."""
    if os.environ.get("GUARDLAB_REQUIRE_ROOT") != "1" and not (hasattr(os, "geteuid") and os.geteuid() == 0):
        pytest.skip("needs root, to mount a small disk; GUARDLAB_REQUIRE_ROOT=1 makes this a failure")


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
    with (folder / "fill").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while file.write(bytes(4096)):
            pass


def test_a_temporary_folder_that_becomes_full(project):
    project.scenario("fills", FILLS % (2 * KIBIBYTES))
    with disk(project.temporary, f"size={KIBIBYTES}k"):
        run = project.run()
        assert project.left() == []
    assert (run.code, project.kept()) == (1, ["fills.scenario.yaml"])
    assert "SQLiteError: database or disk is full" in run.text


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


def test_a_home_that_can_only_be_read(project, monkeypatch, settings):
    """Only the cache lies in the home, and what is there need not be written again."""
    home = project.path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    project.scenario("greeting", GREETING)
    with disk(home, "ro"):
        run = project.run("-p", "no:cacheprovider")
    assert (run.code, project.left(), project.kept()) == (0, [], [])


def test_a_home_that_can_only_be_read_and_holds_no_ripgrep(project, monkeypatch, golden):
    home = project.path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("GUARDLAB_CACHE")
    monkeypatch.setenv("PATH", str(project.path))
    project.scenario("greeting", GREETING)
    with disk(home, "ro"):
        run = project.run("-p", "no:cacheprovider")
    assert (run.code, project.left(), project.kept()) == (1, [], [])
    golden("plugin-read-only-home", normal(section(run.text, "greeting"), home=home))
