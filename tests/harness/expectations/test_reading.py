"""How expectations are read: what a scenario file may say, and how a mistake is told."""

from __future__ import annotations

import pytest
from handmade import Story
from judging import read

from fakemodel.source import SourceError
from harness.expectations import REGISTRY
from harness.expectations.base import Range
from harness.expectations.views import emissions, matching, same, texts
from harness.expectations.words import call_words, clip, count_words, ordinal, positions, quoted, times, value_words

MISTAKES = [
    ("blocked: {tool: bash, nht: 3}", "unknown key 'nht'"),
    ("blocked: {nth: 0}", "positions count from 1"),
    ("blocked: {nth: 5..3}", "wanted a range whose end is not below its start; 5 is above 3"),
    ("blocked: {times: some}", "wanted a whole number or a range like 3..12, 3.. or ..12"),
    ("blocked: {times: -1}", "wanted a whole number or a range like 3..12, 3.. or ..12"),
    ("executed: {times: 2}", "the key 'tool' is missing"),
    ("answer: {session: main}", "an answer has either 'text' or 'contains'"),
    ("answer: {text: a, contains: b}", "an answer has either 'text' or 'contains'"),
    ("tool_result: {tool: bash}", "a tool_result has either 'contains' or 'equals' or 'identical: true'"),
    ("stream_closed: {reply: 0}", "wanted at least 1, got a number (0)"),
    (
        "stream_closed: {reply: 1, by: cleint}",
        "wanted 'client', 'script', 'fault', 'killed' or 'shutdown', got text ('cleint')",
    ),
    ("stream_closed: {reply: 1, within: 5}", "wanted a duration such as 5ms, 1.5s or 2m, got a number (5)"),
    ("exchange: {status: 429}", "an exchange is chosen by 'reply' or 'kind'"),
    ("log: {}", "a log has 'contains', 'absent' or both"),
    ("files: {a: {contain: b}}", "unknown key 'contain'"),
    ("files: {a: {}}", "a file has either 'equals' or 'contains'"),
    ("files: {a: 5}", "wanted text or a mapping, got a number (5)"),
    ("permissions: {action: bash, replied: never}", "wanted 'once', 'always' or 'reject', got text ('never')"),
    ("order: [stream_closed, continuatoin]", "order does not know 'continuatoin'"),
    ("order: [idle, {blokked: {}}]", "unknown key 'blokked'"),
    ("order: [idle, {answer: {}}]", "an answer has either 'text' or 'contains'"),
    ("order: [idle, {answer: {textt: a}}]", "unknown key 'textt'"),
    ("order: [idle, {answer: a, blocked: {}}]", "an entry of order is a word or one expectation"),
    ("order: [idle, {}]", "an entry of order is a word or one expectation"),
    ("order: [idle, {executed: {}}]", "the key 'tool' is missing"),
    ("order: [idle, {exit: one}]", "wanted a whole number, got text ('one')"),
    ("order: [idle]", "wanted a list of at least 2, got a list of 1"),
    ("idle_before: answer", "wanted 'continuation', got text ('answer')"),
]


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_a_mistake_is_told_at_its_place(line, message):
    with pytest.raises(SourceError) as caught:
        read(line)
    assert [problem.message for problem in caught.value.problems] == [message]


@pytest.mark.parametrize("family", REGISTRY.values())
def test_every_expectation_has_a_schema_and_a_doc(family):
    assert family.model_json_schema()["type"] == "object"
    assert family.__doc__


def test_sessions_that_an_expectation_mentions():
    assert read("blocked: {session: child}").sessions() == {"child"}
    assert read("blocked: {}").sessions() == frozenset()
    assert read("answer: a").sessions() == {"main"}
    ((index, inner),) = read("order: [idle, {answer: {session: work, text: a}}]").inner()
    assert (index, inner.sessions()) == (1, {"work"})


