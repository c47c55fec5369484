"""The first signal ends a run; those that follow wait until everything is cleaned up."""

from __future__ import annotations

import signal
import threading
from functools import partial
from types import SimpleNamespace

import pytest

from harness.interrupt import SIGNALS, Shield


@pytest.fixture(autouse=True)
def handlers():
    """Give back what the tests change."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_the_first_signal_interrupts_and_the_next_ones_do_not(handlers, number):
    with Shield(*SIGNALS):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        for following in SIGNALS:
            signal.raise_signal(following)
    assert {number: signal.getsignal(number) for number in SIGNALS} == handlers


def test_what_is_not_caught_interrupts_until_it_is_ignored():
    with Shield(signal.SIGTERM) as shield:
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        shield.ignore()
        signal.raise_signal(signal.SIGINT)


def test_a_signal_that_is_ignored_stays_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Shield(*SIGNALS):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_a_signal_while_a_lock_is_taken_leaves_it_to_be_given_back():
    events = []
    lock = SimpleNamespace(
        acquire=None,
        release=None,
        __enter__=partial(signal.raise_signal, signal.SIGTERM),
        __exit__=lambda *_: events.append("given back"),
    )

    def work():
        with Shield(*SIGNALS), threading.Condition(lock):
            events.append("taken")
            threading.Event().wait(10)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert events == ["taken", "given back"]
