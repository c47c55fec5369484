from __future__ import annotations

import threading
from contextlib import contextmanager

from harness.stacks import stuck


def function(module, text, **known):
    """Make the function `f` in a module of that name."""
    namespace = {"__name__": module, **known}
    exec(f"def f():\n    {text}", namespace)  # noqa: S102 - a stack that looks like ours
    return namespace["f"]


@contextmanager
def standing(inner, *modules):
    """Keep a thread in `inner`, called through functions of these modules, the innermost first."""
    reached, leave = threading.Event(), threading.Event()
    call = function(inner, "reached(); leave()", reached=reached.set, leave=lambda: leave.wait(10))
    for module in modules:
        call = function(module, "call()", call=call)
    thread = threading.Thread(target=call, name="reporter")
    thread.start()
    assert reached.wait(10)
    try:
        yield
    finally:
        leave.set()
        thread.join()


def test_a_thread_in_the_middle_of_something_is_named():
    with standing("library", "fakemodel.a", "other", "harness.b", "harness.c", "harness.d"):
        (line,) = stuck()
    assert line == (
        "thread reporter is in fakemodel.a.f (line 2), called by harness.b.f (line 2), called by harness.c.f (line 2)"
    )
    assert stuck() == []


def test_a_thread_that_waits_for_what_comes_from_outside_is_not():
    with standing("selectors", "harness.a", "harness.a"), standing("library", "other"):
        assert stuck() == []


def test_the_thread_that_asks_is_not():
    found = function("harness.a", "return ask()", ask=stuck)
    assert function("harness.b", "return ask()", ask=found)() == []
