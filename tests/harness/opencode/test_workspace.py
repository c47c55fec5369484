from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.errors import SetupError
from harness.opencode import workspace
from harness.opencode.workspace import Workspace

FILES = {"src/app.py": "print('hi')\n", "README.md": "one\r\ntwo\n"}


@pytest.fixture
def make(home, tmp_path):
    def create(files, changes=None, name="ws"):
        return Workspace.create(tmp_path / name, files, changes, home=home, version="1.18.33")

    return create


@pytest.fixture
def git(home):
    def run(workspace, *args):
        done = subprocess.run(
            [home.git, *args], cwd=workspace.root, env=home.environment(), capture_output=True, text=True, check=True
        )
        return done.stdout

    return run


def test_a_fresh_repository_is_clean_and_has_one_commit_of_fixed_hash(make, git):
    workspace, moment = make(FILES), "2026-01-01T00:00:00+00:00"
    assert git(workspace, "status", "--short", "--branch") == "## main\n"
    assert git(workspace, "log", "--format=%H %an %ae %aI %cI %s") == (
        f"d4c20ba017c393a4bb1a7132a575c777236fb319 guardlab guardlab@example.invalid {moment} {moment} Start\n"
    )


def test_equal_files_give_equal_commits_but_projects_of_their_own(make, git):
    one, two = make(FILES, name="one"), make(FILES, name="two")
    assert git(one, "rev-parse", "HEAD") == git(two, "rev-parse", "HEAD")
    assert (one.root / ".git/opencode").read_text() != (two.root / ".git/opencode").read_text()


def test_files_are_written_as_they_are(make):
    workspace = make(FILES)
    assert (workspace.root / "README.md").read_bytes() == b"one\r\ntwo\n"
    assert (workspace.root / "src/app.py").read_bytes() == b"print('hi')\n"


def test_changes_are_not_committed(make, git):
    workspace = make(FILES, {"src/app.py": "print('ho')\nmore()\n", "new.txt": "x"})
    assert git(workspace, "status", "--short") == " M src/app.py\n?? new.txt\n"
    assert git(workspace, "diff", "--stat") == (
        " src/app.py | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)\n"
    )


def test_an_empty_workspace_has_a_commit_too(make, git):
    assert git(make({}), "rev-list", "--count", "HEAD") == "1\n"


def test_git_does_not_see_the_config(make, git):
    workspace = make(FILES)
    path = workspace.write_config({"shell": "/s/bash", "instructions": ["ü"]})
    assert path == workspace.root / "opencode.json"
    assert path.read_text(encoding="utf-8") == '{\n  "shell": "/s/bash",\n  "instructions": [\n    "ü"\n  ]\n}\n'
    assert git(workspace, "status", "--short", "--untracked-files=all") == ""


def test_a_config_folder_of_the_project_is_seeded_and_the_seed_is_hidden(make, git):
    workspace = make({".opencode/plugin/x.js": "export const X = async () => ({})\n"})
    assert (workspace.root / ".opencode/node_modules").is_dir()
    assert '"@opencode-ai/plugin": "1.18.33"' in (workspace.root / ".opencode/package-lock.json").read_text()
    assert git(workspace, "status", "--short", "--untracked-files=all") == ""
    assert list(workspace.contents()) == [".opencode/plugin/x.js"]


def test_a_config_folder_among_the_changes_is_seeded_too(make, git):
    workspace = make({}, {".opencode/command/x.md": "x"})
    assert git(workspace, "status", "--short", "--untracked-files=all") == "?? .opencode/command/x.md\n"


def test_contents_are_hashes_of_the_scenarios_files(make):
    workspace = make(FILES)
    workspace.write_config({})
    (workspace.root / "src/made.txt").write_text("made")
    assert workspace.contents() == {
        "README.md": hashlib.sha256(b"one\r\ntwo\n").hexdigest(),
        "src/app.py": hashlib.sha256(b"print('hi')\n").hexdigest(),
        "src/made.txt": hashlib.sha256(b"made").hexdigest(),
    }


def test_what_vanishes_while_it_is_read_is_not_there(make, monkeypatch):
    """A command of the model works on, while a step looks at the files."""
    made = make({"a.txt": "a", "b/c.txt": "c", "d/e.txt": "e", "f.txt": "f"})
    asked = []

    def looked_at(name):
        asked.append(name)
        if name == "d":
            shutil.rmtree(made.root / "d")
        if name == "f.txt":
            (made.root / "f.txt").unlink()
        return name == ".git"

    monkeypatch.setattr(workspace, "_is_internal", looked_at)
    assert list(made.contents()) == ["a.txt", "b/c.txt"]
    assert not [name for name in asked if name.startswith(".git/")], "a repository at work is not walked"


def test_what_cannot_be_read_is_there(make, monkeypatch):
    made = make({"a.txt": "a", "b.txt": "b"})
    read = Path.read_bytes

    def refuse(path):
        if path.name == "a.txt":
            raise PermissionError
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert made.contents() == {"a.txt": "unreadable", "b.txt": hashlib.sha256(b"b").hexdigest()}


def test_only_files_count(make):
    made = make({"a.txt": "a", "b/c.txt": "c"})
    (made.root / "link").symlink_to("a.txt")
    (made.root / "folder").symlink_to("b")
    (made.root / "dangling").symlink_to("nowhere")
    assert list(made.contents()) == ["a.txt", "b/c.txt", "link"]


def test_the_root_is_free_of_links(home, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    workspace = Workspace.create(tmp_path / "link" / "ws", {}, home=home, version="1.18.33")
    assert workspace.root == (tmp_path / "real" / "ws").resolve()


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x", "a/../../x", "a\\..\\x", "C:/x", "C:x", "\\\\host\\x", "", "."]
)
def test_a_path_outside_is_refused_and_nothing_is_left(make, tmp_path, name):
    with pytest.raises(SetupError) as caught:
        make({"ok.txt": "x", name: "x"})
    assert str(caught.value) == (
        f"workspace file {name!r} does not lie inside the workspace\n"
        "Write the path from the workspace's root, without '..'."
    )
    assert not (tmp_path / "ws").exists()


@pytest.mark.parametrize(
    "name", ["opencode.json", "./opencode.json", ".git/config", ".git", "./.git/hooks/post-commit", ".GIT/config"]
)
def test_the_harness_keeps_its_own_files(make, name):
    with pytest.raises(SetupError) as caught:
        make({}, {name: "x"})
    assert str(caught.value) == (
        f"workspace file {name!r} belongs to the harness\n"
        "Put OpenCode's config under `opencode: {config: ...}`; the repository is made for the scenario."
    )


def test_a_file_that_is_also_a_folder_is_refused(make):
    with pytest.raises(SetupError) as caught:
        make({"a": "x", "a/b": "y"})
    assert str(caught.value).startswith("workspace file 'a/b' could not be written: ")


def test_a_failing_git_is_shown(make, home, tmp_path):
    (home.root / "gitconfig").write_text("[broken\n")
    with pytest.raises(SetupError) as caught:
        make({})
    assert str(caught.value) == (
        f"`{home.git} init --quiet --initial-branch=main --template=` failed with exit code 128 in {tmp_path / 'ws'}: "
        f"fatal: bad config line 1 in file {home.root / 'gitconfig'}"
    )
