"""One script through the official SDKs, streamed and not: what they parse is what was scripted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import anthropic
import openai
import pytest
from google import genai

from fakemodel.protocols import protocols

SCRIPTS = {
    "text": "- {say: [All is well., Größe 😀.]}",
    "blocks": "- {parts: [{say: First block.}, {say: Second block.}]}",
    "reasoning": "- {think: Let me look., say: I looked.}",
    "calls": "- {say: Both., calls: [{bash: {command: git status}}, {read: {filePath: a.py, lines: [1, 2]}}]}",
    "usage": "- {say: Counted., usage: {input: 100, output: 50, reasoning: 20, cached: 30}}",
    "length": "- {say: Cut off, finish: length}",
    "filter": "- {say: Cut off, finish: content_filter}",
}

CALLS = [("bash", {"command": "git status"}), ("read", {"filePath": "a.py", "lines": [1, 2]})]


@dataclass
class Seen:
    """What a client made of an answer."""

    text: str = ""
    thought: str = ""
    blocks: int = 0
    calls: list[tuple[str, dict]] = field(default_factory=list)
    finish: str | None = None
    tokens: tuple[int, ...] = ()


@pytest.fixture(scope="module")
def clients():
    """Clients made once: each of them loads certificates that loopback does not need."""
    with (
        openai.OpenAI(api_key="k", max_retries=0) as one,
        anthropic.Anthropic(api_key="k", max_retries=0) as two,
        genai.Client(api_key="k") as three,
    ):
        yield {"openai": one, "anthropic": two, "google": three}


def chat(clients, url: str, *, stream: bool) -> Seen:
    client = clients["openai"].with_options(base_url=url)
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    seen = Seen()
    if stream:
        chunks = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
        seen.tokens = chat_tokens(next(chunk.usage for chunk in chunks if chunk.usage))
        choices = [choice for chunk in chunks for choice in chunk.choices]
        parts = [choice.delta for choice in choices]
    else:
        whole = client.chat.completions.create(**asked)
        seen.tokens = chat_tokens(whole.usage)
        choices = whole.choices
        parts = [choice.message for choice in choices]
    seen.finish = choices[-1].finish_reason
    seen.text = "".join(part.content or "" for part in parts)
    seen.thought = "".join(getattr(part, "reasoning_content", None) or "" for part in parts)
    arguments: dict[int, list[str]] = {}
    for part in parts:
        for place, call in enumerate(part.tool_calls or ()):
            pieces = arguments.setdefault(call.index if stream else place, [])
            pieces += [text for text in (call.function.name, call.function.arguments) if text]
    seen.calls = [(name, json.loads("".join(pieces))) for name, *pieces in arguments.values()]
    return seen


def chat_tokens(usage) -> tuple[int, ...]:
    details = usage.completion_tokens_details.reasoning_tokens, usage.prompt_tokens_details.cached_tokens
    return usage.prompt_tokens, usage.completion_tokens, *details


def responses(clients, url: str, *, stream: bool) -> Seen:
    client = clients["openai"].with_options(base_url=url)
    whole = client.responses.create(model="m", input="hi", stream=stream)
    deltas: list[str] = []
    if stream:
        for event in whole:
            deltas += [event.delta] if event.type == "response.output_text.delta" else []
        whole = event.response
    seen = Seen(finish=whole.incomplete_details.reason if whole.incomplete_details else whole.status)
    for item in whole.output:
        if item.type == "message":
            seen.text += "".join(part.text for part in item.content)
            seen.blocks += 1
        elif item.type == "reasoning":
            seen.thought += "".join(part.text for part in item.summary)
        else:
            seen.calls.append((item.name, json.loads(item.arguments)))
    assert not stream or "".join(deltas) == seen.text
    usage = whole.usage
    details = usage.output_tokens_details.reasoning_tokens, usage.input_tokens_details.cached_tokens
    seen.tokens = (usage.input_tokens, usage.output_tokens, *details)
    return seen


def messages(clients, url: str, *, stream: bool) -> Seen:
    asked = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
    client = clients["anthropic"].with_options(base_url=url.removesuffix("/v1"))
    if stream:
        with client.messages.stream(**asked) as events:
            whole = events.get_final_message()
    else:
        whole = client.messages.create(**asked)
    seen = Seen(finish=whole.stop_reason)
    for block in whole.content:
        if block.type == "text":
            seen.text += block.text
            seen.blocks += 1
        elif block.type == "thinking":
            seen.thought += block.thinking
        else:
            seen.calls.append((block.name, block.input))
    usage = whole.usage
    cached = usage.cache_read_input_tokens
    seen.tokens = (usage.input_tokens + cached, usage.output_tokens, cached)
    return seen


def generate(clients, url: str, *, stream: bool) -> Seen:
    options = genai.types.HttpOptions(base_url=url.removesuffix("/v1beta"), api_version="v1beta")
    model = clients["google"].models
    ask = model.generate_content_stream if stream else model.generate_content
    answer = ask(model="m", contents="hi", config=genai.types.GenerateContentConfig(http_options=options))
    wholes = list(answer) if stream else [answer]
    seen = Seen()
    for whole in wholes:
        candidate = whole.candidates[0]
        for part in candidate.content.parts:
            if part.function_call:
                seen.calls.append((part.function_call.name, dict(part.function_call.args)))
            elif part.thought:
                seen.thought += part.text
            else:
                seen.text += part.text
        seen.finish = candidate.finish_reason.value if candidate.finish_reason else seen.finish
    usage = wholes[-1].usage_metadata
    output = usage.candidates_token_count + usage.thoughts_token_count
    seen.tokens = (usage.prompt_token_count, output, usage.thoughts_token_count, usage.cached_content_token_count)
    return seen


CLIENTS = {
    "openai_chat": chat,
    "openai_chat_whole": chat,
    "openai_responses": responses,
    "anthropic_messages": messages,
    "google_generate": generate,
}

FINISH = {
    "openai_chat": ("stop", "tool_calls", "length", "content_filter"),
    "openai_chat_whole": ("stop", "tool_calls", "length", "content_filter"),
    "openai_responses": ("completed", "completed", "max_output_tokens", "content_filter"),
    "anthropic_messages": ("end_turn", "tool_use", "max_tokens", "refusal"),
    "google_generate": ("STOP", "STOP", "MAX_TOKENS", "SAFETY"),
}


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def ask(request, play, clients):
    """Play one of the scripts to the SDK of a protocol."""

    def asked(protocol: str, script: str) -> Seen:
        one = play(SCRIPTS[script])
        seen = CLIENTS[protocol](clients, one.stage.base_url(protocol), stream=request.param)
        assert one.last().request.stream is request.param
        assert one.last().ended_by == "script"
        assert one.stage.unscripted == ()
        return seen

    return asked


@pytest.mark.parametrize("protocol", CLIENTS)
class TestSdk:
    def test_text(self, ask, protocol):
        seen = ask(protocol, "text")
        assert (seen.text, seen.thought, seen.calls) == ("All is well. Größe 😀.", "", [])
        assert seen.finish == FINISH[protocol][0]

    def test_text_blocks(self, ask, protocol):
        seen = ask(protocol, "blocks")
        assert seen.text == "First block.Second block."
        assert seen.blocks in (0, 2)

    def test_reasoning(self, ask, protocol):
        seen = ask(protocol, "reasoning")
        assert (seen.thought, seen.text) == ("Let me look.", "I looked.")

    def test_two_parallel_calls(self, ask, protocol):
        seen = ask(protocol, "calls")
        assert (seen.text, seen.calls, seen.finish) == ("Both.", CALLS, FINISH[protocol][1])

    def test_usage(self, ask, protocol):
        wanted = (100, 50, 30) if protocol == "anthropic_messages" else (100, 50, 20, 30)
        assert ask(protocol, "usage").tokens == wanted

    def test_cut_by_length(self, ask, protocol):
        seen = ask(protocol, "length")
        assert (seen.text, seen.finish) == ("Cut off", FINISH[protocol][2])

    def test_cut_by_a_filter(self, ask, protocol):
        assert ask(protocol, "filter").finish == FINISH[protocol][3]


def test_every_protocol_is_asked_here_and_by_opencode():
    folder = Path(__file__).parents[2] / "scenarios" / "protocols"
    scenarios = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.scenario.yaml"))
    assert list(CLIENTS) == list(protocols())
    assert [name for name in protocols() if f"opencode: {{protocol: {name}}}" not in scenarios] == []