@pytest.mark.parametrize(
    ("line", "claims"),
    [
        ("blocked: {times: 0}", True),
        ("blocked: {times: ..3}", True),
        ("blocked: {nth: 3}", True),
        ("blocked: {nth: 3..}", True),
        ("blocked: {times: 3}", True),
        ("blocked: {times: 3..}", False),
        ("blocked: {}", False),
        ("executed: {tool: bash}", False),
        ("executed: {tool: bash, times: 0}", True),
        ("executed: {tool: bash, times: 2}", True),
        ("executed: {tool: bash, times: 2..}", False),
        ("tool_result: {tool: bash, contains: a}", False),
        ("tool_result: {tool: bash, contains: a, nth: 2}", True),
        ("event: {type: a}", False),
        ("event: {type: a, times: 1}", True),
        ("requests: 0", True),
        ("requests: 2", True),
        ("requests: 2..", False),
        ("continuations: 0", True),
        ("continuations: 1", True),
        ("continuations: 1..", False),
        ("permissions: {action: bash, asked: 0}", True),
        ("permissions: {action: bash, asked: 1}", True),
        ("permissions: {action: bash}", False),
        ("toast: {contains: a, times: 0}", True),
        ("toast: {contains: a, times: ..2}", True),
        ("toast: a", False),
        ("order: [idle, {blocked: {nth: 3}}]", True),
        ("order: [idle, {blocked: {}}]", False),
        ("log: {absent: a}", True),
        ("log: {contains: a}", False),
        ("files: {a: unchanged}", True),
        ("files: {a: absent}", True),
        ("files: {a: changed, b: text}", False),
    ],
)
def test_what_claims_an_absence(line, claims):
    assert read(line).claims_absence() is claims


def test_a_range_reads_as_it_is_written():
    assert [str(Range(*ends)) for ends in ((3, 3), (3, 12), (3, None), (0, 12))] == ["3", "3..12", "3..", "0..12"]


def test_an_emission_is_one_part_in_its_last_state():
    story = Story()
    story.call("bash", command="ls", timeout=5)
    story.call("read", "child", fate="error", text="no", seen=False, filePath="a")
    first, second = emissions(story.record())
    assert (first.session, first.tool, first.input, first.status, first.output) == (
        "main",
        "bash",
        {"command": "ls", "timeout": 5},
        "completed",
        "ok",
    )
    assert (second.session, second.status, second.error, second.output) == ("child", "error", "no", "")
    assert first.first < first.last < second.first
    assert matching([first, second], None, {"timeout": 5}, "main") == [first]
    assert matching([first, second], "bash", {"timeout": 5.5}, None) == []


def test_values_are_compared_as_json():
    assert same({"a": 1, "b": [True]}, {"b": [True], "a": 1})
    assert not same({"a": 1}, {"a": True})
    assert not same("1", 1)


def test_texts_are_numbered_as_a_reader_counts_them():
    story = Story()
    story.prompt()
    story.part("main", id="p0", type="step-start")
    story.say("one")
    story.call("bash", command="ls")
    story.say("two")
    assert [text.where for text in texts(story.record())] == [
        "session main, message 2, part 1",
        "session main, message 2, part 3",
    ]


def test_words():
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 21, 113)] == ["1st", "2nd", "3rd", "4th", "11th", "21st", "113th"]
    assert positions([1, 3, 4, 5, 9, 8]) == "the 1st, the 3rd to 5th and the 8th and 9th"
    assert positions([]) == "none"
    assert [times(Range(*ends)) for ends in ((2, 2), (1, None), (0, 3), (2, 4))] == [
        "exactly 2",
        "at least 1",
        "at most 3",
        "2 to 4",
    ]
    assert (times(Range(1, 1), "call"), times(Range(1, None), "call"), times(Range(0, 0), "call")) == (
        "exactly 1 call",
        "at least 1 call",
        "exactly 0 calls",
    )
    assert (count_words(1, "call"), count_words(0, "call")) == ("1 call", "0 calls")
    assert value_words({"a": ["x", 1, None], "b": ""}) == '{a: [x, 1, null], b: ""}'
    assert call_words(None, None) == "any tool"
    assert call_words("bash", {"command": "a\nb"}, "work") == "bash {command: a\\nb} in session work"
    assert clip("abcdef", 5) == "ab..."
    assert quoted("x" * 161).endswith('x"... (161 characters)')
