"""Text as a lazy value: cutting loses nothing, costs nothing, and counts rightly."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemodel.prose import TurnCounter, count_pieces, cut, segments, width
from fakemodel.script import Chunking, Prose, Vary

BY = ["characters", "words", "sentences", "utf16"]

texts = st.text(st.sampled_from("ab é😀.!?\n\t"), min_size=1, max_size=30)
chunkings = st.builds(Chunking, st.integers(1, 9), st.sampled_from(BY))
varies = st.none() | st.builds(
    Vary,
    st.none() | st.integers(0, 99),
    st.lists(texts, max_size=3).map(tuple),
    st.lists(st.lists(texts, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple),
    st.text("xy .", max_size=5),
)
proses = st.builds(
    Prose,
    st.lists(texts | st.just("{n} {item}"), min_size=1, max_size=3).map(tuple),
    st.sampled_from([" ", "\n", "\n\n", ""]),
    st.integers(1, 6),
    varies,
    st.integers(0, 3),
)


def joined(pieces):
    """Join pieces as a JavaScript client does: halves of a surrogate pair become one character again."""
    return "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le")


@given(proses, chunkings)
def test_joined_pieces_are_the_text(prose, chunking):
    assert joined(cut(segments(prose), chunking)) == "".join(segments(prose))


@given(proses, st.integers(1, 9))
def test_every_piece_but_the_last_has_the_size(prose, size):
    for by in ("characters", "utf16"):
        pieces = list(cut(segments(prose), Chunking(size, by)))
        assert {width(piece, Chunking(size, by)) for piece in pieces[:-1]} <= {size}


@given(proses, chunkings)
def test_pieces_are_counted_without_cutting_them(prose, chunking):
    assert count_pieces(prose, chunking) == sum(1 for _ in cut(segments(prose), chunking))


@pytest.mark.parametrize("prose", [Prose(("abc",), "", 10_000), Prose(("a" * 9000 + " b",), " ", 5)])
def test_pieces_of_text_with_few_boundaries_are_counted(prose):
    chunking = Chunking(1, "words")
    assert count_pieces(prose, chunking) == sum(1 for _ in cut(segments(prose), chunking))


@given(proses, st.sampled_from(["characters", "utf16"]))
def test_whole_repetitions_are_counted(prose, by):
    chunking = Chunking(1, by)
    ends = []
    for turn in range(1, prose.repeat + 1):
        begun = Prose(prose.sentences, prose.join, turn, prose.vary, prose.first_turn)
        ends.append(width("".join(segments(begun)), chunking))
    counter = TurnCounter(prose, chunking)
    for sent in range(ends[-1] + 1):
        assert counter.count(sent) == sum(1 for end in ends if end <= sent)


@given(proses, st.sampled_from(["characters", "utf16"]))
def test_the_sentence_that_a_text_goes_on_in_is_known(prose, by):
    """The sentences are as long as the text itself says, and each lasts until what joins it to the next is over."""
    chunking = Chunking(1, by)
    counter = TurnCounter(prose, chunking)
    sent = 0
    for turn in range(prose.repeat):
        sentences = prose.wording(turn)
        for number, sentence in enumerate(sentences, 1):
            assert counter.sentence(sent) == counter.sentence(sent + width(sentence, chunking) - 1) == number
            sent += width(sentence, chunking) + width(prose.join, chunking)
        growing, times = prose.growth(turn)
        sent += width(growing, chunking) * times
    assert counter.sentence(sent - width(prose.join, chunking)) == len(sentences)


def test_pieces_by_words_keep_the_white_space_after_them():
    assert list(cut(iter(["  One two\n", "three"]), Chunking(1, "words"))) == ["  One ", "two\n", "three"]
    assert list(cut(iter(["One two three."]), Chunking(2, "words"))) == ["One two ", "three."]


def test_pieces_by_sentences():
    text = 'Is it v1.2? "Yes." It is!\nGo'
    assert list(cut(iter([text]), Chunking(1, "sentences"))) == ["Is it v1.2? ", '"Yes." ', "It is!\n", "Go"]


def test_utf16_pieces_cut_a_surrogate_pair():
    assert list(cut(iter(["a😀"]), Chunking(2, "utf16"))) == ["a\ud83d", "\ude00"]


@pytest.mark.parametrize("by", BY)
def test_an_endless_text_costs_no_memory(by):
    prose = Prose(("Checking the containers now.", "All fine."), repeat=None)
    pieces = cut(segments(prose), Chunking(1, by))
    next(pieces)
    tracemalloc.start()
    try:
        for _ in itertools.islice(pieces, 50_000):
            pass
        assert tracemalloc.get_traced_memory()[1] < 300_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("by", ["words", "sentences"])
def test_endless_text_without_a_boundary_is_cut_all_the_same(by):
    pieces = cut(segments(Prose(("abc",), "", None)), Chunking(1, by))
    assert all(len(piece) < 50_000 for piece in itertools.islice(pieces, 20))


@pytest.mark.parametrize(
    ("vary", "text"),
    [
        (Vary(counter=3), "Step 3 {item}. Step 4 {item}. Step 5 {item}."),
        (Vary(items=("a", "b")), "Step {n} a. Step {n} b. Step {n} a."),
        (Vary(reworded=(("Go.", "On."),)), "Step {n} {item}. Go. On. Step {n} {item}."),
        (Vary(growing="!"), "Step {n} {item}. Step {n} {item}.! Step {n} {item}.!!"),
        (Vary(counter=1, items=("a", "b")), "Step 1 a. Step 2 b. Step 3 a."),
    ],
)
def test_repetitions_vary(vary, text):
    assert "".join(segments(Prose(("Step {n} {item}.",), repeat=3, vary=vary))) == text


def test_a_prose_without_end_has_no_number_of_pieces():
    with pytest.raises(ValueError, match="a prose without end has no number of pieces"):
        count_pieces(Prose(("a",), repeat=None), Chunking())
