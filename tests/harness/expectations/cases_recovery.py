"""Cases of `continuations`, `idle_before` and `order`."""

from __future__ import annotations

from handmade import INFINITY, NAMELESS, Story
from judging import Case

DOOM = {"name": "doom-loop", "marker": "[DOOM-LOOP]", "path": "guard", "process": False}
WORDS = "[ANTI-LOOP STREAM] Go on with something else."


def status(story: Story, state: str, session: str = "main") -> None:
    event = story.identity("evt")
    story.probe("hook.event", session, type="session.status", id=event, status=state)
    story.event("session.status", session, status={"type": state}, _id=event)


def api(story: Story, call: str, answer: int | None, session: str = "main", number: int = 0, **response) -> None:
    story.ids += 1
    number = number or story.ids
    text = {"text": WORDS, "synthetic": True} if call == "session.prompt_async" else {}
    story.probe("api.request", session, "guard", id=number, call=call, method="POST", path="/", **text)
    story.probe(
        "api.response", session, "guard", id=number, call=call, status=answer, error=None, fault=None, **response
    )


def recovery(
    *guards, idle: bool = True, abort: int = 200, accepted: int = 204, reached: bool = True, again: str = "", **response
) -> Story:
    """A stream is cut, the guard waits for idle and goes on; each argument is one way to go wrong."""
    story = Story(*(guards or (INFINITY,)))
    story.prompt()
    status(story, "busy")
    first = story.request()
    story.assistant()
    api(story, "session.abort", abort)
    story.close(first, by="client", chunks_scripted=None, repeats=3)
    if idle:
        status(story, "idle")
    if again:
        status(story, again)
    api(story, "session.prompt_async", accepted, **response)
    if reached:
        message = story.user_message(WORDS, synthetic=True)
        status(story, "busy")
        story.close(story.request(reply=2))
        story.assistant(parentID=message)
        story.say("The containers are running.")
        status(story, "idle")
    return story


def stopped_only() -> Story:
    story = Story(INFINITY)
    story.prompt()
    api(story, "session.abort", 200)
    status(story, "idle")
    return story


def idle_too_early() -> Story:
    """Idle before the abort, and nothing after it: the guard did not wait for the end of what it stopped."""
    story = Story(INFINITY)
    story.prompt()
    status(story, "busy")
    status(story, "idle")
    api(story, "session.abort", 200)
    api(story, "session.prompt_async", 204)
    story.user_message(WORDS, synthetic=True)
    return story


def unseen() -> Story:
    """The guard goes on by a call that nobody saw."""
    story = recovery()
    story.user_message("[ANTI-LOOP] Again.", synthetic=True)
    return story


def second_api() -> Story:
    """The guard goes on through the second form of OpenCode's API, which has messages of its own."""
    story = stopped_only()
    story.event("session.next.prompted", prompt={"text": WORDS})
    return story


def known_senders() -> Story:
    """A long prompt that the probe cuts, the same prompt twice, a task for a child, a command of the guard."""
    story = Story(INFINITY)
    story.add("user", "prompt", "runner", "main", step=1, text="x" * 5000)
    story.user_message("x" * 4000 + "…")
    story.prompt()
    story.call("task", description="d", prompt="Find it.")
    story.user_message("Find it.", "child")
    story.prompt()
    api(story, "session.command", 200)
    story.user_message("What the command's template says.")
    return story


def program() -> Story:
    """`opencode run` adds quotes, and no step knows its session."""
    story = Story(INFINITY)
    story.add("user", "prompt", "runner", None, step=1, text="Go on.")
    story.user_message('"Go on."')
    return story


def without_probe() -> Story:
    story = Story(INFINITY)
    story.prompt()
    api(story, "session.prompt_async", 204)
    return story


def apart(seconds: float) -> Story:
    """The fake model sees the stream closed, and so much later (or earlier) the guard goes on."""
    story = Story(INFINITY)
    story.prompt()
    number = story.request()
    story.close(number, by="client")
    closed = story.entries[-1]
    api(story, "session.prompt_async", 204)
    story.user_message(WORDS, synthetic=True)
    moved = [e for e in story.entries if e.seq > closed.seq]
    for entry in moved:
        story.move(entry, closed.at + seconds + 0.01 * (entry.seq - moved[0].seq), error=0.002)
    return story


def told(*, marker: bool = True, seen: bool = True) -> Story:
    """A call runs and a guard refuses another; without a marker nobody knows the refusal, and the run may be unseen."""
    story = Story(INFINITY if marker else NAMELESS)
    story.prompt()
    story.call("bash", seen=seen, command="git status")
    story.block("bash", command="git diff")
    story.say("Clean.")
    return story


