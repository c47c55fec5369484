"""Models of YAML: strict, and errors in YAML's words at the right place."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, field_validator, model_validator

from fakemodel.loading import Seconds, SourceError, StrictModel, check, described, load_text, suggest, wrong


class Inner(StrictModel):
    name: str
    count: Annotated[int, Field(ge=1)] = 1


class Outer(StrictModel):
    title: str
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    text_or_list: str | tuple[str, ...] = ""
    wait: Seconds = 0.0
    by_name: dict[str, int] = Field(default_factory=dict)

    @field_validator("title")
    @classmethod
    def _no_dot(cls, title: str) -> str:
        if title.endswith("."):
            raise wrong("a title has no dot at its end", "remove the dot")
        return title

    @model_validator(mode="after")
    def _not_both(self) -> Outer:
        if self.inner and self.many:
            raise wrong("'inner' cannot stand beside 'many'", key="many")
        return self


def refused(text: str) -> str:
    with pytest.raises(SourceError) as caught:
        check(load_text(text, "f.yaml"), (), Outer)
    return "\n".join(line for line in str(caught.value).splitlines() if " | " not in line)


def test_a_good_value_becomes_a_model():
    document = load_text("x:\n  title: a\n  many: [{name: b, count: 2}]\n  wait: 1.5s\n", "f.yaml")
    model = check(document, ("x",), Outer)
    assert model == Outer(title="a", many=(Inner(name="b", count=2),), wait="1.5s")


def test_only_the_keys_asked_for_are_looked_at():
    assert check(load_text("{name: a, other: 1}", "f.yaml"), (), Inner, keys=["name"]) == Inner(name="a")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "{titel: a}",
            "f.yaml:1:1: the key 'title' is missing\n   add 'title: ...'\nf.yaml:1:2: unknown key 'titel'",
        ),
        (
            "{title: a, zzz: 1}",
            "f.yaml:1:12: unknown key 'zzz'\n   known keys: by_name, inner, many, text_or_list, title, wait",
        ),
        ("{title: 12}", 'f.yaml:1:9: wanted text, got a number (12)\n   quote it: "12"'),
        ("{title: true}", 'f.yaml:1:9: wanted text, got true\n   quote it: "true"'),
        ("{title:}", "f.yaml:1:8: wanted text, got nothing"),
        ("{title: a.}", "f.yaml:1:9: a title has no dot at its end\n   remove the dot"),
        ("{title: a, inner: {name: b, cuont: 1}}", "f.yaml:1:29: unknown key 'cuont'\n   did you mean 'count'?"),
        ("{title: a, inner: b}", "f.yaml:1:19: wanted a mapping, got text ('b')"),
        ("{title: a, inner: {name: b, count: 0}}", "f.yaml:1:36: wanted at least 1, got a number (0)"),
        ("{title: a, inner: {name: b, count: 1.5}}", "f.yaml:1:36: wanted a whole number, got a number (1.5)"),
        ("{title: a, many: [{}]}", "f.yaml:1:19: the key 'name' is missing"),
        ("{title: a, many: {name: b}}", "f.yaml:1:18: wanted a list, got a mapping"),
        ("{title: a, text_or_list: 5}", 'f.yaml:1:26: wanted text or a list, got a number (5)\n   quote it: "5"'),
        ("{title: a, text_or_list: [b, 5]}", 'f.yaml:1:30: wanted text, got a number (5)\n   quote it: "5"'),
        (
            "{title: a, wait: 5}",
            "f.yaml:1:18: wanted a duration such as 5ms, 1.5s or 2m, got a number (5)\n   with a unit: 5ms or 5s",
        ),
        ("{title: a, wait: soon}", "f.yaml:1:18: wanted a duration such as 5ms, 1.5s or 2m, got text ('soon')"),
        ("{title: a, by_name: {b: c}}", "f.yaml:1:25: wanted a whole number, got text ('c')"),
        ("{title: a, inner: {name: b}, many: [{name: c}]}", "f.yaml:1:30: 'inner' cannot stand beside 'many'"),
        ("[a]", "f.yaml:1:1: wanted a mapping, got a list"),
        ("{title: a, by_name: {b: .inf}}", "f.yaml:1:25: an infinite number or NaN has no use here"),
    ],
)
def test_errors_say_what_was_wanted_and_found(text, error):
    assert refused(text).startswith(error)


def test_all_problems_come_at_once_in_the_order_of_the_file():
    text = "many: 1\ntitle: 2\nextra: 3\n"
    assert [line.split(": ")[0] for line in refused(text).splitlines() if line.startswith("f.yaml")] == [
        "f.yaml:1:7",
        "f.yaml:2:8",
        "f.yaml:3:1",
    ]


def test_the_source_line_has_a_caret():
    with pytest.raises(SourceError) as caught:
        check(load_text("title: a\ninner: {name: b,\n  cuont: 1}\n", "f.yaml"), (), Outer)
    assert str(caught.value) == (
        "f.yaml:3:3: unknown key 'cuont'\n 3 |   cuont: 1}\n   |   ^^^^^\n   did you mean 'count'?"
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing"),
        (False, "false"),
        (1.5, "a number (1.5)"),
        ("a" * 50, f"text ('{'a' * 37}'...)"),
        ([1], "a list"),
        ({}, "an empty mapping"),
    ],
)
def test_values_in_words(value, words):
    assert described(value) == words


def test_suggestions_are_near_or_none():
    assert suggest("tims", ["times", "say"]) == "times"
    assert suggest("qqq", ["times", "say"]) is None
