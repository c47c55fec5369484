from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import harness
from harness import guards
from harness.errors import SetupError
from harness.guards import install, shares_modules
from harness.scenario.model import GuardUse

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and modes of files")
OWN = Path(harness.__file__).parent.parent / "guard"


@pytest.fixture
def tree(tmp_path):
    """Write a guard's files and give a path in it; `package.json` may be a mapping."""

    def write(files, path="."):
        for name, content in files.items():
            file = tmp_path / "guard" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return tmp_path / "guard" / path

    return write


@pytest.fixture
def put(tmp_path):
    """Install the guard at a path; the private copies go to a folder of their own."""

    def install_it(path, *, name="mine", environ=(), **use):
        return install(GuardUse(name, path=path, **use), tmp_path / "copies", tmp_path / "work", dict(environ))

    return install_it


def announced(guard, tmp_path, *, script="js"):
    said = json.dumps({"guard": guard.name, "directory": str(tmp_path / "work"), "url": guard.entry.as_uri()})
    this = "(globalThis as any)" if script == "ts" else "globalThis"
    return f"\n;({this}.__guardlab ??= []).push({said});\n"


def copied(guard):
    return {path.relative_to(guard.root).as_posix() for path in guard.root.rglob("*") if path.is_file()}


def refused(put, *given, **use):
    with pytest.raises(SetupError) as caught:
        put(*given, **use)
    return str(caught.value)


# -- what OpenCode is told to load, and which file it evaluates (opencode-facts.md A.4, L)


def test_a_file_without_a_manifest(tree, put, tmp_path):
    text = 'import "./helper.js"\nexport default 1'
    source = tree({"guard.js": text, "helper.js": "1", "notes/a-film.mp4": "1"}, "guard.js")
    guard = put(source)
    assert (guard.name, guard.marker, guard.source) == ("mine", None, source)
    assert guard.root == tmp_path / "copies" / "guard"
    assert guard.entry == guard.root / "guard.js"
    assert guard.spec == guard.entry.as_uri()
    assert copied(guard) == {"guard.js", "helper.js"}, "what it imports comes with it, and nothing else"
    assert guard.entry.read_text() == text + announced(guard, tmp_path)
    assert source.read_text() == text, "the original is left alone"


def test_a_file_in_a_package_brings_the_whole_package(tree, put, tmp_path):
    source = tree({"package.json": {"main": "dist/x.js"}, "src/index.ts": "export {}", "lib/a.ts": "1"}, "src/index.ts")
    guard = put(source)
    assert guard.entry == tmp_path / "copies" / "guard" / "src" / "index.ts"
    assert guard.spec == guard.entry.as_uri()
    assert (guard.root / "lib" / "a.ts").is_file()
    assert guard.entry.read_text() == "export {}" + announced(guard, tmp_path, script="ts")


@pytest.mark.parametrize(
    ("manifest", "entry"),
    [
        ({"main": "dist/main.js"}, "dist/main.js"),
        ({"main": "./dist/main.js"}, "dist/main.js"),
        ({"exports": {"./server": "./dist/server.js"}, "main": "dist/main.js"}, "dist/server.js"),
        ({"exports": {"./server": {"import": "./dist/server.js"}}, "main": "dist/main.js"}, "dist/server.js"),
        ({"exports": {"./server": {"default": "./dist/server.js"}}}, "dist/server.js"),
        ({"exports": {".": "./dist/server.js"}, "main": "dist/main.js"}, "dist/main.js"),
        ({"exports": "./dist/server.js"}, "index.js"),
        ({"name": "x"}, "index.js"),
        (None, "index.js"),
    ],
)
def test_a_directory(tree, put, tmp_path, manifest, entry):
    files = {"dist/main.js": "main", "dist/server.js": "server", "index.js": "index"}
    source = tree(files if manifest is None else {**files, "package.json": manifest})
    guard = put(source)
    assert guard.spec == guard.root.as_uri(), "the folder, so that OpenCode chooses as it does for a user"
    assert guard.entry == guard.root / entry
    changed = {name for name in files if (guard.root / name).read_text() != files[name]}
    assert changed == {entry}
    assert guard.entry.read_text() == files[entry] + announced(guard, tmp_path)


