from __future__ import annotations

import re
import time

import pytest

from harness.errors import CrashError, DeadlineError
from harness.process.readiness import wait_for_line

LISTENING = re.compile(r"^listening on (\d+)$", re.MULTILINE)


def test_the_line_comes(start):
    child = start("import time; print('hello\\nlistening on 42', flush=True); time.sleep(60)")
    assert wait_for_line(child, LISTENING, 10).group(1) == "42"
    assert child.alive


def test_a_program_that_ends_at_once(start):
    child = start("import sys; print('no such option'); sys.exit(3)")
    began = time.monotonic()
    with pytest.raises(CrashError) as caught:
        wait_for_line(child, LISTENING, 10)
    assert str(caught.value) == "program ended with exit code 3 before it was ready; it printed:\nno such option"
    assert time.monotonic() - began < 5


def test_a_program_that_ends_without_a_word(start):
    with pytest.raises(CrashError) as caught:
        wait_for_line(start("pass"), LISTENING, 10)
    assert str(caught.value) == "program ended with exit code 0 before it was ready; it printed nothing"


def test_a_program_that_never_listens(start):
    child = start("import time; print('starting', flush=True); time.sleep(60)")
    with pytest.raises(DeadlineError) as caught:
        wait_for_line(child, LISTENING, 0.5)
    assert str(caught.value) == (
        f"program (process {child.pid}) did not print a line like '^listening on (\\\\d+)$' within 0.5 s; "
        "it printed:\nstarting"
    )


def test_a_line_written_just_before_the_end_counts(start):
    child = start("print('listening on 7')")
    assert child.wait(10)
    assert wait_for_line(child, LISTENING, 10).group(1) == "7"


def test_only_the_end_of_the_output_is_shown(start):
    with pytest.raises(CrashError) as caught:
        wait_for_line(start("for i in range(50): print(i)"), LISTENING, 10)
    assert str(caught.value).splitlines()[1:] == [str(i) for i in range(30, 50)]
