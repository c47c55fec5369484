"""Cases of `blocked` and `executed`."""

from __future__ import annotations

from handmade import BLOCK, INFINITY, NAMELESS, Story, digest
from judging import Case

STATUS = {"command": "git status"}


def three_blocked_from(number: int, *, upto: int = 5, guard=INFINITY, text: str = BLOCK) -> Story:
    """Five equal calls; those from `number` to `upto` are blocked."""
    story = Story(guard)
    story.prompt()
    for position in range(1, 6):
        if number <= position <= upto:
            story.block("bash", text=text, **STATUS)
        else:
            story.call("bash", **STATUS)
    return story


def mixed() -> Story:
    """A, A, A(blocked), B in main; C blocked in the child."""
    story = Story(INFINITY)
    story.prompt()
    story.call("bash", **STATUS)
    story.call("bash", command="git diff", timeout=5)
    story.call("bash", **STATUS)
    story.block("bash", **STATUS)
    story.block("grep", "child", pattern="PORT")
    return story


def late_block() -> Story:
    """A guard that refuses after the side effect: the shell ran, and the call ended in its error."""
    story = Story(INFINITY)
    story.prompt()
    story.call("bash", fate="error", text=BLOCK, **STATUS)
    return story


def other_error() -> Story:
    story = Story(INFINITY)
    story.prompt()
    story.call("read", fate="error", text="File not found", seen=False, filePath="a")
    story.call(
        "read", fate="error", text="[ANTI-LOOP STREAM] not this guard's word for a call", seen=False, filePath="a"
    )
    return story


def nothing() -> Story:
    story = Story(INFINITY)
    story.prompt()
    return story


def written(content: str, on_disk: str) -> Story:
    story = Story()
    story.prompt()
    story.call("write", disk=(None, digest(on_disk)), filePath="a.txt", content=content)
    return story


def edited(after: str) -> Story:
    story = Story()
    story.prompt()
    story.call("edit", disk=(digest("old"), digest(after)), filePath="a.txt", oldString="old", newString="new")
    return story


def completed(*, told: bool) -> Story:
    story = Story()
    story.prompt()
    story.request()
    call = story.call("read", filePath="a", text="text of a")
    if told:
        story.request("main", (call, "text of a"), reply=2)
    return story


def unseen_shell() -> Story:
    story = Story()
    story.prompt()
    story.call("bash", seen=False, **STATUS)
    return story


def shell_without_id() -> Story:
    story = unseen_shell()
    story.add("opencode", "shell", "shell", None, folder="/w", command="git status", call=None, time=1.0)
    return story


CASES = (
    Case(
        "blocked",
        "fail",
        "blocked: {tool: bash, input: {command: git status}, nth: 3, by: infinity}",
        lambda: three_blocked_from(4),
    ),
    Case("blocked-range", "fail", "blocked: {tool: bash, nth: 3..5}", lambda: three_blocked_from(3, upto=4)),
    Case("blocked-beyond", "fail", "blocked: {tool: bash, nth: 3..12}", lambda: three_blocked_from(3)),
    Case(
        "blocked-far-beyond",
        "fail",
        "blocked: {tool: bash, nth: 3..9999999999999999999999}",
        lambda: three_blocked_from(3),
    ),
    Case("blocked-none", "fail", "blocked: {tool: read}", other_error),
    Case("blocked-absent", "fail", "blocked: {session: child, times: 0}", mixed),
    Case(
        "blocked-unknown-marker",
        "unknown",
        "blocked: {tool: bash, nth: 3}",
        lambda: three_blocked_from(3, guard=NAMELESS),
    ),
    Case("blocked-unknown-guard", "unknown", "blocked: {tool: bash, by: doom-loop}", lambda: three_blocked_from(3)),
    Case("nth", "pass", "blocked: {tool: bash, input: {command: git status}, nth: 3, by: infinity}", mixed),
    Case("nth range", "pass", "blocked: {tool: bash, nth: 3..5}", lambda: three_blocked_from(3)),
    Case("nth from the first", "pass", "blocked: {tool: bash, nth: ..3}", lambda: three_blocked_from(1, upto=3)),
    Case("nth open", "pass", "blocked: {tool: bash, nth: 3..}", lambda: three_blocked_from(3)),
    Case("nth and times", "pass", "blocked: {tool: bash, nth: 3.., times: 2..3}", lambda: three_blocked_from(3)),
    Case("in the child", "pass", "blocked: {session: child, tool: grep, nth: 1}", mixed),
    Case("never", "pass", "blocked: {tool: read, times: 0}", other_error),
    Case("no guard", "pass", "blocked: {times: 0}", lambda: completed(told=True)),
    Case(
        "says",
        "pass",
        "blocked: {tool: bash, nth: 3..5, says: Stop it}",
        lambda: three_blocked_from(3, guard=NAMELESS, text="Stop it!"),
    ),
    Case("says otherwise", "pass", "blocked: {times: 0, says: Stop it}", lambda: three_blocked_from(3)),
    Case("executed", "fail", "executed: {tool: bash, input: {command: git status}, times: 2}", late_block),
    Case("executed-late-block", "fail", "executed: {tool: bash, times: 0}", late_block),
    Case("executed-nothing", "fail", "executed: {tool: bash}", nothing),
    Case("executed-write", "fail", "executed: {tool: write}", lambda: written("new", "other")),
    Case("executed-edit", "fail", "executed: {tool: edit}", lambda: edited("old")),
    Case("executed-unseen", "unknown", "executed: {tool: bash}", unseen_shell),
    Case("executed-untold", "unknown", "executed: {tool: read, times: 0}", lambda: completed(told=False)),
    Case("bash", "pass", "executed: {tool: bash, input: {command: git status}, times: 2}", mixed),
    Case("late block", "pass", "executed: {tool: bash, times: 1}", late_block),
    Case("subset", "pass", "executed: {tool: bash, input: {command: git diff}, times: 1}", mixed),
    Case("without a call id", "pass", "executed: {tool: bash, times: 1}", shell_without_id),
    Case("write", "pass", "executed: {tool: write}", lambda: written("new", "new")),
    Case("edit", "pass", "executed: {tool: edit}", lambda: edited("new")),
    Case("other tool", "pass", "executed: {tool: read, times: 1}", lambda: completed(told=True)),
    Case("blocked write", "pass", "executed: {tool: grep, times: 0}", mixed),
)
