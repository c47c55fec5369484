from __future__ import annotations

import pytest
from standin import a_scene

from harness import loaded
from harness.errors import DeadlineError, NotLoadedError
from harness.guards import Installed
from harness.loaded import check_loaded, check_log

LOG = 'level=ERROR message="failed to load plugin" path={} error="init boom"\n'


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(loaded, "BOOT_SECONDS", 0.0)


@pytest.fixture
def guard(tmp_path):
    """A guard from a folder with a space in its name, in a private copy; `kind` file or directory."""

    def make(number=1, name="mine", kind="file"):
        source = tmp_path / "my guards" / "src" / "guard.js"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("")
        root = tmp_path / "cö py" / f"guard-{number}" / "src"
        given = source if kind == "file" else source.parent
        return Installed(name, None, "", root / "guard.js", root, given)

    return make


@pytest.fixture
def scene(tmp_path):
    def make(*guards, booted=True):
        made = a_scene(tmp_path, guards=guards)
        if booted:
            made.timeline.add("opencode", "config", "probe")
        return made

    return make


def evaluate(scene, guard):
    data = {"guard": guard.name, "url": guard.entry.as_uri()}
    scene.timeline.add("guard", "loaded", "probe", data=data)


def publish(scene, message, session=None):
    data = {"error": {"name": "UnknownError", "data": {"message": message}}}
    scene.timeline.add("opencode", "session.error", "events", session=session, data=data)


def refused(scene):
    with pytest.raises(NotLoadedError) as caught:
        check_loaded(scene)
    return str(caught.value)


def test_a_guard_that_was_evaluated_is_loaded(scene, guard):
    one, two = guard(1), guard(2, "other")
    here = scene(one, two)
    evaluate(here, one)
    evaluate(here, two)
    check_loaded(here)
    assert here.asked == ["flush"]


def test_without_a_guard_there_is_nothing_to_prove(scene):
    check_loaded(scene())


def test_an_instance_that_does_not_boot(scene, guard):
    with pytest.raises(DeadlineError, match=r"^after 0 s still waiting for: the probe, which OpenCode loads first$"):
        check_loaded(scene(guard(), booted=False))


def test_what_the_probe_has_still_to_say_counts(scene, guard):
    one = guard()
    here = scene(one)
    here.tools.control.late = lambda: evaluate(here, one)
    check_loaded(here)


def test_a_guard_that_was_never_evaluated(scene, guard):
    one = guard()
    assert refused(scene(one)) == (
        "guard mine is not loaded: OpenCode reported no error, but guard.js was never evaluated to its end\n"
        f"OpenCode was told to load {one.source}."
    )


def test_a_guard_of_the_same_name_does_not_stand_in_for_it(scene, guard):
    one, two = guard(1), guard(2)
    here = scene(one, two)
    evaluate(here, one)
    assert "never evaluated" in refused(here)


@pytest.mark.parametrize("by", ["url", "path"])
@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_module_that_was_refused(scene, guard, kind, by):
    """OpenCode says the path of the copy; the report says the guard's own."""
    one = guard(kind=kind)
    private = one.entry if kind == "file" else one.root
    here = scene(one)
    evaluate(here, one)
    publish(
        here, f"Failed to load plugin {private.as_uri() if by == 'url' else private}: Plugin export is not a function"
    )
    own = one.source.as_uri() if by == "url" else one.source
    assert refused(here) == (
        f"guard mine is not loaded: Failed to load plugin {own}: Plugin export is not a function\n"
        f"OpenCode was told to load {one.source}."
    )


def test_another_file_of_a_guard_is_named_where_it_lies(scene, guard):
    one = guard()
    here = scene(one)
    publish(here, f"Failed to load plugin {one.entry}: Cannot find module {one.root / 'lib.js'}")
    assert f"Failed to load plugin {one.source}: Cannot find module {one.source.parent / 'lib.js'}\n" in refused(here)


