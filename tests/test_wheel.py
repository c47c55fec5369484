"""What is published works where it is installed: the wheel, built from the sdist, alone in a new environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from harness.opencode.binary import resolve, ripgrep
from harness.settings import Settings

ROOT = Path(__file__).parent.parent
DEADLINE = 120  # seconds: many times what a step needs on two busy cores


def run(*command, cwd, env=None):
    """Run a program that must succeed, and give what it printed; it does not see the checkout through PYTHONPATH."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=env or clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, from the files that a clean clone of this tree would have."""
    clone = tmp_path_factory.mktemp("clone")
    for name in run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0"):
        if name and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", clone / "built", clone, cwd=clone)
    assert len(list((clone / "built").glob("guardlab-*.tar.gz"))) == 1
    (built,) = (clone / "built").glob("guardlab-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new virtual environment with the wheel; what it depends on is borrowed, so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=folder)
    place = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    # Such a line makes packages importable; it does not follow the editable installation of the checkout.
    (place / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return folder


@pytest.fixture
def guardlab(environment, tmp_path):
    """Run the installed command in an empty folder, without node, bun and npm, and with OpenCode's binary given."""
    settings = Settings.from_environment(os.environ)
    programs = {"git": shutil.which("git"), "bash": shutil.which("bash"), "rg": ripgrep(settings)}
    for name in ("bin", "home", "temporary", "project"):
        (tmp_path / name).mkdir()
    for name, program in programs.items():
        (tmp_path / "bin" / name).symlink_to(program)
    env = {
        "PATH": str(tmp_path / "bin"),
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "temporary"),
        "OPENCODE_TEST_BINARY": str(resolve(settings).path),
    }

    def command(*args):
        return run(environment / "bin" / "guardlab", *args, cwd=tmp_path / "project", env=env)

    yield command
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_wheel_finds_what_it_carries_and_plays(guardlab, environment, tmp_path):
    python = environment / "bin" / "python"
    origin = run(python, "-c", "import harness, fakemodel; print(harness.__file__, fakemodel.__file__)", cwd=tmp_path)
    assert [Path(path).is_relative_to(environment) for path in origin.split()] == [True, True]
    doctor = guardlab("doctor")
    assert "npm       not found on the PATH; not needed" in doctor
    assert doctor.endswith("guardlab can play scenarios here\n")
    assert guardlab("new").endswith("next: guardlab play scenarios/first.scenario.yaml\n")
    played = guardlab("play", "scenarios/first.scenario.yaml", "corpus/healthy/long-answer.scenario.yaml")
    assert played.endswith("guardlab: 2 passed\n")
