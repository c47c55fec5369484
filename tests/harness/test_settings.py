from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs import user_cache_path

from harness.errors import CrashError, DeadlineError, GuardlabError, NotLoadedError, SetupError
from harness.settings import Settings

SOURCES = "It comes from --opencode-version, else from the variable GUARDLAB_OPENCODE_VERSION."


def test_nothing_given():
    settings = Settings.from_environment({})
    assert settings == Settings(
        binary=None,
        binary_env=None,
        binary_ini=None,
        version="1.18.33",
        cache_dir=user_cache_path("guardlab", appauthor=False),
        runs_dir=Path(".guardlab"),
        keep_runs="on-failure",
        step_timeout=60.0,
    )


def test_the_environment_is_read():
    given = {"OPENCODE_TEST_BINARY": "oc", "GUARDLAB_OPENCODE_VERSION": "1.18.3", "GUARDLAB_CACHE": "kept"}
    settings = Settings.from_environment(given)
    assert (settings.binary_env, settings.version, settings.cache_dir) == ("oc", "1.18.3", Path("kept"))


def test_an_empty_variable_counts_as_absent():
    empty = dict.fromkeys(("OPENCODE_TEST_BINARY", "GUARDLAB_OPENCODE_VERSION", "GUARDLAB_CACHE"), "")
    assert Settings.from_environment(empty) == Settings()


def test_an_override_wins_and_none_is_not_given():
    settings = Settings.from_environment({"GUARDLAB_CACHE": "kept"}, cache_dir=Path("other"), version=None, binary="oc")
    assert settings == Settings(cache_dir=Path("other"), binary="oc")


def test_the_option_wins_over_a_version_in_the_environment_even_a_bad_one():
    assert Settings.from_environment({"GUARDLAB_OPENCODE_VERSION": "new"}, version="1.18.3").version == "1.18.3"


def test_an_unknown_override_is_an_error():
    with pytest.raises(TypeError, match="verison"):
        Settings.from_environment({}, verison="1.18.3")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"version": "1.18"}, f"the OpenCode version is '1.18'; wanted a full one like 1.18.33, or latest\n{SOURCES}"),
        (
            {"version": "../1.18.3"},
            f"the OpenCode version is '../1.18.3'; wanted a full one like 1.18.33, or latest\n{SOURCES}",
        ),
        ({"keep_runs": "sometimes"}, "keep-runs is 'sometimes'; wanted one of: on-failure, always, never"),
        ({"step_timeout": 0}, "the step timeout is 0 s; wanted more than 0 s"),
        ({"step_timeout": float("nan")}, "the step timeout is nan s; wanted more than 0 s"),
    ],
)
def test_bad_values(values, text):
    with pytest.raises(SetupError) as caught:
        Settings(**values)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("error", "kind"),
    [(SetupError, "setup"), (NotLoadedError, "not loaded"), (DeadlineError, "deadline"), (CrashError, "crash")],
)
def test_errors_know_their_kind(error, kind):
    raised = error("what", "do this")
    assert isinstance(raised, GuardlabError)
    assert (raised.kind, raised.message, raised.hint, str(raised)) == (kind, "what", "do this", "what\ndo this")


def test_an_error_without_a_hint_is_one_line():
    assert str(SetupError("what")) == "what"


@pytest.mark.parametrize("version", ["1.18.3", "1.19.0-beta.2", "latest"])
def test_good_versions(version):
    assert Settings(version=version).version == version
