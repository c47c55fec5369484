"""Cases of `answer`, `requests` and `stream_closed`."""

from __future__ import annotations

from handmade import Story
from judging import Case


def told() -> Story:
    """Two messages in main, one in the child, and a summary that is nobody's answer."""
    story = Story()
    story.prompt()
    story.part("main", id="prt_r", type="reasoning", text="Hm.")
    story.say("Working on it.")
    story.assistant()
    story.say("all do")
    story.say("I stop.", "child")
    story.assistant(summary=True, mode="compaction")
    story.say("Summary of all.")
    return story


def silent() -> Story:
    story = Story()
    story.prompt()
    story.say("")
    return story


def streams() -> Story:
    """Reply 1 twice: the first use closed by the client after 3 repeats, the second by the script; reply 2 is open."""
    story = Story()
    story.prompt()
    story.close(story.request(), by="client", chunks_sent=61, chunks_scripted=None, repeats=3, ms=640.0)
    story.close(story.request(use=2))
    story.request(reply=2, kind="child")
    return story


CASES = (
    Case("answer", "fail", "answer: all done", told),
    Case("answer-contains", "fail", "answer: {session: child, contains: go on}", told),
    Case("answer-none", "fail", "answer: {session: other, text: all done}", told),
    Case("answer-empty", "fail", "answer: all done", silent),
    Case("answer-long", "fail", f'answer: "{"word " * 60}"', told),
    Case("answer-part", "fail", "answer: {message: 2, part: 1, text: Hm.}", told),
    Case("last", "pass", 'answer: "all do "', told),
    Case("contains", "pass", "answer: {session: child, contains: stop}", told),
    Case("message", "pass", "answer: {message: 2, part: 2, text: Working on it.}", told),
    Case("requests", "fail", "requests: 2", streams),
    Case("requests-kind", "fail", "requests: {session: main, kind: title, times: 1}", streams),
    Case("count", "pass", "requests: 3", streams),
    Case("range", "pass", "requests: {kind: main, times: 2..}", streams),
    Case("no title", "pass", "requests: {kind: title, times: 0}", streams),
    Case("stream_closed", "fail", "stream_closed: {reply: 1, by: client, within_repeats: 2}", streams),
    Case("stream_closed-open", "fail", "stream_closed: {reply: 2, by: client}", streams),
    Case("stream_closed-late", "fail", "stream_closed: {reply: 1, by: client, within: 500ms}", streams),
    Case("stream_closed-unused", "fail", "stream_closed: {reply: 7}", streams),
    Case("client", "pass", "stream_closed: {reply: 1, by: client, within_repeats: 4, within: 1s}", streams),
    Case("use", "pass", "stream_closed: {reply: 1, use: 2, by: script}", streams),
    Case("any end", "pass", "stream_closed: {reply: 1}", streams),
)
