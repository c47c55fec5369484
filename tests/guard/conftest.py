"""The guard as a package: built once from a copy of guard/, so that the checkout stays as it is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.lab import Lab
from harness.settings import Settings

GUARD = Path(__file__).parents[2] / "guard"
CLAUSE = re.compile(r"\[([A-Z]+-\d+)\]")


def pytest_itemcollected(item):
    """Let `-k INF-64` choose the tests whose docstrings name the clause, as it chooses scenarios."""
    item.extra_keyword_matches.update(CLAUSE.findall(item.obj.__doc__ or ""))


@dataclass(frozen=True)
class Package:
    """A built copy of guard/ in `folder`, packed as `tarball`."""

    folder: Path
    tarball: Path

    @property
    def manifest(self):
        return json.loads((self.folder / "package.json").read_text(encoding="utf-8"))


def pack(folder, *flags):
    """Run npm pack; give the tarball that it names in its last line."""
    npm = shutil.which("npm")
    done = subprocess.run([npm, "pack", *flags], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


@pytest.fixture(scope="session")
def lab():
    with Lab(Settings.from_environment(os.environ, keep_runs="never")) as opened:
        yield opened


@pytest.fixture(scope="session")
def package(tmp_path_factory):
    """The package as `npm pack` builds it from source."""
    modules = GUARD / "node_modules"
    assert modules.is_dir(), f"{modules} is missing: run npm install in guard/, the package is built by its tsc"
    folder = tmp_path_factory.mktemp("package") / "guard"
    shutil.copytree(GUARD, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "test", "*.tgz"))
    (folder / "node_modules").symlink_to(modules, target_is_directory=True)
    return Package(folder, pack(folder))


@pytest.fixture(scope="session")
def successor(package, tmp_path_factory):
    """The next version of the package, whose blocks say so."""
    folder = tmp_path_factory.mktemp("successor") / "guard"
    shutil.copytree(package.folder, folder, ignore=shutil.ignore_patterns("node_modules", "*.tgz"))
    (folder / "package.json").write_text(json.dumps({**package.manifest, "version": "0.2.0"}), encoding="utf-8")
    texts = folder / "dist" / "guards" / "texts.js"
    old = texts.read_text(encoding="utf-8")
    new = old.replace("Blocked before it ran", "Blocked by the next version")
    assert new != old
    texts.write_text(new, encoding="utf-8")
    return Package(folder, pack(folder, "--ignore-scripts"))
