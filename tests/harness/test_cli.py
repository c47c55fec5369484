"""The command guardlab, as its user meets it: what it prints and how it exits."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import hold
from harness.cli import main
from harness.commands import doctor, play
from harness.errors import DeadlineError, SetupError
from harness.moved import Fact
from harness.opencode.doctor import Check
from harness.opencode.server import Server
from harness.process.platform import System
from harness.runner import judge
from harness.schema import scenario_schema
from harness.timeline import Entry, Record

PASSES, FAILS = "[{requests: 0}]", "[{requests: 1}, {answer: Hello.}]"
LISTENING = SimpleNamespace(version="1.18.33", path="/bin/opencode", why="given by a test")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of its own, without what a CI service sets."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "GITHUB_ACTIONS",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_WORKSPACE",
        "OPENCODE_TEST_BINARY",
        "GUARDLAB_OPENCODE_VERSION",
    ):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(path: str, expect: str = PASSES, title: str = "A case") -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = f"format: 1\ntitle: {title}\nscript: [{{say: Hello.}}]\nsteps: [{{prompt: Go.}}]\nexpect: {expect}\n"
    file.write_text(text, encoding="utf-8")
    return file


def record(**facts: object) -> Record:
    entries = (
        Entry(1, 10.0, "user", "prompt", "runner", 1, "ses_1", {"text": "Go.", "step": 1}),
        Entry(2, 10.25, "opencode", "session.diff", "events", 1, "ses_1", {}),
        Entry(3, 11.5, "guard", "loaded", "probe", 1, None, {"guard": "infinity"}),
    )
    return Record(entries, {"ses_1": "main"}, 10.0, {"version": "1.18.33", "guards": [], **facts})


class FakeLab:
    """Stands in for the lab: every run has the same record; titles say what else happens."""

    def __init__(self, settings, *, guard=None):
        self.settings, self.guard, self.binary, self.held, self.upcoming = settings, guard, LISTENING, [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def play(self, scenario, *, upcoming=None, hold=None):
        self.held.append(hold)
        self.upcoming.append(upcoming and upcoming.name)
        errors = {
            "Stuck": DeadlineError("after 1 s still waiting"),
            "Missing": SetupError("no guard there", "Build it."),
        }
        if scenario.head.title == "Interrupted":
            raise KeyboardInterrupt
        error = errors.get(scenario.head.title)
        told = {"error": {"kind": error.kind, "message": error.message, "hint": error.hint}} if error else {}
        if scenario.head.title == "Without a marker":
            told = {"guards": [{"name": "mine", "marker": None}]}
        return judge(scenario, record(**told), seconds=1.25)


@pytest.fixture(autouse=True)
def labs(monkeypatch):
    """The labs that `play` opens, none of them real."""
    made = []

    def opened(*given, **named):
        made.append(FakeLab(*given, **named))
        return made[-1]

    monkeypatch.setattr(play, "Lab", opened)
    return made


# -- the command itself


def test_the_command_line_is_read_without_loading_what_commands_need():
    code = (
        "import sys, harness.cli; print(sorted({'yaml', 'pydantic', 'httpx', 'rich', 'jinja2'} & sys.modules.keys()))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout == "[]\n"


@pytest.mark.parametrize("arguments", [[], ["sing"], ["play"], ["judge", "a"], ["play", "a", "--keep-runs", "some"]])
def test_a_wrong_command_line_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: guardlab" in capsys.readouterr().err


def test_the_help_names_every_command_and_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert caught.value.code == 0
    assert all(f" {command} " in told for command in ("play", "show", "judge", "doctor", "schema", "new"))
    assert "0 everything passed, 1 a scenario failed (doctor: something must be mended), 2 could not run" in told


def test_the_schema_is_printed(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == scenario_schema()


# -- play


def test_play_tells_a_line_a_scenario_and_ends_with_0(capsys):
    write("scenarios/b.scenario.yaml")
    write("scenarios/a/z.scenario.yaml")
    assert main(["play", "scenarios"]) == 0
    assert capsys.readouterr().out == (
        "opencode: 1.18.33 (/bin/opencode, given by a test)\n"
        "scenarios/a/z.scenario.yaml passed (1.2 s)\n"
        "scenarios/b.scenario.yaml passed (1.2 s)\n"
        "guardlab: 2 passed\n"
    )
    assert not Path(".guardlab").exists()


def test_play_reports_what_failed_after_the_last_line(capsys):
    write("a.scenario.yaml", FAILS)
    write("b.scenario.yaml")
    write("c.scenario.yaml", title="Stuck")
    assert main(["play", "."]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[1:4] == [
        "a.scenario.yaml expectation (1.2 s)",
        "b.scenario.yaml passed (1.2 s)",
        "c.scenario.yaml deadline (1.2 s)",
    ]
    assert "\na.scenario.yaml:5:11: expectation failed: requests\n" in out
    assert '"Hello."' in out
    assert "\nc.scenario.yaml:4:10: deadline: after 1 s still waiting\n" in out
    assert "\nreproduce: guardlab play c.scenario.yaml --keep-runs=always\n" in out
    assert "\nartifacts: .guardlab/c.scenario.yaml/ (" in out
    assert out.endswith("\nguardlab: 1 passed, 2 failed (1 deadline, 1 expectation)\n")


def test_a_scenario_for_another_system_is_skipped_and_not_counted_as_passed(labs, capsys, monkeypatch):
    monkeypatch.setattr(System, "detect", lambda: System("linux", "x64"))
    for name, systems in (("a", ""), ("b", "systems: [windows, wsl]\n"), ("c", "systems: [posix]\n")):
        file = write(f"{name}.scenario.yaml")
        file.write_text(file.read_text(encoding="utf-8") + systems, encoding="utf-8")
    assert main(["play", "."]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[2] == "b.scenario.yaml skipped (for windows, wsl; this is linux)"
    assert told[-1] == "guardlab: 2 passed, 1 skipped"
    assert labs[0].upcoming == ["c", None]


def test_what_cannot_be_told_is_a_kind_of_its_own_unless_something_failed_too(capsys):
    unknown, title = "{blocked: {times: 1}}", "Without a marker"
    write("a.scenario.yaml", f"[{unknown}]", title)
    write("b.scenario.yaml", f"[{unknown}, {{requests: 1}}]", title)
    assert main(["play", "."]) == 1
    out = capsys.readouterr().out
    assert "\na.scenario.yaml:5:11: unknown verdict: blocked\n" in out
    assert out.endswith("\nguardlab: 0 passed, 2 failed (1 expectation, 1 unknown)\n")


def test_the_command_that_plays_again_can_be_pasted_into_a_shell(capsys):
    write("a b/c.scenario.yaml", FAILS)
    Path("my guard").mkdir()
    assert main(["play", "a b", "--guard", "my guard"]) == 1
    again = re.search(r"^reproduce: (.*)$", capsys.readouterr().out, re.MULTILINE)[1]
    assert shlex.split(again) == ["guardlab", "play", "a b/c.scenario.yaml", "--guard=my guard", "--keep-runs=always"]


@pytest.mark.parametrize(
    ("titles", "code"), [(["Missing"], 2), (["Missing", "A case"], 2), (["Missing", "Stuck"], 1), (["Stuck"], 1)]
)
def test_what_could_not_even_begin_ends_with_2(capsys, titles, code):
    for number, title in enumerate(titles):
        write(f"{number}.scenario.yaml", title=title)
    assert main(["play", "."]) == code
    assert "no guard there" in capsys.readouterr().out or "Missing" not in titles


def test_play_takes_each_file_once_and_in_the_order_given(labs, capsys):
    for name in ("a", "b", "c", "node_modules/d", ".hidden/e"):
        write(f"x/{name}.scenario.yaml")
    assert main(["play", "x/b.scenario.yaml", "x", "x/../x/a.scenario.yaml"]) == 0
    told = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:-1]]
    assert told == ["x/b.scenario.yaml", "x/a.scenario.yaml", "x/c.scenario.yaml"]
    assert labs[0].upcoming == ["a", "c", None]


def test_play_hands_its_options_to_the_lab(labs, capsys):
    write("a.scenario.yaml", FAILS)
    Path("dist").mkdir()
    arguments = ["--guard", "dist", "--opencode-binary", "oc", "--opencode-version", "1.18.3"]
    arguments += ["--keep-runs", "never", "--step-timeout", "7.5"]
    assert main(["play", "a.scenario.yaml", *arguments]) == 1
    (made,) = labs
    assert made.guard == Path("dist").absolute()
    assert (made.settings.binary, made.settings.version) == ("oc", "1.18.3")
    assert (made.settings.keep_runs, made.settings.step_timeout) == ("never", 7.5)
    out = capsys.readouterr().out
    assert (
        "\nreproduce: guardlab play a.scenario.yaml --guard=dist --opencode-binary=oc --opencode-version=1.18.3"
        " --step-timeout=7.5 --keep-runs=always\n"
    ) in out
    assert "artifacts:" not in out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["gone"], "gone does not exist\nName a file *.scenario.yaml, or a folder of them."),
        (["empty"], "no file *.scenario.yaml lies in empty\n`guardlab new` writes a first one."),
        (
            ["two", "--hold"],
            "--hold holds one scenario, 2 are to be played\nName one file.",
        ),
        (["two", "--guard", "dist"], "--guard: dist does not exist\nIs the plugin built?"),
        (["two", "--step-timeout", "0"], "the step timeout is 0 s; wanted more than 0 s"),
        (
            ["wrong", "two"],
            "nothing was played:\n"  # noqa: ISC004 - one text
            "wrong/a.scenario.yaml:2:8: wanted text, got a number (5)\n 2 | title: 5\n   |        ^\n"
            '   quote it: "5"\n'
            "wrong/b.scenario.yaml:2:8: wanted text, got true\n 2 | title: true\n   |        ^^^^\n"
            '   quote it: "true"',
        ),
    ],
)
def test_what_cannot_be_played_is_an_error_without_a_traceback(capsys, arguments, error):
    Path("empty").mkdir()
    for name in ("two/a", "two/b"):
        write(f"{name}.scenario.yaml")
    write("wrong/a.scenario.yaml", title="5")
    write("wrong/b.scenario.yaml", title="true")
    assert main(["play", *arguments]) == 2
    assert capsys.readouterr() == ("", f"guardlab: {error}\n")


def test_an_interrupt_tells_what_has_been_played(capsys):
    write("a.scenario.yaml", FAILS)
    write("b.scenario.yaml", title="Interrupted")
    write("c.scenario.yaml")
    assert main(["play", "."]) == 2
    out, err = capsys.readouterr()
    assert "a.scenario.yaml:5:11: expectation failed: requests" in out
    assert out.endswith("\nguardlab: 0 passed, 1 failed (1 expectation)\n")
    assert "c.scenario.yaml" not in out
    assert err == "guardlab: interrupted\n"


def test_github_is_told_where_it_listens(capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    write("a.scenario.yaml", "[{requests: 1}]")
    assert main(["play", "a.scenario.yaml"]) == 1
    assert "\n::error file=a.scenario.yaml,line=5,col=11,title=" in capsys.readouterr().out
    page = Path("summary.md").read_text(encoding="utf-8")
    assert page.startswith("### guardlab\n\n- guardlab: 0 passed, 1 failed (1 expectation)\n")
    assert "| a.scenario.yaml:5 |" in page


def test_a_disk_that_takes_no_more_does_not_cost_the_report(capsys):
    Path(".guardlab").write_text("a file where the folder would be", encoding="utf-8")
    write("a.scenario.yaml", "[{requests: 1}]")
    assert main(["play", "a.scenario.yaml"]) == 1
    out = capsys.readouterr().out
    assert "a.scenario.yaml:5:11: expectation failed: requests" in out
    assert "a.scenario.yaml: setup: the files of this run could not be kept in .guardlab: " in out
    write("a.scenario.yaml")
    assert main(["play", "a.scenario.yaml", "--keep-runs", "always"]) == 2


# -- hold


def scene(*, alive: bool = True) -> SimpleNamespace:
    home = SimpleNamespace(environment=dict, password="it's secret", system=System("linux", "x64"))
    server = Server(SimpleNamespace(path=Path("/bin/opencode")), home, supervisor=None)
    server.address = "http://127.0.0.1:4711"
    return SimpleNamespace(alive=alive, program=server, directory="/a b", living={"main": "ses_m"}.get)


def test_hold_says_how_to_attach_and_waits_for_enter(labs, capsys, monkeypatch):
    write("a.scenario.yaml")
    assert main(["play", "a.scenario.yaml", "--hold"]) == 0
    (held,) = labs[0].held
    capsys.readouterr()
    entered = io.StringIO("\nmore\n")
    monkeypatch.setattr(sys, "stdin", entered)
    held(scene())
    assert entered.read() == "more\n"
    assert capsys.readouterr().out == (
        "\nOpenCode is held. Look at it from another terminal:\n"
        "  OPENCODE_SERVER_PASSWORD='it'\"'\"'s secret' /bin/opencode attach http://127.0.0.1:4711 --dir '/a b'"
        " --session ses_m\n"
        "Press Enter to end. What you do meanwhile is no part of the run.\n"
    )


def test_hold_ends_with_an_interrupt(capsys, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(readline=interrupt))
    hold.Hold(play.output().print)(scene())
    assert "Press Enter" in capsys.readouterr().out


def test_hold_does_not_wait_for_an_opencode_that_is_gone(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    hold.Hold(play.output().print)(scene(alive=False))
    assert capsys.readouterr().out == "\nthere is nothing to hold: OpenCode has ended\n"


# -- show and judge


def test_show_tells_a_timeline_in_words(capsys):
    Path("run").mkdir()
    record().save(Path("run/timeline.ndjson"))
    assert main(["show", "run"]) == 0
    assert capsys.readouterr().out == (
        "OpenCode 1.18.33; guards: none\n"
        "sessions: main ses_1\n"
        "#1   +0.00s user     prompt: Go.\n"
        "#3   +1.50s guard    infinity loaded\n"
        "2 of 3 entries; --all shows every one\n"
    )
    assert main(["show", "--all", "run/timeline.ndjson"]) == 0
    assert capsys.readouterr().out.splitlines()[3:] == [
        "#2   +0.25s opencode session.diff",
        "#3   +1.50s guard    infinity loaded",
        "3 of 3 entries",
    ]


@pytest.mark.parametrize("command", [["show"], ["judge", "a.scenario.yaml"]])
def test_what_is_no_timeline_is_an_error(command, capsys):
    write("a.scenario.yaml")
    Path("run").mkdir()
    assert main([*command, "run"]) == 2
    assert capsys.readouterr().err == (
        "guardlab: run/timeline.ndjson does not exist\n`guardlab play --keep-runs always` keeps it under .guardlab.\n"
    )
    assert main([*command, "a.scenario.yaml"]) == 2
    assert capsys.readouterr().err.startswith("guardlab: a.scenario.yaml: not a timeline that guardlab saved (")


def test_judge_reads_the_scenario_first(capsys):
    write("a.scenario.yaml", "[{requests: none}]")
    assert main(["judge", "a.scenario.yaml", "run"]) == 2
    assert capsys.readouterr().err.startswith("guardlab: a.scenario.yaml:5:21: wanted a whole number or a range")


@pytest.mark.parametrize("title", ["A case", "Stuck", "Missing"])
@pytest.mark.parametrize("expect", [PASSES, FAILS])
def test_a_run_judged_again_has_the_same_verdicts(capsys, expect, title):
    write("a.scenario.yaml", expect, title)
    code = main(["play", "a.scenario.yaml", "--keep-runs", "always"])
    _, _, played = capsys.readouterr().out.partition("s)\n")
    assert main(["judge", "a.scenario.yaml", ".guardlab/a.scenario.yaml"]) == code
    judged = capsys.readouterr().out
    report, _, count = played.lstrip().rpartition("guardlab: ")
    assert judged == f"{report.partition('reproduce: ')[0]}guardlab: {count}"


# -- doctor and new


def test_the_doctor_says_what_to_mend(capsys, monkeypatch):
    seen = []
    checks = [
        Check("git", ok=True, what="git version 2.39"),
        Check("ripgrep", ok=False, what="gone", mend="Get it."),
    ]
    monkeypatch.setattr(doctor, "examine", lambda settings: seen.append(settings) or checks)
    assert main(["doctor", "--opencode-binary", "oc"]) == 1
    assert capsys.readouterr().out == (
        "ok    git      git version 2.39\nWRONG ripgrep  gone\n               -> Get it.\nto mend: ripgrep\n"
    )
    assert seen[0].binary == "oc"


def test_the_doctor_is_content(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda _settings: [Check("git", ok=True, what="git version 2.39")])
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out == "ok    git  git version 2.39\nguardlab can play scenarios here\n"


@pytest.mark.parametrize(("holds", "code", "end"), [(True, 0, "every fact holds"), (False, 1, "moved: delta-field")])
def test_the_doctor_asks_a_version_for_its_facts(capsys, monkeypatch, holds, code, end):
    facts = [
        Fact("abort-order", "An abort comes before idle", holds=True, report=""),
        Fact("delta-field", "Deltas are called text", holds=holds, report="" if holds else "they are not\n"),
    ]
    monkeypatch.setattr(doctor, "examine", lambda _settings: [Check("git", ok=True, what="git version 2.39")])
    monkeypatch.setattr(doctor, "Lab", FakeLab)
    monkeypatch.setattr(doctor, "examine_facts", lambda _lab: facts)
    assert main(["doctor", "--opencode-version", "latest"]) == code
    told = capsys.readouterr().out.splitlines()
    assert told[2:4] == [
        "what guardlab knows of OpenCode, asked of 1.18.33:",
        "ok    abort-order: An abort comes before idle",
    ]
    assert told[4:] == [
        f"{'ok   ' if holds else 'WRONG'} delta-field: Deltas are called text",
        *([] if holds else ["they are not"]),
        end,
    ]


def test_the_doctor_asks_no_facts_of_a_machine_that_must_be_mended(capsys, monkeypatch):
    check = Check("git", ok=False, what="gone", mend="Get it.")
    monkeypatch.setattr(doctor, "examine", lambda _settings: [check])
    monkeypatch.setattr(doctor, "Lab", None)
    assert main(["doctor", "--opencode-version", "latest"]) == 1
    assert capsys.readouterr().out.endswith("to mend: git\n")


def test_new_writes_what_play_takes_and_never_twice(capsys):
    Path("dist").mkdir()
    assert main(["new", "--guard", "dist", "--ci"]) == 0
    assert capsys.readouterr().out == (
        "wrote scenarios/first.scenario.yaml\nwrote .github/workflows/guardlab.yml\n"
        "next: guardlab play scenarios/first.scenario.yaml\n"
    )
    assert main(["play", "scenarios"]) == 1
    capsys.readouterr()
    assert main(["new"]) == 2
    assert capsys.readouterr().err == (
        "guardlab: scenarios/first.scenario.yaml exists already; nothing was written\n"
        "Choose another name: guardlab new NAME\n"
    )


# -- all of it, on the real OpenCode


def guardlab(*arguments: str, folder: Path, said: str = "") -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from harness.cli import main; raise SystemExit(main())", *arguments]
    return subprocess.run(program, cwd=folder, input=said, capture_output=True, text=True, check=False, timeout=120)


def test_from_new_to_judge_on_the_real_opencode(tmp_path, monkeypatch):
    monkeypatch.undo()
    assert guardlab("new", folder=tmp_path).returncode == 0
    file = "scenarios/first.scenario.yaml"
    played = guardlab("play", "scenarios", "--keep-runs", "always", "--hold", folder=tmp_path, said="\n")
    assert (played.returncode, played.stderr) == (0, ""), played.stdout
    assert " attach http://127.0.0.1:" in played.stdout
    assert played.stdout.endswith("\nguardlab: 1 passed\n")
    shown = guardlab("show", ".guardlab/first", folder=tmp_path)
    assert "bash {command: git status} blocked: [ANTI-LOOP]" in shown.stdout
    judged = guardlab("judge", file, ".guardlab/first", folder=tmp_path)
    assert (judged.returncode, judged.stdout) == (0, "guardlab: 1 passed\n")
    (tmp_path / file).write_text((tmp_path / file).read_text(encoding="utf-8").replace("nth: 3", "nth: 2"))
    again = guardlab("judge", file, ".guardlab/first", folder=tmp_path)
    assert again.returncode == 1
    assert "expectation failed: blocked" in again.stdout
