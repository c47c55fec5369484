from __future__ import annotations

import json
import re
import threading
import time

import pytest

from harness.errors import CrashError, DeadlineError, SetupError
from harness.timeline import Entry, Record, Timeline


@pytest.fixture
def timeline():
    return Timeline()


def kinds(entries):
    return [entry.kind for entry in entries]


def nothing():
    return "nothing"


# -- the live record


def test_an_entry_says_what_was_seen(timeline):
    before = time.monotonic()
    entry = timeline.add("opencode", "session.idle", "events", session="ses_1", data={"_id": "evt_1"}, error=0.01)
    assert before <= entry.at <= time.monotonic()
    assert entry == Entry(1, entry.at, "opencode", "session.idle", "events", 1, "ses_1", {"_id": "evt_1"}, 0.01)
    assert timeline.last is entry


def test_each_source_has_a_count_of_its_own(timeline):
    for source in ("probe", "events", "probe", "runner", "events", "probe"):
        timeline.add("opencode", "x", source)
    counts = [(e.seq, e.source, e.source_seq) for e in timeline.entries]
    assert counts == [
        (1, "probe", 1),
        (2, "events", 1),
        (3, "probe", 2),
        (4, "runner", 1),
        (5, "events", 2),
        (6, "probe", 3),
    ]


def test_data_is_a_copy(timeline):
    data = {"a": 1}
    entry = timeline.add("user", "step", "runner", data=data)
    data["a"] = 2
    assert entry.data == {"a": 1}


def test_nothing_yet(timeline):
    assert (timeline.entries, timeline.last, timeline.since(0)) == ((), None, [])


def test_since(timeline):
    for kind in "abcdefg":
        timeline.add("user", kind, "runner")
    assert kinds(timeline.since(5)) == ["f", "g"]
    assert timeline.since(7) == []


