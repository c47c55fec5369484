"""``python -m fakemodel`` as its user meets it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from raw_client import RawClient, chat, said

from fakemodel.protocols import protocols

SCENARIO = "format: 1\ntitle: A scenario\nscript: [{say: Hello.}, {say: Later., gate: held}]\nsteps: [{prompt: Go.}]\n"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fakemodel", *arguments], capture_output=True, text=True, timeout=30, check=False
    )


class Program:
    """The program while it serves."""

    def __init__(self, script) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fakemodel", str(script), "--port", "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.urls = dict(self.process.stdout.readline().split() for _ in protocols())

    def line(self) -> str:
        return self.process.stdout.readline().strip()

    def stop(self, how: int = signal.SIGINT) -> tuple[str, int]:
        self.process.send_signal(how)
        rest, _ = self.process.communicate(timeout=30)
        return rest, self.process.returncode


@pytest.fixture
def serve(tmp_path):
    programs = []

    def begin(text: str) -> Program:
        script = tmp_path / "script.yaml"
        script.write_text(text)
        programs.append(Program(script))
        return programs[-1]

    yield begin
    for program in programs:
        program.process.kill()
        program.process.communicate()


def test_check_a_good_script(tmp_path):
    script = tmp_path / "x.yaml"
    script.write_text("{main: [{say: a}, {say: b}], child: [{say: c}], any_time: [{say: d, when: {user_says: e}}]}")
    done = run(str(script), "--check")
    assert done.returncode == 0
    assert done.stdout == f"{script}: a good script; replies of session main: 2, session child: 1, any time: 1\n"


def test_check_a_bad_scenario(tmp_path):
    script = tmp_path / "x.yaml"
    script.write_text(SCENARIO.replace("say: Hello.", "sya: Hello."))
    done = run(str(script), "--check")
    assert done.returncode == 2
    assert done.stderr.startswith(f"{script}:3:11: unknown key 'sya'\n")
    assert done.stderr.endswith("   did you mean 'say'?\n")


def test_a_missing_file():
    done = run("nowhere.yaml")
    assert (done.returncode, done.stderr) == (
        2,
        "nowhere.yaml:1:1: the file cannot be read: No such file or directory\n",
    )


def test_it_plays_a_scenario_and_tells_what_happens(serve):
    program = serve(SCENARIO)
    assert set(program.urls) == set(protocols())
    url = f"{program.urls['openai_chat']}/chat/completions"
    with RawClient(url, chat()) as client:
        assert said(client.read()) == "Hello."
    assert program.line().startswith("#1 openai_chat main reply 1 use 1: 200, 5 of 5 chunks in ")
    with RawClient(url, chat("next")) as client:
        assert program.line() == "#2 waits at gate held; write held and Enter to release it"
        program.process.stdin.write("hled\nheld\n")
        program.process.stdin.flush()
        assert said(client.read()) == "Later."
    assert program.line() == "no reply has a gate 'hled'; gates of this script: held"
    assert program.line().endswith("ended by script")
    assert program.stop() == ("", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_it_ends_with_a_verdict(serve):
    program = serve("- {say: Hello., when: {user_says: Bye}}")
    with RawClient(f"{program.urls['openai_chat']}/chat/completions", chat()) as client:
        assert client.head() == 501
    assert program.line() == (
        "#1 UNSCRIPTED request; nearest reply: 1, differs in when.user_says: wanted text containing 'Bye', got 'hi'"
    )
    rest, code = program.stop(signal.SIGTERM)
    assert rest.endswith("unused: main reply 1 (line 1), used 0 of 1\n")
    assert code == 1


def test_a_port_that_is_taken(serve, tmp_path):
    program = serve("- {say: Hello.}")
    port = program.urls["openai_chat"].split("/")[2].split(":")[1]
    done = run(str(tmp_path / "script.yaml"), "--port", port)
    assert done.returncode == 1
    assert done.stdout == f"fakemodel: port {port} of 127.0.0.1 cannot be used: Address already in use\n"