def restarted() -> Story:
    """The guard goes on, is refused and is killed; in the new process, which counts anew, it is accepted."""
    story = Story(INFINITY)
    story.prompt()
    api(story, "session.prompt_async", 500, number=1)
    story.add("opencode", "exit", "runner", None, expected=True)
    api(story, "session.prompt_async", 204, number=1)
    story.user_message(WORDS, synthetic=True)
    return story


def tools() -> Story:
    """A call runs, the next is blocked; their entries come from shell, probe and events at the same moment."""
    story = Story(INFINITY)
    story.prompt()
    call = story.call("bash", command="git status")
    story.request("main", (call, "ok"), reply=2)
    story.block("bash", command="git status")
    for entry in story.entries:
        story.move(entry, 100.0)
    return story


ANSWER = "order: [stream_closed, continuation, answer]"
CASES = (
    Case("continuations", "fail", "continuations: 1", stopped_only),
    Case("continuations-unwanted", "fail", "continuations: 0", recovery),
    Case("continuations-refused", "fail", "continuations: 1", lambda: recovery(accepted=500, reached=False)),
    Case("continuations-lost", "fail", "continuations: 1", lambda: recovery(reached=False)),
    Case("continuations-whose", "fail", "continuations: {times: 1, by: doom-loop}", lambda: recovery(INFINITY, DOOM)),
    Case("continuations-no-guard", "unknown", "continuations: {times: 0, by: mine}", recovery),
    Case("continuations-unseen", "unknown", "continuations: 1", unseen),
    Case("continuations-second-api", "unknown", "continuations: 0", second_api),
    Case("continuations-restarted", "fail", "continuations: 2", restarted),
    Case("one", "pass", "continuations: 1", recovery),
    Case("unseen", "pass", "continuations: 1..", unseen),
    Case("unseen elsewhere", "pass", "continuations: {times: 0, session: child}", unseen),
    Case("known senders", "pass", "continuations: 1", known_senders),
    Case("run", "pass", "continuations: 0", program),
    Case(
        "at most", "pass", "continuations: {times: ..2, session: main, by: infinity}", lambda: recovery(INFINITY, DOOM)
    ),
    Case("none", "pass", "continuations: 0", stopped_only),
    Case("refused", "pass", "continuations: 0", lambda: recovery(accepted=500, reached=False)),
    Case("forwarded", "pass", "continuations: 1", lambda: recovery(accepted=500, forwarded=True)),
    Case("elsewhere", "pass", "continuations: {times: 0, session: child}", recovery),
    Case("idle_before", "fail", "idle_before: continuation", lambda: recovery(idle=False, abort=500)),
    Case("idle_before-abort", "fail", "idle_before: continuation", idle_too_early),
    Case("idle_before-busy", "fail", "idle_before: continuation", lambda: recovery(again="busy")),
    Case("idle_before-none", "fail", "idle_before: continuation", stopped_only),
    Case("idle_before-unseen", "unknown", "idle_before: continuation", without_probe),
    Case("idle_before-sender", "unknown", "idle_before: continuation", unseen),
    Case("idle first", "pass", "idle_before: continuation", recovery),
    Case("in main", "pass", "idle_before: {of: continuation, session: main}", recovery),
    Case("order", "fail", "order: [continuation, stream_closed]", recovery),
    Case("order-missing", "fail", "order: [stream_closed, continuation, stream_closed, continuation]", recovery),
    Case("order-unknown", "unknown", ANSWER.replace(", answer", ""), lambda: apart(0.001)),
    Case("order-late", "unknown", ANSWER.replace(", answer", ""), lambda: apart(-0.05)),
    Case("order-reversed", "fail", ANSWER.replace(", answer", ""), lambda: apart(-0.4)),
    Case(
        "order-expectation",
        "fail",
        "order: [{executed: {tool: bash, times: 1}}, {blocked: {tool: bash, nth: 3}}]",
        tools,
    ),
    Case("order-inner-unknown", "unknown", "order: [stream_closed, {blocked: {by: doom-loop}}]", recovery),
    Case("order-absence", "fail", "order: [stream_closed, {blocked: {tool: read, times: 0}}]", recovery),
    Case("order-no-marker", "unknown", "order: [blocked, answer]", lambda: told(marker=False)),
    Case("order-unproven", "unknown", "order: [executed, answer]", lambda: told(seen=False)),
    Case("order-unseen", "unknown", "order: [continuation, continuation]", unseen),
    Case("told", "pass", "order: [executed, blocked, answer]", told),
    Case("recovery", "pass", "order: [prompt, abort, stream_closed, continuation, answer]", recovery),
    Case("idle between", "pass", "order: [abort, idle, continuation, idle]", recovery),
    Case("apart", "pass", ANSWER.replace(", answer", ""), lambda: apart(0.05)),
    Case(
        "linked calls",
        "pass",
        "order: [prompt, {executed: {tool: bash, times: 1}}, {blocked: {tool: bash, nth: 2}}]",
        tools,
    ),
    Case("words", "pass", "order: [executed, blocked]", tools),
)
