"""The page scenarios/README.md names everything that a scenario file may hold, and its samples are files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fakemodel.faults import FaultModel, fault_kinds
from fakemodel.grammar import ReplyModel, ScriptModel, UntilModel, UsageModel, VaryModel, WhenModel
from harness.expectations import REGISTRY
from harness.expectations.moments import MOMENTS
from harness.invariants import INVARIANTS
from harness.scenario.loader import GUARDS, load
from harness.scenario.model import ApiFault, Head, OpenCode, PathGuard, Workspace
from harness.scenario.steps import STEPS, WaitFor

SCENARIOS = Path(__file__).parents[3] / "scenarios"
PAGE = (SCENARIOS / "README.md").read_text(encoding="utf-8")
SAMPLES = sorted((SCENARIOS / "samples").glob("*.scenario.yaml"))
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
# 240 words a minute; what stands in code blocks is looked at rather than read.
WORDS_IN_TEN_MINUTES = 2400


def words_in_code(text):
    return re.findall(r"`([^`]+)`", text)


def tables():
    """Give each table of the page, in order: its rows as lists of cells, the head first."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()]
        found.append([rows[0], *rows[2:]])
    return found


def table(*heads):
    """Give the rows of every table with such a head: key -> its row; a row can be about two keys."""
    rows = [row for one in tables() if tuple(one[0][: len(heads)]) == heads for row in one[1:]]
    return {key: row for row in rows for key in words_in_code(row[0])}


def keys(model):
    return {field.alias or name for name, field in model.model_fields.items()}


def section(title):
    return re.split(r"^#+ ", PAGE.split(f"# {title}\n", maxsplit=1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def keys_of(title):
    return {key for line in section(title).splitlines() if line.startswith("|") for key in first_cell(line)}


def first_cell(line):
    return words_in_code(line.split("|")[1])


@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("The file", keys(Head)),
        ("The script", keys(ReplyModel) | keys(ScriptModel) | {"main", "child", "child[2]"}),
        ("Conditions", keys(WhenModel)),
        ("Faults", set(fault_kinds())),
        ("Steps", {*STEPS, *keys(WaitFor)} - {"expectation"} | {"wait_for"}),
        ("OpenCode", keys(OpenCode) | keys(ApiFault)),
        ("Expectations", set(REGISTRY)),
        ("Invariants", set(INVARIANTS)),
    ],
)
def test_a_table_names_every_key_and_no_other(title, known):
    assert keys_of(title) == known


@pytest.mark.parametrize("kind", REGISTRY)
def test_an_expectation_is_shown_with_its_fields_and_its_bare_value(kind):
    model, row = REGISTRY[kind], table("expectation", "bare value")[kind]
    assert words_in_code(row[1]) == ([model.shorthand] if model.shorthand else [])
    named = set(words_in_code(row[3])) - ({"first"} if kind == "tool_result" else set())
    assert named == (set() if kind == "files" else keys(model))


def test_every_moment_of_order_is_named():
    assert set(words_in_code(table("expectation")["order"][2])) == set(MOMENTS)


@pytest.mark.parametrize("kind", fault_kinds())
def test_a_fault_is_shown_with_its_options(kind):
    (model,) = [t for t in FaultModel.model_fields[kind].annotation.__args__ if t is not type(None)]
    row = table("key", "does", "options beside the bare value")[kind]
    values = {"between", "frame", "json"}
    assert set(words_in_code(row[2])) - values == keys(model)


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("vary", keys(VaryModel)),
        ("usage", keys(UsageModel)),
        ("until", keys(UntilModel) - keys(WhenModel)),
        ("workspace", keys(Workspace)),
        ("guard", {*GUARDS, "none"}),
    ],
)
def test_a_row_names_what_its_key_holds(key, known):
    text = " ".join(words_in_code(table("key", "holds")[key][1]))
    assert [one for one in sorted(known) if not re.search(rf"(?<![\w-]){one}(?![\w-])", text)] == []


def test_the_keys_of_a_guard_by_path_are_named():
    paragraph = section("The file").split("A guard by its path takes", maxsplit=1)[1].split("```", maxsplit=1)[0]
    assert set(words_in_code(paragraph)) == keys(PathGuard)


def test_the_page_can_be_read_in_ten_minutes():
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    assert len(re.findall(r"\w+(?:[-.'_]\w+)*", prose)) < WORDS_IN_TEN_MINUTES


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[1])
def test_a_sample_is_a_file_or_its_first_lines(block):
    assert any(path.read_text(encoding="utf-8").startswith(block) for path in SAMPLES)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_loads_and_is_on_the_page(path):
    scenario = load(path)
    assert f"title: {scenario.head.title}\n" in "".join(BLOCKS) or f"samples/{path.name}" in PAGE


def test_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)]+)\)", PAGE)
    anchors = {title.lower().replace(" ", "-") for title in re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)}
    files = [target for target in targets if not target.startswith("#")]
    assert [target for target in files if not (SCENARIOS / target).exists()] == []
    assert {target[1:] for target in targets if target.startswith("#")} <= anchors
