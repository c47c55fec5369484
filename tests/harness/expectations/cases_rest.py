"""Cases of `tool_result`, `event`, `permissions`, `exchange`, `toast`, `log`, `files`, `exit` and `stderr`."""

from __future__ import annotations

from handmade import BLOCK, INFINITY, NAMELESS, Story, digest
from judging import Case


def task() -> Story:
    story = Story(INFINITY)
    story.prompt()
    story.request()
    call = story.call("task", text="<task>I stop.</task>", description="d")
    story.request("main", (call, "<task>I stop.</task>"), reply=2)
    story.block("bash", command="git status")
    return story


def told(*outputs: str) -> Story:
    story = Story()
    story.prompt()
    for output in outputs:
        call = story.call("bash", text=output, command="git status")
        story.request("main", (call, output))
    return story


def retried() -> Story:
    story = Story()
    story.prompt()
    story.event("session.status", status={"type": "retry", "attempt": 1, "message": "Rate limit"})
    return story


def google() -> Story:
    """A protocol without call ids: the result is known by its text."""
    story = Story()
    story.prompt()
    story.call("read", text="text of a", filePath="a")
    story.request("main", ("", "text of a"), reply=2)
    return story


def asked(reply: str | None = "always") -> Story:
    story = Story()
    story.prompt()
    story.event("permission.asked", id="per_1", permission="bash", patterns=["echo a"])
    if reply:
        story.event("permission.replied", requestID="per_1", reply=reply)
    story.event("permission.v2.asked", id="per_2", action="doom_loop", resources=["bash"])
    return story


def killed() -> Story:
    story = Story()
    story.prompt()
    story.close(story.request(), status=429, by="fault", chunks_sent=0)
    story.close(story.request(use=2), by="killed", chunks_sent=4)
    story.close(story.request(reply=None, kind="title"))
    story.request(reply=3)
    return story


def toasts(*messages: str) -> Story:
    story = Story()
    story.prompt()
    for message in messages:
        story.event("tui.toast.show", None, title="Loop guard", message=message, variant="warning")
    return story


def log(*lines: str) -> Story:
    story = Story(INFINITY)
    story.prompt()
    for line in lines:
        story.add("guard", "log", "runner", None, guard="infinity", line=line)
    return story


def unlogged() -> Story:
    story = Story({**NAMELESS, "log": False})
    story.prompt()
    return story


AFTER = {"kept.txt": "kept", "app.py": "new\n", "made.txt": "absent"}


def workspace(**facts: object) -> Story:
    story = Story(
        base={"kept.txt": digest("kept"), "gone.txt": digest("gone"), "app.py": digest("old\n")},
        files={name: digest(text) for name, text in (*AFTER.items(), ("big.bin", "big"))},
        contents=AFTER,
        **facts,
    )  # fmt: skip
    story.prompt()
    return story


def program(*codes: int, stderr: str = "") -> Story:
    story = Story(stderr=stderr)
    story.prompt()
    for code in codes:
        story.add("opencode", "exit", "runner", None, code=code, expected=True)
    return story


def unread() -> Story:
    story = Story()
    story.prompt()
    return story


