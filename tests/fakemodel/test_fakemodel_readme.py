"""The samples of fakemodel/README.md are run, and show everything that there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from raw_client import RawClient, deltas

from fakemodel.faults import fault_kinds
from fakemodel.grammar import ReplyModel, ScriptModel, VaryModel, WhenModel
from fakemodel.protocols import protocols

README = (Path(__file__).parents[2] / "fakemodel" / "README.md").read_text(encoding="utf-8")
SAMPLES = re.findall(r"```yaml\n(.*?)```\n```text\n(.*?)```", README, re.DOTALL)
KINDS = {"title": "You are a title generator.", "summary": "You are a context summarization agent."}


class Reader:
    """Plays the client of one sample and writes down what it sees."""

    def __init__(self, played) -> None:
        self.played = played
        self.messages: list[dict] = []
        self.client: RawClient | None = None
        self.body: dict = {}
        self.headers: dict[str, str] = {}

    def send(self, line: str) -> list[str]:
        """Do what a line says and return what is seen."""
        held = re.search(r" \(held at (\w+)(, leaves)?\)$", line)
        done = re.match(r"\((again|result|release|title|summary|session|child)\b ?([^)]*)\) ?(.*)$", line)
        if done and done[1] == "release":
            self.played.stage.release(done[2])
            return self.read()
        self.headers, system = {}, ""
        if done is None or done[1] in ("session", "child", *KINDS):
            line = done[3] if done else line[: held.start()] if held else line
            self.messages.append({"role": "user", "content": line})
        if done and done[1] == "result":
            self.messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": done[3]}
                for call in self.messages[-1]["tool_calls"]
            ]
        elif done and done[1] in ("session", "child"):
            names = done[2].split(" of ")
            self.headers = dict(zip(("x-session-id", "x-parent-session-id"), names, strict=False))
        elif done and done[1] in KINDS:
            system = KINDS[done[1]]
        if done is None or done[1] != "again":
            self.body = self.request(system)
        self.client = RawClient(self.played.url, self.body, self.headers)
        return self.held(held[1], leaves=bool(held[2])) if held else self.read()

    def request(self, system: str) -> dict:
        messages = [{"role": "system", "content": system}, *self.messages] if system else list(self.messages)
        tools = {} if system else {"tools": [{"type": "function", "function": {"name": "bash"}}]}
        return {"model": "m", "stream": True, "messages": messages, **tools}

    def held(self, gate: str, *, leaves: bool) -> list[str]:
        """Read what comes before a gate."""
        self.played.wait("gate", len(self.played.told("released")) + 1)
        assert self.played.stage.waiting_gates() == (gate,)
        sent = self.played.stage.open_exchanges[0].chunks_sent
        seen = self.seen(self.client.read(events=sent))
        if leaves:
            self.client.socket.close()
        return seen

    def read(self) -> list[str]:
        with self.client:
            body = self.client.read()
        if self.client.status != 200:
            return [f"status {self.client.status}"]
        return self.seen(body)

    def seen(self, body: bytes) -> list[str]:
        """Write down an answer, and put it into the history."""
        whole = body if body.endswith(b"\n\n") else body.rpartition(b"\n\n")[0]
        try:
            parts = deltas(whole)
        except json.JSONDecodeError:
            return ["garbage"]
        lines: list[list[str]] = []
        calls: list[dict] = []
        for part in parts:
            for key, word in (("reasoning_content", "thinks"), ("content", "says")):
                if part.get(key):
                    add(lines, word, part[key])
            for call in part.get("tool_calls", ()):
                if "id" in call:
                    calls.append({"id": call["id"], "type": "function", "function": {**call["function"]}})
                    lines.append([f"calls {call['function']['name']}", ""])
                else:
                    calls[-1]["function"]["arguments"] += call["function"]["arguments"]
                    lines[-1][1] += call["function"]["arguments"]
        answer = {"role": "assistant", "content": "".join(part.get("content") or "" for part in parts)}
        self.messages.append(answer | ({"tool_calls": calls} if calls else {}))
        ended = [f"closed by {self.client.ended}"] if self.client.ended in ("fin", "rst") else []
        return [f"{word} {text}".replace("\n", "\\n") for word, text in lines] + ended + finish(whole)


def add(lines: list[list[str]], word: str, text: str) -> None:
    if lines and lines[-1][0] == word:
        lines[-1][1] += text
    else:
        lines.append([word, text])


def finish(body: bytes) -> list[str]:
    """What is unusual about the end of an answer."""
    reason = re.search(rb'"finish_reason":"(length|content_filter)"', body)
    if not reason:
        return []
    usage = json.loads(body.decode().split("\n\n")[-3].removeprefix("data: "))["usage"]
    into, out = usage["prompt_tokens"], usage["completion_tokens"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    reasoning = usage["completion_tokens_details"]["reasoning_tokens"]
    return [f"finish {reason[1].decode()}, tokens {into} in ({cached} cached), {out} out ({reasoning} reasoning)"]


def record(played) -> str:
    last = played.last()
    scripted = "endless" if last.chunks_scripted is None else last.chunks_scripted
    where = f"{last.session} reply {last.reply} use {last.use}"
    place = f", in sentence {last.sentence} after {last.repeats} repetitions" if last.ended_by == "client" else ""
    return f"{where}, ended by {last.ended_by}, {last.chunks_sent} of {scripted} chunks{place}"


@pytest.mark.parametrize(("script", "text"), SAMPLES)
def test_samples(play, script, text):
    played = play(script)
    reader = Reader(played)
    seen: list[str] = []
    for line in text.splitlines():
        mark, rest = line[0], line[2:]
        if mark == ">":
            assert seen == [], f"before {line!r}"
            seen = reader.send(rest)
        elif mark == "<":
            assert seen.pop(0) == rest
        elif mark == "=":
            assert record(played) == rest
        else:
            played.last()
            assert played.told("unscripted")[-1].detail["reason"] == rest
    assert seen == []
    assert played.told("invalid") == []
    assert played.stage.unused() == ()


def test_the_python_sample():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - the page is ours


def test_everything_is_shown():
    scripts = "\n".join(script for script, _ in SAMPLES)
    names = {*ReplyModel.model_fields, *ScriptModel.model_fields, *WhenModel.model_fields, *VaryModel.model_fields}
    missing = [name for name in (*names, *fault_kinds()) if not re.search(rf"\b{name}:", scripts)]
    missing += [name for name in (*protocols(), *fault_kinds()) if f"| `{name}` |" not in README]
    assert missing == []
