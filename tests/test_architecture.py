"""Reads the sources and holds DESIGN.md's list: who imports whom, who may ask what, and how long things may be."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LONGEST_FUNCTION = 40
LONGEST_FILE = 300

# From top to bottom: a room imports rooms of later lines only. A module that stands nowhere is a door (plugin, collect,
# cli, ...): it may import everything, and nothing below may import it.
ORDER = (
    ("lab",),
    ("runner",),
    ("steps", "loaded"),
    ("settling",),
    ("scene", "settings"),
    ("evidence", "props"),
    ("guards",),
    ("modules", "activity", "entries", "report", "probe", "opencode"),
    ("scenario", "process"),
    ("expectations", "invariants"),
    ("timeline",),
    ("errors", "contracts", "stacks"),
)
DEPTH = {room: depth for depth, line in enumerate(ORDER) for room in line}
# Names for annotations only, against the order: a run is handed its lab, the evidence its scene; the settings know the
# pinned version of OpenCode.
UPWARD_TYPES = {("runner", "lab"), ("evidence", "scene"), ("opencode", "settings"), ("report", "settings")}
# process/platform.py is the one room that asks; fakemodel knows nothing of it, and a reset needs Windows' own struct.
ASK_WHICH_SYSTEM = {"harness/process/platform.py", "fakemodel/connection.py"}
# Nobody sleeps: the fake model paces by waiting for the client to leave, and everything else waits for a signal.
SLEEP: set[str] = set()
SYSTEM_NAMES = {("sys", "platform"), ("os", "name"), ("os", "uname"), ("sys", "getwindowsversion")}


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    typing: bool


@dataclass(frozen=True)
class Source:
    """One Python file: `name` from the root with slashes, `text`, `tree`."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        return self.name.removesuffix(".py").split("/")[1]

    def imports(self) -> list[Import]:
        return list(_imports(self.tree, typing=False))


def _imports(node, *, typing):
    for child in ast.iter_child_nodes(node):
        guarded = typing or (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"))
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, typing) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            # `from harness import runner` names a room too.
            inner = [f"{child.module}.{alias.name}" for alias in child.names if child.module == "harness"]
            yield from (Import(name, child.lineno, typing) for name in inner or [child.module or "."])
        else:
            yield from _imports(child, typing=guarded)


@cache
def sources(package):
    paths = sorted((ROOT / package).rglob("*.py"))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


# -- the rules: each gives the offenders in one source, as text


def against_the_order(source):
    depth = DEPTH.get(source.room, -1)
    for one in source.imports():
        package, _, rest = one.module.partition(".")
        room = rest.split(".")[0]
        if package != "harness" or room == source.room or (one.typing and (source.room, room) in UPWARD_TYPES):
            continue
        if depth >= 0 and DEPTH.get(room, -1) <= depth:
            yield f"{source.name}:{one.line} imports {one.module}"


def not_harness(source):
    return [f"{source.name}:{one.line}" for one in source.imports() if one.module.split(".")[0] == "harness"]


def data_only(source):
    allowed = ("harness.expectations", "harness.timeline", "fakemodel.loading")
    for one in source.imports():
        ours = one.module.split(".")[0] in ("harness", "fakemodel")
        if ours and not any(one.module == name or one.module.startswith(name + ".") for name in allowed):
            yield f"{source.name}:{one.line} imports {one.module}"


def which_system(source):
    if source.name in ASK_WHICH_SYSTEM:
        return
    yield from (f"{source.name}:{one.line} imports platform" for one in source.imports() if one.module == "platform")
    for node in ast.walk(source.tree):
        asks = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if asks and (node.value.id, node.attr) in SYSTEM_NAMES:
            yield f"{source.name}:{node.lineno} asks {ast.unparse(node)}"
        if isinstance(node, ast.ImportFrom) and any((node.module, a.name) in SYSTEM_NAMES for a in node.names):
            yield f"{source.name}:{node.lineno} {ast.unparse(node)}"


def long_functions(source):
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield f"{source.name}:{node.lineno} {node.name} has {lines} lines"


def sleeps(source):
    if source.name in SLEEP:
        return
    for node in ast.walk(source.tree):
        named = isinstance(node, ast.ImportFrom) and any(alias.name == "sleep" for alias in node.names)
        if named or (isinstance(node, ast.Attribute) and node.attr == "sleep"):
            yield f"{source.name}:{node.lineno} {ast.unparse(node)}"


def no_sentence(source):
    first = (ast.get_docstring(source.tree) or "").split("\n\n", maxsplit=1)[0]
    if not first.endswith("."):
        yield f"{source.name} has no docstring whose first paragraph is a sentence"


