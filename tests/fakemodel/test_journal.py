"""The journal: bounded, and honest about what it dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from raw_client import chat

from fakemodel.journal import Journal, JournalError


@pytest.fixture
def exchange(play):
    one = play("[{say: a}]")
    one.answer(chat())
    return one.last()


def test_the_oldest_make_room(exchange):
    journal = Journal(kept=2)
    for number in (1, 2, 3):
        journal.put(replace(exchange, number=number, closed_at=None))
        journal.put(replace(exchange, number=number))
    assert [kept.number for kept in journal.exchanges] == [2, 3]
    assert (journal.received, journal.dropped) == (3, 1)
    assert len(journal.wait_for(3, timeout=0)) == 2


def test_open_exchanges_are_waited_for_unless_told_otherwise(exchange):
    journal = Journal()
    journal.put(replace(exchange, closed_at=None, ended_by=None, chunks_sent=2))
    assert len(journal.wait_for(1, timeout=0, closed=False)) == 1
    seen = r"#1 main reply 1 ended by nobody yet \(2 chunks\)"
    with pytest.raises(JournalError, match=rf"^waited 0.0 s for 1 exchange\(s\) that ended; seen: {seen}$"):
        journal.wait_for(1, timeout=0)