@pytest.mark.parametrize("by", ["url", "path"])
def test_an_init_that_threw_is_only_logged(scene, guard, tmp_path, by):
    one = guard()
    (tmp_path / "opencode.log").write_text(LOG.format("of an earlier scenario"))
    here = scene(one)
    evaluate(here, one)
    check_loaded(here)
    with (tmp_path / "opencode.log").open("a") as log:
        log.write(LOG.format(one.entry.as_uri() if by == "url" else one.entry))
    assert refused(here).startswith(
        f'guard mine is not loaded: level=ERROR message="failed to load plugin" '
        f'path={one.source.as_uri() if by == "url" else one.source} error="init boom"\n'
    )


def test_errors_of_others_do_not_count(scene, guard, tmp_path):
    one, two = guard(1), guard(2)
    here = scene(one)
    evaluate(here, one)
    publish(here, f"Failed to load plugin {two.entry.as_uri()}: boom")
    publish(here, f"Something else about {one.entry.as_uri()}")
    publish(here, f"Failed to load plugin {one.entry.as_uri()}: said by a model", session="ses_1")
    here.timeline.add("opencode", "session.error", "events", data={"error": None})
    with (tmp_path / "opencode.log").open("a") as log:
        log.write(LOG.format(two.entry.as_uri()))
    check_loaded(here)


# -- the log, which OpenCode writes late


def created(here):
    """A main session, and what the log will say of it."""
    here.sessions["ses_1"] = "main"
    return "level=INFO message=created id=ses_1 slug=x\n"


def test_a_refusal_that_is_logged_late_is_waited_for(scene, guard, monkeypatch):
    one = guard()
    here = scene(one)
    lines = iter([[], [LOG.format(one.entry.as_uri()).strip(), created(here).strip()]])
    seen = []
    monkeypatch.setattr(here.log, "lines", lambda: seen[-1] if len(seen) > 1 else seen.append(next(lines)) or seen[-1])
    with pytest.raises(NotLoadedError, match="init boom"):
        check_log(here)
    assert len(seen) == 2


def test_a_log_that_never_gets_so_far_is_a_deadline(scene, guard, monkeypatch):
    monkeypatch.setattr(loaded, "LOG_SECONDS", 0.0)
    here = scene(guard())
    created(here)
    with pytest.raises(DeadlineError, match="OpenCode's log to say 'created id=ses_1 '"):
        check_log(here)


def test_a_killed_process_may_not_have_written_its_log(scene, guard):
    here = scene(guard())
    created(here)
    here.program.up = False
    check_log(here)


# -- a process that was started again


@pytest.fixture
def again(scene, guard, tmp_path):
    """A guard that was at work in the first process, and whose creation of a session the log tells."""
    one = guard()
    here = scene(one)
    evaluate(here, one)
    (tmp_path / "opencode.log").write_text("")
    with (tmp_path / "opencode.log").open("a") as log:
        log.write(created(here))
    here.timeline.add("opencode", "exit", "runner", data={"expected": True})
    here.born = len(here.timeline.entries), len(here.log.lines())
    return here, one


def test_a_guard_is_loaded_anew_after_a_restart(again):
    here, one = again
    with pytest.raises(DeadlineError, match="the probe, which OpenCode loads first"):
        check_loaded(here)
    here.timeline.add("opencode", "config", "probe")
    assert "never evaluated" in refused(here)
    evaluate(here, one)
    check_loaded(here)


def test_the_log_of_a_restarted_process_is_waited_for(again, tmp_path, monkeypatch):
    monkeypatch.setattr(loaded, "LOG_SECONDS", 0.0)
    here, one = again
    check_log(here)
    here.timeline.add("opencode", "message.user", "probe", session="ses_1")
    with pytest.raises(DeadlineError, match=r"OpenCode's log to say 'session\.id=ses_1 '"):
        check_log(here)
    with (tmp_path / "opencode.log").open("a") as log:
        log.write(LOG.format(one.entry) + "level=INFO message=loop session.id=ses_1 step=0\n")
    with pytest.raises(NotLoadedError, match="init boom"):
        check_log(here)
