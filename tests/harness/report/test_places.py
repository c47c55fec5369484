"""How files are named to a reader."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath

import pytest

from harness.report.places import shown


@pytest.mark.parametrize(
    ("path", "base", "name"),
    [
        ("a/b.yaml", None, "a/b.yaml"),
        ("HERE/a/b.yaml", None, "a/b.yaml"),
        ("HERE/a/b.yaml", "HERE/a", "b.yaml"),
        ("a/b.yaml", "HERE/a", "b.yaml"),
        ("HERE/a/b.yaml", "HERE/c", "HERE/a/b.yaml"),
        ("../b.yaml", None, "../b.yaml"),
    ],
)
def test_a_file_is_named_from_the_folder_where_it_lies_below(tmp_path, monkeypatch, path, base, name):
    monkeypatch.chdir(tmp_path)
    path, base, name = (given and given.replace("HERE", str(tmp_path)) for given in (path, base, name))
    assert shown(Path(path), Path(base) if base else None) == name


def test_slashes_part_folders_on_windows_too():
    class Given(PureWindowsPath):
        def absolute(self):
            return self

    assert shown(Given("C:\\work\\a\\b.yaml"), PureWindowsPath("C:\\work")) == "a/b.yaml"