def test_a_file_beside_a_manifest_that_names_it(tree, put):
    guard = put(tree({"package.json": {"main": "./guard.js"}, "guard.js": "x"}, "guard.js"))
    assert guard.spec == guard.entry.as_uri()


def test_a_file_beside_a_manifest_without_a_main(tree, put):
    guard = put(tree({"package.json": {"name": "x"}, "guard.js": "x"}, "guard.js"))
    assert guard.entry == guard.root / "guard.js"


@pytest.mark.parametrize(
    "manifest", [{"main": "other.js"}, {"exports": {"./server": "./other.js"}, "main": "guard.js"}]
)
def test_a_file_that_opencode_would_not_load(tree, put, tmp_path, manifest):
    source = tree({"package.json": manifest, "guard.js": "x", "other.js": "y"}, "guard.js")
    assert refused(put, source) == (
        f"guard mine: OpenCode would load {tmp_path / 'guard' / 'other.js'} instead of guard.js, "
        f"because the package.json beside it names that file\n"
        f"Name the package's folder, or a file in a folder without a package.json."
    )


def test_options_and_marker_are_handed_on(tree, put):
    guard = put(tree({"guard.js": ""}, "guard.js"), options={"threshold": 4}, marker="[MINE]")
    assert (guard.spec, guard.marker) == ([guard.entry.as_uri(), {"threshold": 4}], "[MINE]")


def test_empty_options_are_options(tree, put):
    guard = put(tree({"guard.js": ""}, "guard.js"), options={})
    assert guard.spec == [guard.entry.as_uri(), {}]


# -- the private copy


def test_the_copy_leaves_out_what_nobody_loads_and_links_the_modules(tree, put):
    kept = {"index.js": "", "assets/skill.md": "", "src/test/a.js": "", "src/docs/a.js": ""}
    left_out = {"test/a.js": "", "tests/a.js": "", "docs/a.md": "", ".git/HEAD": "", "node_modules/dep/index.js": "dep"}
    source = tree({**kept, **left_out, "package.json": {"name": "x"}})
    guard = put(source)
    assert copied(guard) - {"node_modules/dep/index.js"} == {*kept, "package.json"}
    modules = guard.root / "node_modules"
    assert modules.is_symlink()
    assert modules.resolve() == source / "node_modules"
    assert (modules / "dep" / "index.js").read_text() == "dep"


def test_a_link_to_nowhere_is_left_out(tree, put):
    source = tree({"package.json": {}, "index.js": "x"})
    (source / "nowhere").symlink_to(source / "missing")
    assert copied(put(source)) == {"package.json", "index.js"}


@posix
def test_a_copy_of_read_only_files_can_be_changed_and_removed(tree, put):
    source = tree({"package.json": {}, "index.js": 'import "./lib/a.js"', "lib/a.js": "", "lib/run": ""})
    (source / "lib" / "run").chmod(0o555)
    for path in (source / "index.js", source / "lib" / "a.js", source / "lib", source):
        path.chmod(path.stat().st_mode & ~0o222)
    guard = put(source)
    modes = {path.relative_to(guard.root).as_posix(): path.stat().st_mode for path in guard.root.rglob("*")}
    assert guard.root.stat().st_mode & 0o700 == 0o700
    assert {name: oct(mode & 0o700) for name, mode in modes.items()} == {
        "package.json": "0o600",
        "index.js": "0o600",
        "lib": "0o700",
        "lib/a.js": "0o600",
        "lib/run": "0o700",
    }
    for path in (source, source / "lib"):
        path.chmod(0o755)


@pytest.mark.parametrize("entry", ["test/guard.js", "docs/guard.js", ".opencode/plugin/guard.js"])
def test_an_entry_in_a_folder_that_is_left_out_is_copied_all_the_same(tree, put, entry):
    folder = entry.rpartition("/")[0]
    files = {
        "package.json": {"name": "x"},
        entry: 'import "./near.js"',
        f"{folder}/near.js": "",
        f"{folder}/far.js": "",
    }
    guard = put(tree(files, entry))
    assert guard.entry == guard.root / entry
    assert copied(guard) == {"package.json", entry, f"{folder}/near.js"}


