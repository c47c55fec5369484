from __future__ import annotations

import pytest

from harness.modules import reach


@pytest.fixture
def package(tmp_path):
    """Write files and give what the first one reaches, as names from the folder."""

    def read(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = reach(tmp_path / next(iter(files)))
        return {path.relative_to(tmp_path).as_posix() for path in found.files}, list(found.absolute)

    return read


@pytest.mark.parametrize(
    "text",
    [
        'import "./a.js"',
        "import x from './a.js'",
        'import { x as y } from "./a.js"',
        'import {\n  x,\n} from "./a.js"',
        'export * from "./a.js"',
        'const x = await import("./a.js")',
        'const x = await import( "./a.js" )',
        'const x = require("./a.js")',
    ],
)
def test_every_form_of_an_import(package, text):
    assert package({"index.js": text, "a.js": "", "b.js": ""}) == ({"index.js", "a.js"}, [])


@pytest.mark.parametrize(
    ("specifier", "file"),
    [
        ("./a", "a.ts"),
        ("./a", "a.js"),
        ("./a.js", "a.ts"),
        ("./a.mjs", "a.mts"),
        ("./a", "a/index.ts"),
        ("..", "index.js"),
        ("./a.json", "a.json"),
        ("./a.md", "a.md"),
        ("../lib/a.cjs", "lib/a.cjs"),
    ],
)
def test_a_specifier_is_resolved_as_bun_does(package, specifier, file):
    place = file if specifier.startswith("..") else f"src/{file}"
    assert package({"src/entry.ts": f'import "{specifier}"', place: ""})[0] == {"src/entry.ts", place}


def test_a_file_wins_over_another_suffix(package):
    assert package({"i.js": 'import "./a.js"', "a.js": "", "a.ts": ""})[0] == {"i.js", "a.js"}


def test_imports_are_followed_in_circles_and_only_once(package):
    files = {"i.js": 'import "./a.js"', "a.js": 'import "./b.js"', "b.js": 'import "./a.js"; import "./i.js"'}
    assert package(files) == ({"i.js", "a.js", "b.js"}, [])


def test_what_is_no_script_is_not_read(package):
    assert package({"i.js": 'import "./a.md"', "a.md": 'import "./b.js"', "b.js": ""})[0] == {"i.js", "a.md"}


def test_packages_and_missing_files_are_left_out(package):
    assert package({"i.js": 'import "zod"; import "node:fs"; import "./gone.js"'}) == ({"i.js"}, [])


def test_whole_paths_are_named(package):
    files = {"i.js": 'import "./a.js"; import "/opt/x.js"', "a.js": 'require("file:///opt/y.js")'}
    assert package(files) == ({"i.js", "a.js"}, ["/opt/x.js", "file:///opt/y.js"])


def test_bytes_that_are_no_text_do_no_harm(package, tmp_path):
    (tmp_path / "a.js").write_bytes(b'\xff import "./b.js"')
    assert package({"i.js": 'import "./a.js"', "b.js": ""})[0] == {"i.js", "a.js", "b.js"}