CASES = (
    Case("tool_result", "fail", "tool_result: {tool: task, contains: go on}", task),
    Case("tool_result-untold", "fail", "tool_result: {tool: bash, contains: '[ANTI-LOOP]'}", task),
    Case("tool_result-no-call", "fail", "tool_result: {tool: read, equals: ''}", task),
    Case("contains", "pass", "tool_result: {session: main, tool: task, contains: I stop.}", task),
    Case("equals", "pass", "tool_result: {tool: task, nth: 1, equals: <task>I stop.</task>}", task),
    Case("without ids", "pass", "tool_result: {tool: read, input: {filePath: a}, equals: text of a}", google),
    Case(
        "tool_result-identical", "fail", "tool_result: {tool: bash, nth: 1..2, identical: true}", lambda: told("a", "b")
    ),
    Case("identical", "pass", "tool_result: {tool: bash, nth: 1..2, identical: true}", lambda: told("a", "a")),
    Case(
        "identical first", "pass", "tool_result: {tool: bash, nth: ..2, identical: true}", lambda: told("a", "a", "b")
    ),
    Case("event", "fail", "event: {type: session.status, has: {status: {type: retry, attempt: 2}}}", retried),
    Case("event-count", "fail", "event: {type: session.status, times: 0}", retried),
    Case("event-none", "fail", "event: {type: session.compacted}", retried),
    Case("retry", "pass", "event: {type: session.status, has: {status: {type: retry}}, times: 1}", retried),
    Case("no event", "pass", "event: {type: session.compacted, times: 0}", retried),
    Case("permissions", "fail", "permissions: {action: bash, asked: 1, replied: once}", asked),
    Case("permissions-count", "fail", "permissions: {action: bash, asked: 2}", asked),
    Case("permissions-unanswered", "fail", "permissions: {action: bash, replied: always}", lambda: asked(None)),
    Case("permissions-unwanted", "fail", "permissions: {action: bash, asked: 0}", asked),
    Case("always", "pass", "permissions: {action: bash, asked: 1, replied: always}", asked),
    Case("second form", "pass", "permissions: {action: doom_loop, session: main}", asked),
    Case("not asked", "pass", "permissions: {action: edit, asked: 0}", asked),
    Case("exchange", "fail", "exchange: {reply: 1, use: 1, ended_by: client, status: 200}", killed),
    Case("exchange-open", "fail", "exchange: {reply: 3}", killed),
    Case("exchange-none", "fail", "exchange: {kind: compaction, ended_by: script}", killed),
    Case("killed", "pass", "exchange: {reply: 1, ended_by: killed}", killed),
    Case("status", "pass", "exchange: {reply: 1, status: 429}", killed),
    Case("title", "pass", "exchange: {kind: title, ended_by: script, status: 200}", killed),
    Case("toast", "fail", "toast: exhausted", lambda: toasts("A loop was stopped.")),
    Case("toast-count", "fail", "toast: {contains: loop, times: 0}", lambda: toasts("A loop was stopped.")),
    Case("toast-none", "fail", "toast: loop", toasts),
    Case("message", "pass", "toast: loop was", lambda: toasts("A loop was stopped.")),
    Case("title", "pass", "toast: {contains: Loop guard, times: 2}", lambda: toasts("A.", "B.")),
    Case("no toast", "pass", "toast: {contains: loop, times: 0}", toasts),
    Case("log", "fail", "log: {contains: abort}", lambda: log("found a loop", "waited")),
    Case("log-leak", "fail", "log: {absent: SECRET}", lambda: log("found a loop", "bash SECRET")),
    Case("log-count", "fail", "log: {contains: loop, times: 1}", lambda: log("found a loop", "a loop again")),
    Case("log-empty", "unknown", "log: {absent: SECRET}", log),
    Case("log-nowhere", "unknown", "log: {contains: loop}", unlogged),
    Case("contains", "pass", "log: {contains: loop, absent: SECRET}", lambda: log("found a loop")),
    Case("count", "pass", "log: {contains: loop, times: 2}", lambda: log("found a loop", "waited", "a loop again")),
    Case("no line", "pass", "log: {contains: loop, times: 0}", lambda: log("waited")),
    Case("absent", "pass", "log: {absent: SECRET}", lambda: log("found a loop")),
    Case("files", "fail", 'files: {kept.txt: unchanged, app.py: "old\\n"}', workspace),
    Case("files-absent", "fail", "files: {kept.txt: absent}", workspace),
    Case("files-unchanged", "fail", "files: {gone.txt: unchanged}", workspace),
    Case("files-changed", "fail", "files: {kept.txt: changed}", workspace),
    Case("files-never", "fail", "files: {typo.txt: unchanged}", workspace),
    Case("files-contains", "fail", "files: {app.py: {contains: old}}", workspace),
    Case("files-big", "unknown", "files: {big.bin: {contains: b}}", workspace),
    Case(
        "every fate",
        "pass",
        "files: {kept.txt: unchanged, gone.txt: absent, app.py: changed, made.txt: changed}",
        workspace,
    ),
    Case(
        "text",
        "pass",
        'files: {app.py: "new\\n", big.bin: big, made.txt: {equals: absent}, kept.txt: {contains: ep}}',
        workspace,
    ),
    Case("exit", "fail", "exit: 1", lambda: program(0)),
    Case("exit-one-of-several", "fail", "exit: 0", lambda: program(0, 1, 0)),
    Case("several", "pass", "exit: 0", lambda: program(0, 0)),
    Case("exit-unknown", "unknown", "exit: 1", unread),
    Case("code", "pass", "exit: 1", lambda: program(1)),
    Case("stderr", "fail", "stderr: rejecting", lambda: program(1, stderr="Error: aborted\n")),
    Case("stderr-nothing", "fail", "stderr: rejecting", lambda: program(1)),
    Case("stderr-unknown", "unknown", "stderr: rejecting", unread),
    Case("text", "pass", "stderr: auto-rejecting", lambda: program(1, stderr=f"! {BLOCK}; auto-rejecting\n")),
)
