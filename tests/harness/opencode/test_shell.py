from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.opencode.shell import RecordingShell
from harness.process.platform import System

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a script is a program on POSIX only")


@pytest.fixture
def shell(tmp_path, home):
    return RecordingShell.create(tmp_path / "it's a shell", home.shell)


@pytest.fixture
def windows(tmp_path, home):
    """The shell as it is on Windows, where bash reads the recorder at its start."""
    return RecordingShell.create(tmp_path / "it's a shell", home.shell, system=System("windows", "x64"))


def run(shell, *args, cwd=None, **variables):
    environment = {**os.environ, **shell.variables, **variables}
    return subprocess.run([shell.path, *args], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_it_is_called_bash(shell):
    assert shell.path.name == "bash"


def test_a_command_is_recorded_and_run(shell, tmp_path):
    before = time.time()
    done = run(shell, "-c", "echo out; echo err >&2; exit 3", cwd=tmp_path)
    (record,) = shell.records()
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 3)
    assert record[:2] == (str(tmp_path), "echo out; echo err >&2; exit 3")
    assert before <= record.at <= time.time()


@pytest.mark.parametrize(
    "command", ["echo a\necho 'b c'\n", "echo \"$(printf '\\n')\" '$x' \\", "echo 'üñ🙂'", "", "x=" + "y" * 20000]
)
def test_every_text_comes_back_as_it_was(shell, command):
    run(shell, "-c", command)
    assert [record.command for record in shell.records()] == [command]


def test_records_stand_in_the_order_of_time(shell):
    for number in range(5):
        run(shell, "-c", f"echo {number}")
    assert [record.command for record in shell.records()] == [f"echo {number}" for number in range(5)]


def test_calls_at_once_do_not_mix(shell):
    commands = [f"echo {number}\n" * 500 for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda command: run(shell, "-c", command), commands))
    assert sorted(record.command for record in shell.records()) == sorted(commands)


def test_a_link_on_the_way_does_not_show(shell, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    run(shell, "-c", "true", cwd=tmp_path / "link")
    assert shell.records()[0].folder == str(tmp_path / "real")


def test_what_a_command_starts_is_not_a_command_of_its_own(shell):
    assert run(shell, "-c", "bash -c 'echo inner'").stdout == "inner\n"
    assert len(shell.records()) == 1


def test_options_of_the_real_shell_stay_as_they_were(shell):
    assert run(shell, "-c", "set -o | grep noclobber").stdout.split() == ["noclobber", "off"]
    assert run(shell, "-c", 'echo "$0 $*"', "name", "a", "b").stdout == "name a b\n"


def test_other_uses_of_the_shell_are_not_commands(shell):
    assert run(shell, "--version").stdout.startswith("GNU bash")
    assert shell.records() == ()


def test_a_record_that_is_still_being_written_is_left_out(shell):
    run(shell, "-c", "true")
    (path,) = (shell.path.parent / "commands").iterdir()
    path.write_bytes(path.read_bytes()[:-4])
    assert shell.records() == ()


def test_a_bash_without_a_clock_gives_the_time_of_the_file(shell):
    path = shell.path.parent / "commands" / "1"
    path.write_bytes(b"\0/ws\0echo a\0call_1\0end\0")
    os.utime(path, (5, 7))
    assert shell.records() == (("/ws", "echo a", 7.0, "call_1"),)


def test_the_id_of_the_tool_call_is_recorded(shell):
    run(shell, "-c", "true", GUARDLAB_CALL="call_7")
    run(shell, "-c", "true")
    assert [record.call for record in shell.records()] == ["call_7", None]


def test_what_can_not_be_recorded_is_not_run(shell, tmp_path):
    (shell.path.parent / "commands").rmdir()
    assert run(shell, "-c", f"touch '{tmp_path}/ran'").returncode == 126
    assert not (tmp_path / "ran").exists()


def test_on_windows_it_is_the_real_bash(windows, home):
    assert windows.path == home.shell
    assert list(windows.variables) == ["BASH_ENV"]


def test_on_windows_a_command_is_recorded_and_run(windows, tmp_path):
    command = "echo out\nbash -c 'echo inner'; echo ${at-unset} ${BASH_ENV-unset}; set -o | grep noclobber; exit 3"
    done = run(windows, "-c", command, cwd=tmp_path, GUARDLAB_CALL="call_7")
    (record,) = windows.records()
    assert (done.stdout.split(), done.stderr, done.returncode) == (
        ["out", "inner", "unset", "unset", "noclobber", "off"],
        "",
        3,
    )
    assert (record.folder, record.command, record.call) == (str(tmp_path), command, "call_7")


def test_on_windows_a_script_is_not_a_command(windows, tmp_path):
    (tmp_path / "script.sh").write_text("echo script")
    assert run(windows, tmp_path / "script.sh").stdout == "script\n"
    assert windows.records() == ()


def test_on_windows_too_what_can_not_be_recorded_is_not_run(windows, tmp_path):
    (tmp_path / "it's a shell" / "commands").rmdir()
    assert run(windows, "-c", f"touch '{tmp_path}/ran'").returncode == 126
    assert not (tmp_path / "ran").exists()