def test_reporters_in_threads_lose_nothing(timeline):
    def report(source):
        for _ in range(200):
            timeline.add("model", "x", source)

    threads = [threading.Thread(target=report, args=(source,)) for source in ("fake", "probe", "events", "shell")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [e.seq for e in timeline.entries] == list(range(1, 801))
    for source in ("fake", "probe", "events", "shell"):
        assert [e.source_seq for e in timeline.entries if e.source == source] == list(range(1, 201))


# -- waiting


def test_a_wait_for_what_holds_already_does_not_wait(timeline):
    timeline.wait(lambda: True, 0, nothing)


def test_a_wait_is_woken_by_an_entry(timeline):
    def ready():
        if asked.is_set():
            return timeline.last is not None
        asked.set()
        return False

    asked = threading.Event()
    reporter = threading.Thread(target=lambda: asked.wait(5) and timeline.add("user", "x", "runner"))
    reporter.start()
    timeline.wait(ready, 5, nothing)
    reporter.join()


def test_a_wait_looks_again_though_no_entry_came(timeline):
    """An exchange of the fake model or a process can end without an entry."""
    answers = iter([False, False, True])
    timeline.wait(lambda: next(answers), 5, nothing)


def test_a_deadline_says_what_was_pending_then(timeline):
    asked = []

    def ready():
        asked.append(len(asked))
        return False

    with pytest.raises(DeadlineError) as caught:
        timeline.wait(ready, 0.01, lambda: f"call {len(asked)}")
    assert str(caught.value) == f"after 0.01 s still waiting for: call {len(asked)}"
    assert len(asked) >= 2, "it looked once more when the time was up"


def test_the_seconds_of_a_wait_may_have_begun_before(timeline):
    with pytest.raises(DeadlineError, match=r"^after 60 s still waiting for: nothing$"):
        timeline.wait(lambda: False, 60, nothing, since=time.monotonic() - 60)


def test_no_wait_goes_on_when_the_whole_run_must_be_over():
    timeline = Timeline(time.monotonic() + 0.04)
    timeline.wait(lambda: True, 60, nothing)
    over = r"^after 0 s still waiting for: nothing\nThe time for the whole run was up: pytest-timeout would have "
    with pytest.raises(DeadlineError, match=over):
        timeline.wait(lambda: False, 60, nothing)
    with pytest.raises(DeadlineError, match=r"^after 0 s still waiting for: nothing$"):
        Timeline(time.monotonic() + 60).wait(lambda: False, 0, nothing)
    assert [(e.lane, e.kind, e.data) for e in timeline.entries] == [("user", "deadline", {"seconds": 0.0})]


def test_a_deadline_names_the_threads_that_are_stuck(timeline, monkeypatch):
    monkeypatch.setattr("harness.timeline.stuck", lambda: ["thread a is in b", "thread c is in d"])
    with pytest.raises(DeadlineError) as caught:
        timeline.wait(lambda: False, 0, nothing)
    assert str(caught.value) == "after 0 s still waiting for: nothing\nthread a is in b\nthread c is in d"


def test_a_reporters_error_comes_home(timeline):
    timeline.check()
    timeline.fail(CrashError("the stream broke"))
    timeline.fail(CrashError("and so the next one did"))
    for wait in (timeline.check, lambda: timeline.wait(lambda: True, 5, nothing)):
        with pytest.raises(CrashError, match=r"^the stream broke$"):
            wait()


def test_a_reporters_error_ends_a_wait_that_has_begun(timeline):
    def ready():
        timeline.fail(CrashError("the stream broke"))
        return False

    with pytest.raises(CrashError, match=r"^the stream broke$"):
        timeline.wait(ready, 5, nothing)


# -- the frozen record


def test_freezing_puts_entries_in_the_order_of_their_times(timeline):
    timeline.add("model", "late", "fake", at=3.0)
    timeline.add("user", "prompt", "runner", at=1.0)
    timeline.add("opencode", "between", "events", at=2.0, session="ses_1")
    record = timeline.freeze({"ses_1": "main"}, {"version": "1"})
    assert [(e.seq, e.kind, e.at) for e in record.entries] == [
        (1, "prompt", 1.0),
        (2, "between", 2.0),
        (3, "late", 3.0),
    ]
    assert (record.start, record.sessions, record.facts) == (1.0, {"ses_1": "main"}, {"version": "1"})
    assert kinds(timeline.entries) == ["late", "prompt", "between"], "the live record keeps the order of arrival"


def test_freezing_keeps_each_reporters_own_order(timeline):
    """A better handshake placed the probe's second entry before its first; the fake's entry lies between the two."""
    timeline.add("opencode", "probe 1", "probe", at=2.0)
    timeline.add("opencode", "probe 2", "probe", at=1.0)
    timeline.add("model", "fake", "fake", at=1.5)
    timeline.add("opencode", "probe 3", "probe", at=2.5)
    record = timeline.freeze({}, {})
    assert kinds(record.entries) == ["fake", "probe 1", "probe 2", "probe 3"]
    assert [e.source_seq for e in record.entries if e.source == "probe"] == [1, 2, 3]
    assert record.entries[2].at == 1.0, "an entry keeps the time that it was given"


def test_entries_of_one_time_keep_the_order_of_arrival(timeline):
    for kind, source in (("a", "probe"), ("b", "fake"), ("c", "events")):
        timeline.add("model", kind, source, at=1.0)
    assert kinds(timeline.freeze({}, {}).entries) == ["a", "b", "c"]


def test_the_clock_starts_at_the_first_prompt(timeline):
    assert timeline.freeze({}, {}).start == 0.0
    timeline.add("guard", "loaded", "probe", at=5.0)
    assert timeline.freeze({}, {}).start == 5.0
    timeline.add("user", "prompt", "runner", at=9.0)
    timeline.add("user", "prompt", "runner", at=7.0)
    assert timeline.freeze({}, {}).start == 9.0, "the runner's own order"


def test_a_record_is_read_by_kind_and_by_the_name_of_the_session(timeline):
    timeline.add("opencode", "a", "events", session="ses_1", at=1.0)
    timeline.add("opencode", "b", "events", session="ses_2", at=2.0)
    timeline.add("opencode", "a", "events", session="ses_3", at=3.0)
    timeline.add("opencode", "a", "events", at=4.0)
    record = timeline.freeze({"ses_1": "main", "ses_2": "child"}, {})
    assert [e.seq for e in record.of("a")] == [1, 3, 4]
    assert [e.seq for e in record.of("a", "b", session="main")] == [1]
    assert [e.seq for e in record.of("a", "b", session="child")] == [2]
    assert [record.name(s) for s in ("ses_1", "ses_3", None)] == ["main", "ses_3", None]


# -- ndjson


def test_what_was_saved_is_loaded(timeline, tmp_path):
    timeline.add(
        "user", "prompt", "runner", session="ses_1", data={"text": "line\u2028end \u00e4\n", "step": 1}, at=1.5
    )
    timeline.add("guard", "loaded", "probe", data={"guard": None, "list": [1, {"a": True}]}, at=2.25, error=0.001)
    record = timeline.freeze({"ses_1": "main"}, {"unused": [], "version": "1.18.33"})
    path = tmp_path / "timeline.ndjson"
    record.save(path)
    assert Record.load(path) == record
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(head)["format"] == 1
    assert len(lines) == 2


def test_an_empty_record_is_saved_too(timeline, tmp_path):
    record = timeline.freeze({}, {})
    record.save(tmp_path / "t")
    assert Record.load(tmp_path / "t") == record


def test_a_later_format_is_refused(timeline, tmp_path):
    path = tmp_path / "t"
    timeline.freeze({}, {}).save(path)
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(SetupError) as caught:
        Record.load(path)
    assert str(caught.value) == f"{path}: timeline format 2, wanted 1"


HEAD = '{"format": 1, "sessions": {}, "start": 0, "facts": {}}\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not enough values to unpack (expected at least 1, got 0)"),
        ("{}", "'format'"),
        ("[]", "list indices must be integers or slices, not str"),
        ('{"format": 1}', "'sessions'"),
        (HEAD + '{"seq": 1}', "missing"),
        (HEAD + '{"seq": 1, "half', "Unterminated string"),
    ],
)
def test_what_is_no_timeline_is_refused(tmp_path, text, why):
    path = tmp_path / "t"
    path.write_text(text)
    with pytest.raises(SetupError) as caught:
        Record.load(path)
    said = str(caught.value)
    assert re.match(re.escape(f"{path}: not a timeline that guardlab saved (") + ".*" + re.escape(why), said)


def test_a_missing_timeline_is_refused(tmp_path):
    with pytest.raises(SetupError, match=r"not a timeline that guardlab saved \(.*No such file"):
        Record.load(tmp_path / "t")
