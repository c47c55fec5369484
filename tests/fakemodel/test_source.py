"""YAML: the core schema, places, and errors that show them."""

from __future__ import annotations

import math

import pytest

from fakemodel.source import SourceError as Refused
from fakemodel.source import Span, load_file, load_text


def refused(text: str) -> str:
    with pytest.raises(Refused) as caught:
        load_text(text, "f.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("No", "No"),
        ("12:30", "12:30"),
        ("2001-01-01", "2001-01-01"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("tRue", "tRue"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("Null", None),
        ("", None),
        ("007", 7),
        ("-12", -12),
        ("0x1F", 31),
        ("0o17", 15),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("<<", "<<"),
        ("{<<: 1}", {"<<": 1}),
        ("[{a: Where is it?}, b? c, d?]", [{"a": "Where is it?"}, "b? c", "d?"]),
        ("? a\n: b", {"a": "b"}),
    ],
)
def test_core_schema(text, value):
    assert load_text(text, "f.yaml").value == value


def test_not_a_number_is_read():
    assert math.isnan(load_text(".nan", "f.yaml").value)


def test_every_value_and_key_has_a_place():
    document = load_text("a:\n  - x\n  - {b: 12}\n", "f.yaml")
    assert document.value == {"a": ["x", {"b": 12}]}
    assert document.spans["a", 0] == Span(2, 5, 2, 6)
    assert document.spans["a", 1, "b"] == Span(3, 9, 3, 11)
    assert document.key_spans["a", 1, "b"] == Span(3, 6, 3, 7)
    assert document.spans[()].line == 1


def test_an_alias_is_a_value_at_each_of_its_places():
    document = load_text("a: &x [1]\nb: *x\n", "f.yaml")
    assert document.value == {"a": [1], "b": [1]}
    assert document.spans["b", 0] == document.spans["a", 0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: 1\na: 2", "f.yaml:2:1: the key 'a' is there twice; the first is on line 1\n 2 | a: 2\n   | ^"),
        (
            "a: 1\n---\nb: 2",
            (
                "f.yaml:2:1: a second document begins here; a file holds one\n 2 | ---\n   | ^\n"
                "   remove the line '---' or make two files"
            ),
        ),
        ("a: &x [*x]", "f.yaml:1:4: an alias (*) names a value that contains it\n 1 | a: &x [*x]\n   |    ^^^^^^^"),
        ("a:\n\t- b", "f.yaml:2:1: a tab stands where YAML wants spaces\n 2 |  - b\n   | ^\n   indent with spaces"),
        (
            "a: b: c",
            (
                "f.yaml:1:5: YAML error: mapping values are not allowed here\n 1 | a: b: c\n   |     ^\n"
                "   text with ': ' in it must be quoted"
            ),
        ),
        ("1: 2", 'f.yaml:1:1: a key must be text, got 1\n 1 | 1: 2\n   | ^\n   quote it: "1"'),
        ("? [a]\n: b", "f.yaml:1:3: a key must be text, not a list or a mapping\n 1 | ? [a]\n   |   ^^^"),
        ("a: !x b", "f.yaml:1:4: the tag !x is not known here\n 1 | a: !x b\n   |    ^^^^\n   remove the tag"),
        ("a: *x", "f.yaml:1:4: YAML error: found undefined alias 'x'\n 1 | a: *x\n   |    ^"),
        ("a: \x07", "f.yaml:1:4: the character U+0007 is not allowed\n 1 | a: \x07\n   |    ^"),
        ("!!int abc", "f.yaml:1:1: 'abc' is no int\n 1 | !!int abc\n   | ^^^^^^^^^"),
    ],
)
def test_errors_show_the_place(text, error):
    assert refused(text).startswith(error)


@pytest.mark.parametrize(
    "text", ["[" * 2000, "[" * 102 + "]" * 102, f"[&a {'[' * 60}{']' * 60}, {'[' * 60}*a{']' * 60}]"]
)
def test_deep_nesting_is_an_error(text):
    error = refused(text)
    assert "the document is nested more than 100 deep\n 1 | [" in error
    assert not error.startswith("f.yaml:1:1:")


def test_what_json_could_not_carry_is_refused_where_it_stands():
    assert load_text('["\\ud83d\\ude00", "a\\u00e9"]', "f.yaml").value == ["😀", "aé"]
    assert refused('[a, "b\\ud800"]').startswith("f.yaml:1:5: an escape (\\u) is half of a character")
    for number in ("7" * 5000, "0x" + "f" * 5000, "1." + "0" * 5000):
        first = refused(f"[a, {number}]").splitlines()[0]
        assert first == f"f.yaml:1:5: a number of {len(number)} characters is too long"


def test_aliases_cannot_unfold_without_bound():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    assert "the document unfolds to more than 100000 values" in refused("\n".join(lines))


def test_a_file_is_shown_under_the_name_given(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes("\N{ZERO WIDTH NO-BREAK SPACE}a: ü\n".encode())
    assert load_file(path, shown_as="scenarios/x.yaml").file == "scenarios/x.yaml"
    assert load_file(path).value == {"a": "ü"}


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(Refused, match=r"^gone:1:1: the file cannot be read: No such file or directory$"):
        load_file(tmp_path / "gone", shown_as="gone")
    (tmp_path / "latin").write_bytes(b"a: \xfc")
    with pytest.raises(Refused, match=r"^latin:1:1: the file is not UTF-8 text \(byte 3\)$"):
        load_file(tmp_path / "latin", shown_as="latin")
