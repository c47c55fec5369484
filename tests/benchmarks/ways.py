"""The ways to let OpenCode answer a scenario's prompt: as the harness plays it, and with as little as possible.

Every way gets its folders laid out before its clock starts, as the harness does while another scenario plays.
"""

from __future__ import annotations

import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.opencode.config import PACKAGES, config_of
from harness.opencode.oneshot import OneShot
from harness.props import lay_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fakemodel.stage import Stage
    from harness.lab import Lab
    from harness.opencode.isolation import Home
    from harness.scenario.model import Scenario

__all__ = ["Undone", "Ways", "answered_by_one_prompt"]

SECONDS = 30.0
SPEED_UPS = ("OPENCODE_", "XDG_", "npm_config_")


class Undone(Exception):  # noqa: N818 - it is no error of the program
    """A way did not come to the end of a scenario's script."""


def answered_by_one_prompt(scenario: Scenario) -> bool:
    """Whether a scenario is no more than a prompt to a server that may be shared: then every way could do it."""
    options, steps = scenario.head.opencode, scenario.steps
    plain = options.via == "serve" and not options.env and not options.api
    return plain and [(step.kind, step.session) for step in steps] == [("prompt", "main")]


class Ways:
    """The ways; each returns the seconds that it took, or raises Undone."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def named(self) -> Mapping[str, Callable[[Scenario], float]]:
        """Give all of them, the one that the others are compared with first."""
        return {
            "warm server": self.warm_server,
            "without quiet": self.without_quiet,
            "process each": self.process_each,
            "bare client": self.bare_client,
            "opencode run": self.hermetic_home,
            "plain new home": self.plain_home,
        }

    def warm_server(self, scenario: Scenario) -> float:
        """Play the scenario on the lab's server."""
        # As `play` leaves it for the one that it is told comes next, had that run been long enough.
        self.lab._next = self.lab._prepare(scenario)
        self.lab._next.props.result()
        began = time.perf_counter()
        run = self.lab.play(scenario)
        took = time.perf_counter() - began
        if not run.passed:
            raise Undone(run.report())
        return took

    def without_quiet(self, scenario: Scenario) -> float:
        """Play it and stop as soon as nothing is open: what the harness itself adds to OpenCode's time."""
        return self.warm_server(_with(scenario, quiet=0.0))

    def process_each(self, scenario: Scenario) -> float:
        """Play it in a process of its own."""
        return self.warm_server(_with(scenario, isolation="process"))

    def bare_client(self, scenario: Scenario) -> float:
        """Let a client that checks nothing ask the lab's server: what OpenCode itself takes in a fresh workspace."""
        with self.lab.pool.lend(alone=False, environment={}) as server:
            workspace, stage = self._laid_out(scenario, server.home, Path(tempfile.mkdtemp(dir=self.lab.root)))
            done = threading.Event()

            def listen(kind: str, _: object) -> None:
                if kind == "session.idle" and not stage.unused():
                    done.set()

            server.events.watch(str(workspace), listen)
            driver = server.driver(workspace)
            began = time.perf_counter()
            session = driver.create_session("bare")
            stage.bind(session, "main")
            driver.send(session, str(scenario.steps[0].value))
            ended = done.wait(SECONDS)
            took = time.perf_counter() - began
            driver.dispose()
            driver.close()
            server.events.watch(str(workspace), None)
            _close(stage, "" if ended else f"the bare client's turn did not end within {SECONDS:g} s")
        return took

    def hermetic_home(self, scenario: Scenario) -> float:
        """Run the process in a new home of ours."""
        return self._one_shot(scenario, self.lab.pool.make_home())

    def plain_home(self, scenario: Scenario) -> float:
        """Run it in a new home as OpenCode itself would find and fill it."""
        home = self.lab.pool.make_home()
        plain = {name: value for name, value in home.environment().items() if not name.startswith(SPEED_UPS)}
        return self._one_shot(scenario, replace(home, _environment=plain))

    def _one_shot(self, scenario: Scenario, home: Home) -> float:
        workspace, stage = self._laid_out(scenario, home, home.root)
        program = OneShot(self.lab.binary, home, self.lab.supervisor, {})
        began = time.perf_counter()
        child = program.start(workspace, str(scenario.steps[0].value))
        ended = child.wait(SECONDS)
        took = time.perf_counter() - began
        _close(stage, "" if ended and child.returncode == 0 else f"opencode run did not end well; {child.tail()}")
        program.stop()
        return took

    def _laid_out(self, scenario: Scenario, home: Home, folder: Path) -> tuple[Path, Stage]:
        options = scenario.head.opencode
        props = lay_out(scenario, folder / "run", home, self.lab.binary.version)
        stage = self.lab.tools.model.open(scenario.script)
        config = config_of(
            base_url=stage.base_url(options.protocol),
            package=PACKAGES[options.protocol],
            shell=home.shell,
            probe=None,
            guards=props.guards,
            extra=options.config,
        )
        config["plugin"] = [plugin for plugin in config["plugin"] if plugin]  # no probe
        props.workspace.write_config(config)
        return props.workspace.root, stage


def _with(scenario: Scenario, **head: object) -> Scenario:
    return replace(scenario, head=scenario.head.model_copy(update=head))


def _close(stage: Stage, trouble: str) -> None:
    """Close a stage whose script has to be used up."""
    unused = stage.unused()
    stage.close()
    if trouble or unused or stage.unscripted:
        raise Undone(trouble or f"unused: {unused}; unscripted: {stage.unscripted}")
