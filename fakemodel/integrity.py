"""Checks that every request must pass: a result for each call, a call for each result, and schemas for the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemodel.script import Call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.request import Request
    from fakemodel.script import Reply

__all__ = ["flaws"]


def flaws(request: Request, reply: Reply | None) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a request: the invariant's name and what was found, in words."""
    called = {call.id: call.name for message in request.messages for call in message.calls}
    answered = {result.call_id for result in request.results}
    for call_id, name in called.items():
        if call_id not in answered:
            yield "unanswered_call", f"the call {call_id} of {name} has no result"
    for call_id in sorted(answered - called.keys()):
        yield "orphan_tool_result", f"the result {call_id} has no call"
    calls = reply is not None and (reply.rotate or any(isinstance(part, Call) for part in reply.parts))
    if not request.tools and (calls or called):
        yield "no_tools", "the request holds no tool schema"