def test_imports_from_outside_of_the_package_keep_their_place(tree, put, tmp_path):
    files = {"package.json": {"main": "dist/index.js"}, "dist/index.js": 'export * from "../../shared/a"'}
    source = tree(files)
    shared = tmp_path / "shared" / "a.ts"
    shared.parent.mkdir()
    shared.write_text("1")
    guard = put(source)
    assert guard.root == tmp_path / "copies" / tmp_path.name
    assert copied(guard) == {"guard/package.json", "guard/dist/index.js", "shared/a.ts"}
    assert guard.spec == (guard.root / "guard").as_uri()


def test_a_main_outside_of_its_folder_is_followed(tree, put, tmp_path):
    source = tree({"index.js": "", "package/package.json": {"main": "../index.js"}}, "package")
    guard = put(source)
    assert (guard.root, guard.entry) == (tmp_path / "copies" / "guard", tmp_path / "copies" / "guard" / "index.js")
    assert guard.spec == (guard.root / "package").as_uri()


def test_modules_are_found_above_the_package(tree, put):
    source = tree({"node_modules/dep/index.js": "dep", "a/package.json": {}, "a/index.js": ""}, "a")
    guard = put(source)
    assert (guard.root / "node_modules").resolve() == source.parent / "node_modules"


def test_a_file_of_the_modules_is_reached_through_the_link(tree, put):
    files = {"package.json": {}, "index.js": 'import "./node_modules/a/i.js"', "node_modules/a/i.js": ""}
    assert (put(tree(files)).root / "node_modules").is_symlink()


def test_modules_inside_the_package_are_copied_with_it(tree, put):
    files = {"package.json": {}, "sub/guard.js": "", "sub/node_modules/dep/index.js": "dep"}
    guard = put(tree(files, "sub/guard.js"))
    assert (guard.root / "sub" / "node_modules" / "dep" / "index.js").read_text() == "dep"


def test_without_modules_nothing_is_linked(tree, put):
    guard = put(tree({"index.js": ""}))
    assert not (guard.root / "node_modules").exists()


def test_a_link_to_a_guard_is_followed(tree, put, tmp_path):
    source = tree({"guard.js": "x"}, "guard.js")
    link = tmp_path / "link.js"
    link.symlink_to(source)
    assert put(link).source == source


# -- what cannot be loaded


def test_a_missing_path(put, tmp_path):
    path = tmp_path / "dist"
    assert refused(put, path) == (
        f"guard mine: {path} does not exist\nThe path is relative to the scenario file; is the guard built?"
    )


@pytest.mark.parametrize(
    ("manifest", "named"), [(None, "index.js"), ({"main": "dist/x.js"}, "dist/x.js"), ({"main": "dist"}, "dist")]
)
def test_a_directory_without_its_entry(tree, put, manifest, named):
    source = tree({"dist/y.js": "", **({"package.json": manifest} if manifest else {})})
    assert refused(put, source) == (
        f"guard mine: {source} has no {named}\n"
        f"OpenCode loads exports['./server'], else main, else index.js. Is the guard built?"
    )


@pytest.mark.parametrize(("text", "why"), [("{", "not JSON (Expecting property name"), ("[]", "not a JSON object")])
def test_a_broken_manifest(tree, put, text, why):
    source = tree({"package.json": text, "index.js": ""})
    assert refused(put, source).startswith(f"{source / 'package.json'}: {why}")


@posix
def test_files_that_cannot_be_copied(tree, put):
    source = tree({"package.json": {}, "index.js": ""})
    os.mkfifo(source / "pipe")
    assert refused(put, source) == (
        f"guard mine could not be copied: `{source / 'pipe'}` is a named pipe\n"
        "Its files must be readable, and the temporary folder must have room for them."
    )


