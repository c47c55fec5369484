"""Sessions find their scripts by what OpenCode sends."""

from __future__ import annotations

import pytest

from fakemodel.loading import load_text, parse_script
from fakemodel.matching import Miss
from fakemodel.request import Message, Request
from fakemodel.routing import Router, kind_of


def request(session=None, parent=None, user="hi", system="", tools=("bash",)):
    headers = {"x-session-id": session, "x-parent-session-id": parent}
    headers = {name: value for name, value in headers.items() if value}
    return Request("m", stream=True, system=system, messages=(Message("user", user),), tools=tools, headers=headers)


def router(text):
    return Router(parse_script(load_text(text, "f.yaml"), ()))


def found(where, **asked):
    session = where.find(request(**asked))
    return session.reason if isinstance(session, Miss) else session.name


def test_the_first_session_plays_main_and_stays():
    where = router("[{say: a}]")
    assert found(where, session="s1") == found(where, session="s1") == "main"
    assert found(where, session="s2") == "session s2 plays no script"


def test_without_a_header_everything_is_main():
    assert found(router("[{say: a}]")) == "main"


def test_unbound_sessions_play_the_scripts_in_order_main_first():
    where = router("{b: [{say: x}], child: [{say: x}], main: [{say: x}], c: [{say: x}]}")
    assert [found(where, session=str(n)) for n in range(4)] == ["main", "b", "c", "session 3 plays no script"]


def test_a_bound_session_ends_the_guessing():
    where = router("{main: [{say: x}], work: [{say: x}]}")
    where.bind("s1", "work")
    assert found(where, session="s1") == "work"
    assert found(where, session="s2") == "session s2 plays no script"


def test_a_bound_name_without_a_script():
    where = router("{main: [{say: x}], work: [{say: x}]}")
    where.bind("s1", "prose")
    assert found(where, session="s1") == "there is no script for session prose; scripted sessions: main, work"


def test_children_play_child_scripts_in_the_order_of_appearance():
    where = router("{main: [{say: x}], 'child[2]': [{say: x}], child: [{say: x}]}")
    where.bind("s1", "main")
    assert found(where, session="c1", parent="s1") == "child"
    assert found(where, session="c2", parent="s1") == "child[2]"
    assert found(where, session="c1", parent="s1") == "child"
    assert (
        found(where, session="c3", parent="s1") == "session c3 is a child of main, and no child script is left for it"
    )


def test_a_child_script_is_found_by_its_prompt():
    where = router("main: [{say: x}]\nchild: [{say: x}]\nchild[2]: {prompt: Find it, replies: [{say: x}]}")
    where.bind("s1", "main")
    assert found(where, session="c1", parent="s1", user="Please Find it now") == "child[2]"
    assert found(where, session="c2", parent="s1", user="Something else") == "child"


def test_a_child_of_a_child_plays_a_child_script():
    where = router("{main: [{say: x}], 'child[1]': [{say: x}], 'child[2]': [{say: x}]}")
    where.bind("s1", "main")
    assert found(where, session="c1", parent="s1") == "child[1]"
    assert found(where, session="c2", parent="c1") == "child[2]"


def test_a_child_of_an_unknown_session():
    where = router("{main: [{say: x}], child: [{say: x}]}")
    assert found(where, session="c1", parent="s9") == "session c1 is a child of s9, which plays no script"


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        (request(), "main"),
        (request(parent="s1"), "child"),
        (request(system="You are a title generator. You output", tools=()), "title"),
        (request(system="You are a context summarization agent.\n", tools=()), "compaction"),
        (request(system="You are a title generator.", tools=("bash",)), "main"),
        (request(system="Be kind.", tools=()), "main"),
    ],
)
def test_kinds(asked, kind):
    assert kind_of(asked) == kind
