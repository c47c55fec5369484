"""The package as its user gets it: packed, installed by OpenCode itself, replaced and removed."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.opencode.server import Server

HERE = Path(__file__).parent
NAME = "opencode-infinity-loop-guard"
SCENARIOS = HERE.parents[1] / "scenarios" / "infinity"
COMMAND_SECONDS = 120


class Installation:
    """An OpenCode of a user's own: its home outlives the server, as a restart wants it."""

    def __init__(self, lab, workspace, monkeypatch):
        self.lab = lab
        self.home = lab.pool.make_home()
        self.workspace = workspace
        monkeypatch.setattr(lab.pool, "lend", self._lend)

    @contextmanager
    def _lend(self, **_wanted):
        server = Server(self.lab.binary, self.home, self.lab.supervisor)
        server.start()
        try:
            yield server
        finally:
            server.stop()

    def plugin(self, *words):
        """Run `opencode plugin -g` as a user does; give what it says."""
        done = subprocess.run(
            [str(self.lab.binary.path), "plugin", "-g", *words],
            cwd=self.workspace,
            env=self.home.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=COMMAND_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def config(self):
        return self.home.root / "config" / "opencode" / "opencode.jsonc"

    @property
    def plugins(self):
        return json.loads(self.config.read_text(encoding="utf-8")).get("plugin", [])

    @property
    def copy(self):
        """Where OpenCode keeps the package; the folder's name is made from the spec (opencode-facts.md A.4, K)."""
        return next((self.home.root / "cache" / "opencode" / "packages").rglob(f"node_modules/{NAME}"))

    def play(self, name):
        run = self.lab.play(HERE / name)
        assert run.passed, run.report()
        return run


@pytest.fixture
def installation(lab, tmp_path, monkeypatch):
    return Installation(lab, tmp_path, monkeypatch)


def spec_of(package):
    return f"{NAME}@file:{package.tarball.as_posix()}"


def block_of(run):
    """The text of the block that the model was told."""
    results = [result["text"] for entry in run.record.of("exchange.received") for result in entry.data["results"]]
    return next(text for text in results if text.startswith("[ANTI-LOOP]"))


def test_the_package_holds_what_it_declares(package):
    """[INF-63]"""
    with tarfile.open(package.tarball) as tar:
        names = {name.removeprefix("package/") for name in tar.getnames()}
    manifest = package.manifest
    assert manifest["os"] == ["win32", "linux", "darwin"]
    assert manifest["engines"] == {"node": ">=20"}
    assert "dependencies" not in manifest
    assert {manifest[key].removeprefix("./") for key in ("main", "types")} <= names
    assert {"README.md", "LICENSE", "package.json"} <= names
    assert not any(name.startswith(("src/", "test/", "node_modules/")) for name in names)


def test_a_directory_is_installed(installation, package):
    """[INF-63]"""
    installation.plugin(str(package.folder))
    assert installation.plugins == [str(package.folder)]
    assert "Blocked before it ran" in block_of(installation.play("guarded.yaml"))


def test_a_directory_is_not_replaced_by_another(installation, package, successor):
    """As guard/README.md warns: OpenCode replaces by the package's name, and a directory has none."""
    installation.plugin(str(package.folder))
    installation.plugin("-f", str(package.folder))
    assert installation.plugins == [str(package.folder)]
    for spec in (str(successor.folder), spec_of(package), spec_of(successor)):
        installation.plugin("-f", spec)
    assert installation.plugins == [str(package.folder), str(successor.folder), spec_of(successor)]


def test_a_tarball_is_installed_replaced_and_removed(installation, package, successor):
    """[INF-63]"""
    installation.plugin(spec_of(package))
    assert installation.plugins == [spec_of(package)]
    assert "Blocked before it ran" in block_of(installation.play("guarded.yaml"))

    assert "Already configured" in installation.plugin(spec_of(successor))
    installation.plugin("-f", spec_of(successor))
    assert installation.plugins == [spec_of(successor)]
    assert "Blocked by the next version" in block_of(installation.play("guarded.yaml"))

    installation.config.write_text("{}", encoding="utf-8")
    installation.play("unguarded.yaml")


def test_the_installed_copy_passes_the_scenarios(installation, package, lab, monkeypatch):
    """[INF-63] [INF-64] A few of them here; LOOP_GUARD_ENTRY with `pytest scenarios/infinity` plays all."""
    installation.plugin(spec_of(package))
    installed = installation.copy
    installation.config.write_text("{}", encoding="utf-8")  # a second guard would continue a second time
    monkeypatch.setenv("LOOP_GUARD_ENTRY", str(installed))
    for name in ("third-call", "inf-21-container-status-prose", "inf-52-continue-frees-one-call"):
        run = lab.play(SCENARIOS / f"{name}.scenario.yaml")
        assert run.passed, run.report()
        assert [guard["path"] for guard in run.record.facts["guards"]] == [str(installed.resolve())]


def test_a_wrapper_file_as_the_readme_shows_it(installation, package):
    """[INF-63]"""
    example = re.search(r"```ts\n(.*?)```", (package.folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    wrapper = installation.config.parent / "plugin" / "guard.ts"
    wrapper.parent.mkdir(parents=True)
    text = example.replace("/path/to/this/folder", package.folder.as_posix()).replace("threshold: 4", "threshold: 3")
    assert text.count(package.folder.as_posix()) == text.count("threshold: 3") == 1
    wrapper.write_text(text, encoding="utf-8")
    installation.play("guarded.yaml")