def test_a_disk_that_is_full(tree, put, monkeypatch):
    def full(*_given):
        raise OSError(28, "No space left on device", "/full/x")

    monkeypatch.setattr(guards.shutil, "copy2", full)
    assert refused(put, tree({"guard.js": ""}, "guard.js")).startswith(
        "guard mine could not be copied: [Errno 28] No space left on device: '/full/x'\n"
    )


# -- a module that cannot be copied


@pytest.mark.parametrize(
    ("text", "shares"),
    [('import "/opt/lib.js"', True), ('import("file:///opt/lib.js")', True), ('import "node:fs"', False)],
)
def test_a_guard_that_imports_by_a_whole_path_shares_its_modules(tree, text, shares):
    source = tree({"guard.js": 'import "./helper.js"', "helper.js": text}, "guard.js")
    assert shares_modules(GuardUse("mine", path=source), {}) is shares


# -- our own guard


def test_our_own_guard(put, tmp_path):
    guard = put(None, name="infinity", marker="[ANTI-LOOP]")
    assert (guard.source, guard.marker) == (OWN / "src" / "index.ts", "[ANTI-LOOP]")
    assert guard.entry == tmp_path / "copies" / "guard" / "src" / "index.ts"
    written = guard.entry.read_text(encoding="utf-8")
    assert written == guard.source.read_text(encoding="utf-8") + announced(guard, tmp_path, script="ts")
    assert {path.name for path in guard.root.iterdir()} >= {"package.json", "src"}
    assert not (guard.root / "test").exists()


def test_loop_guard_entry_takes_its_place(tree, put):
    source = tree({"package.json": {"main": "dist/index.js"}, "dist/index.js": "x"})
    environ = {"LOOP_GUARD_ENTRY": str(source)}
    guard = put(None, name="infinity", environ=environ)
    assert (guard.source, guard.entry) == (source, guard.root / "dist" / "index.js")


def test_a_guard_that_is_not_built_yet_is_named(put):
    with pytest.raises(SetupError, match="guardlab has no doom-loop guard yet"):
        put(None, name="doom-loop", environ={"LOOP_GUARD_ENTRY": "/nowhere"})


def test_an_empty_loop_guard_entry_counts_as_absent(put):
    assert put(None, name="infinity", environ={"LOOP_GUARD_ENTRY": ""}).source == OWN / "src" / "index.ts"


def test_a_path_wins_over_loop_guard_entry(tree, put):
    source = tree({"guard.js": ""}, "guard.js")
    assert put(source, name="infinity", environ={"LOOP_GUARD_ENTRY": "/nowhere"}).source == source


def test_a_wrapper_of_our_own_guard_gets_the_build_that_loop_guard_entry_names(tree, put, tmp_path):
    build = tree({"package.json": {"main": "dist/index.js"}, "dist/index.js": 'import "./a.js"', "dist/a.js": ""})
    wrapper = tmp_path / "wrapper.ts"
    wrapper.write_text(f'import {{ AntiLoop }} from "{os.path.relpath(OWN / "src" / "index.ts", tmp_path)}"')
    guard = put(wrapper, environ={"LOOP_GUARD_ENTRY": str(build)})
    imported = guard.root / (OWN / "src" / "index.ts").relative_to(os.path.commonpath([OWN, tmp_path]))
    there = os.path.relpath(tmp_path / "copies" / "chosen-build" / "dist" / "index.js", imported.parent)
    assert imported.read_text() == f'export * from "{there}";\nexport {{ default }} from "{there}";\n'
    assert (imported.parent / there).with_name("a.js").is_file()
    guard = put(wrapper, name="again")
    assert "AntiLoop" in (guard.root / imported.relative_to(guard.root)).read_text()


def test_a_missing_loop_guard_entry(put):
    assert refused(put, None, name="infinity", environ={"LOOP_GUARD_ENTRY": "/nowhere/dist"}) == (
        "LOOP_GUARD_ENTRY: /nowhere/dist does not exist\n"
        "Give the path of a built guard: its package folder or its entry file."
    )