def mutable_state(source):
    makers = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    for node in source.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            made = isinstance(target, ast.Name) and isinstance(getattr(node, "value", None), makers)
            if made and target.id != "__all__" and not target.id.isupper():
                yield f"{source.name}:{node.lineno} {target.id}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Global):
            yield f"{source.name}:{node.lineno} {ast.unparse(node)}"


RULES = {
    "imports go one way": (against_the_order, ("harness",)),
    "fakemodel knows nothing of harness": (not_harness, ("fakemodel",)),
    "expectations see data only": (data_only, ("harness/expectations",)),
    "one room asks which system this is": (which_system, ("harness", "fakemodel")),
    "functions are short": (long_functions, ("harness", "fakemodel")),
    "nobody sleeps": (sleeps, ("harness", "fakemodel")),
    "a module says what it is for": (no_sentence, ("harness", "fakemodel")),
    "no module-level mutable state": (mutable_state, ("harness", "fakemodel")),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule):
    offenders, packages = RULES[rule]
    for package in packages:
        assert sources(package), f"nothing lies in {package}"
        assert [found for source in sources(package) for found in offenders(source)] == []


BROKEN = [
    (against_the_order, "harness/report/a.py", "from harness.opencode.driver import Driver"),
    (against_the_order, "harness/timeline.py", "from harness import scene"),
    (against_the_order, "harness/scene.py", "import harness.collect"),
    (against_the_order, "harness/process/a.py", "def f():\n    from harness.scenario.model import Step"),
    (against_the_order, "harness/scenario/a.py", "if TYPE_CHECKING:\n    from harness.scene import Scene"),
    (against_the_order, "harness/runner.py", "from harness.lab import Lab"),
    (not_harness, "fakemodel/a.py", "if TYPE_CHECKING:\n    import harness.errors"),
    (data_only, "harness/expectations/a.py", "from harness.scene import Scene"),
    (data_only, "harness/expectations/a.py", "from fakemodel.stage import Stage"),
    (which_system, "harness/scene.py", "import sys\nwindows = sys.platform == 'win32'"),
    (which_system, "harness/scene.py", "from os import name"),
    (which_system, "harness/scene.py", "import platform"),
    (long_functions, "harness/a.py", "async def f():\n" + "    f()\n" * LONGEST_FUNCTION),
    (sleeps, "harness/a.py", "import asyncio\nasync def f():\n    await asyncio.sleep(1)"),
    (sleeps, "harness/a.py", "from time import sleep"),
    (no_sentence, "harness/a.py", "x = 1"),
    (no_sentence, "harness/a.py", '"""Things"""'),
    (mutable_state, "harness/a.py", "seen = {}"),
    (mutable_state, "harness/a.py", "seen: list[str] = []"),
    (mutable_state, "harness/a.py", "def f():\n    global COUNT\n    COUNT = 1"),
]


@pytest.mark.parametrize(("offenders", "name", "text"), BROKEN)
def test_a_rule_notices(offenders, name, text):
    assert len(list(offenders(Source(name, text)))) == 1


WHOLE = [
    (against_the_order, "harness/runner.py", "if TYPE_CHECKING:\n    from harness.lab import Lab"),
    (against_the_order, "harness/steps.py", "from harness.steps import do\nfrom harness.errors import CrashError"),
    (against_the_order, "harness/cli.py", "from harness.collect import lab_of\nfrom harness import runner"),
    (data_only, "harness/expectations/a.py", "from fakemodel.loading import Seconds\nimport re"),
    (long_functions, "harness/a.py", "def f():\n" + "    f()\n" * (LONGEST_FUNCTION - 1)),
    (mutable_state, "harness/a.py", "__all__ = ['f']\nTABLE = {}\nfrozen = ()"),
]


@pytest.mark.parametrize(("offenders", "name", "text"), WHOLE)
def test_a_rule_leaves_alone(offenders, name, text):
    assert list(offenders(Source(name, text))) == []


@pytest.mark.parametrize("allowed", sorted(ASK_WHICH_SYSTEM | SLEEP))
def test_an_exception_is_still_needed(allowed):
    text = (ROOT / allowed).read_text(encoding="utf-8")
    assert list(which_system(Source("unknown.py", text))) or list(sleeps(Source("unknown.py", text)))


def test_files_are_short():
    paths = [p for room in ("harness", "fakemodel") for kind in ("py", "mjs") for p in (ROOT / room).rglob(f"*.{kind}")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_only_the_hosts_import_opencodes_plugin_api():
    wanted = re.compile(r"""^\s*(import|export)\b.*["']@opencode-ai/plugin""", re.MULTILINE)
    paths = (ROOT / "guard" / "src").rglob("*.ts")
    users = {p.parent.relative_to(ROOT).as_posix() for p in paths if wanted.search(p.read_text(encoding="utf-8"))}
    assert users == {"guard/src/hosts"}
