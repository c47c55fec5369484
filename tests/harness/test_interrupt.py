"""The first signal ends a run; those that follow wait until everything is cleaned up."""

from __future__ import annotations

import signal

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


def test_what_is_not_caught_is_ignored_once_that_is_asked_for(handlers):
    with Shield(signal.SIGTERM) as shield:
        assert signal.getsignal(signal.SIGINT) == handlers[signal.SIGINT]
        shield.ignore()
        signal.raise_signal(signal.SIGINT)


def test_a_signal_that_is_ignored_stays_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Shield(*SIGNALS):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
