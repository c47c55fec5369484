"""What is still going on in a run, kept up to date entry by entry: the parts of *settled* (DESIGN.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.timeline import Entry

__all__ = ["Activity"]

PROMPTS = frozenset(("session.prompt_async", "session.prompt", "session.command"))


class Activity:
    """A reducer over entries; `pending` names every part that is open.

    Session states come from the probe, not from the event stream: its entries are in one order with the guard's API
    calls and with the user messages that OpenCode took up. A prompt that was accepted counts as open until OpenCode
    took it up and turned busy, because the call returns before that (opencode-facts.md L).
    """

    def __init__(self) -> None:
        """Start with nothing going on."""
        self.exchanges: dict[int, str] = {}
        self.status: dict[str, str] = {}
        self.accepted: dict[str, int] = {}
        self.starting: set[str] = set()
        self.calls: dict[int, str] = {}
        self.timers: dict[int, float] = {}
        self.unscripted = False

    def take(self, entry: Entry) -> None:
        """Count one entry; entries come in the order of the timeline."""
        handler = getattr(self, "_" + entry.kind.replace(".", "_"), None)
        if handler:
            handler(entry)

    def pending(self) -> Iterator[str]:
        """Name what is open, in words for a deadline's message."""
        for number, what in self.exchanges.items():
            yield f"exchange {number} is open ({what})"
        for session, status in self.status.items():
            yield f"session {session} is {status}"
        for session, count in self.accepted.items():
            if count > 0:
                yield f"OpenCode has not taken up {count} accepted prompt(s) of session {session}"
        for session in sorted(self.starting):
            yield f"session {session} has a new message but did not start"
        for call in self.calls.values():
            yield f"the guard's call {call} is in flight"
        for milliseconds in self.timers.values():
            yield f"a timer of the guard ({milliseconds:g} ms) is running"

    def rests(self, session: str) -> bool:
        """Whether a session is idle and no prompt for it waits to be taken up."""
        return session not in self.status and session not in self.starting and not self.accepted.get(session)

    # -- the model

    def _exchange_received(self, entry: Entry) -> None:
        self.exchanges[entry.data["number"]] = f"session {entry.data['session']}, reply {entry.data['reply']}"

    def _exchange_closed(self, entry: Entry) -> None:
        self.exchanges.pop(entry.data["number"], None)

    def _exchange_unscripted(self, _entry: Entry) -> None:
        self.unscripted = True

    # -- the user

    def _prompt(self, entry: Entry) -> None:
        self._accept(entry.session)

    def _accept(self, session: str | None) -> None:
        if session:
            self.accepted[session] = self.accepted.get(session, 0) + 1

    # -- OpenCode

    def _message_user(self, entry: Entry) -> None:
        session = entry.session
        if session and self.accepted.get(session):
            self.accepted[session] -= 1
            if session not in self.status:
                self.starting.add(session)

    def _hook_event(self, entry: Entry) -> None:
        session, status = entry.session, entry.data.get("status")
        if not session:
            return
        if entry.data["type"] == "session.deleted":
            self._forget(session)
        elif status == "idle":
            self.status.pop(session, None)
        elif status:
            self.status[session] = status
            self.starting.discard(session)

    def _forget(self, session: str) -> None:
        self.status.pop(session, None)
        self.accepted.pop(session, None)
        self.starting.discard(session)

    def _exit(self, _entry: Entry) -> None:
        """OpenCode's process is gone, and with it all that it had begun; the fake model closes its streams itself."""
        for open_parts in (self.status, self.accepted, self.calls, self.timers):
            open_parts.clear()
        self.starting.clear()

    # -- the guard

    def _api_request(self, entry: Entry) -> None:
        """Count a prompt when it is sent: OpenCode takes it up before it answers the call. `noReply` starts no turn."""
        self.calls[entry.data["id"]] = f"{entry.data['call']} ({entry.session})"
        if entry.data["call"] in PROMPTS and "noReply" not in entry.data.get("keys", ()):
            self._accept(entry.session)

    def _api_response(self, entry: Entry) -> None:
        self.calls.pop(entry.data["id"], None)
        status = entry.data.get("status")
        if status is None or status >= 300:
            self._refused(entry)

    def _api_hung(self, entry: Entry) -> None:
        """Forget a call that the scenario leaves hanging for ever: it holds nothing back."""
        self.calls.pop(entry.data["id"], None)
        self._refused(entry)

    def _refused(self, entry: Entry) -> None:
        """Forget a prompt that OpenCode does not take up; of a forwarded one only the answer was spoiled."""
        session = entry.session or ""
        if entry.data["call"] in PROMPTS and not entry.data.get("forwarded") and self.accepted.get(session):
            self.accepted[session] -= 1

    def _timer_open(self, entry: Entry) -> None:
        self.timers[entry.data["id"]] = entry.data["ms"]

    def _timer_closed(self, entry: Entry) -> None:
        self.timers.pop(entry.data["id"], None)
