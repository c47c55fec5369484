"""The Python API: a lab plays scenarios against the real OpenCode, with or without pytest."""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from fakemodel.server import FakeModel, FakeModelError
from harness import runner
from harness.errors import SetupError
from harness.opencode.binary import Binary, resolve, ripgrep
from harness.opencode.egress import EgressTrap
from harness.opencode.pool import Pool
from harness.probe.control import Control
from harness.process.supervisor import Supervisor, sweep_orphans
from harness.process.trees import identity, still_runs
from harness.props import Props, lay_out
from harness.scenario.loader import load
from harness.scenario.model import Scenario
from harness.scene import Scene, Tools
from harness.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from types import TracebackType

    from harness.report.run import Run

__all__ = ["TAG_PREFIX", "Lab"]

TAG_PREFIX = "guardlab-"
ROOM = 20_000_000  # bytes; a worker takes a fraction of it, but OpenCode ends without a word where there are none
OWNER = "owner"


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The folders of a scenario, which a thread lays out."""

    scenario: Scenario
    folder: Path
    props: Future[Props]


class Lab:
    """What scenarios share: the binary, the fake model, the warm server; one for a worker, used as a context.

    >>> with Lab() as lab:                                       # doctest: +SKIP
    ...     run = lab.play("scenarios/infinity/third-call.scenario.yaml")
    ...     assert run.passed, run.report()
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        binary: Binary | None = None,
        tag: str | None = None,
        owner: int | None = None,
        guard: Path | None = None,
    ) -> None:
        """Start nothing yet.

        `binary` spares a second look for it; `tag` marks the processes of this lab; `owner` is the id of the process
        that cleans up should this one be killed, this one by default (once it is gone too, the next lab does); `guard`
        is loaded instead of each guard that a scenario names.
        """
        self._guard = guard
        self._owner = owner or os.getpid()
        self._last: Path | None = None
        self._next: _Prepared | None = None
        self.settings = settings or Settings.from_environment(os.environ)
        self.tag = tag or TAG_PREFIX + secrets.token_hex(6)
        self._binary = binary
        self._undo = ExitStack()
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        """Find the programs and open the listeners. Raises SetupError when a program or room on the disk is missing."""
        with ExitStack() as undo:
            self.binary = self._binary or resolve(self.settings)
            rg = ripgrep(self.settings)
            _clear_orphans()
            # The real path: OpenCode names a workspace by it, and macOS's temporary folder is a link.
            self.root = Path(tempfile.mkdtemp(prefix=self.tag + "-")).resolve()
            undo.callback(shutil.rmtree, self.root, ignore_errors=True)
            _check_room(self.root)
            (self.root / OWNER).write_text(identity(self._owner), encoding="utf-8")
            self.supervisor = Supervisor(self.tag, owner=self._owner)
            undo.enter_context(self.supervisor)
            self.egress = undo.enter_context(EgressTrap())
            self.tools = Tools(FakeModel(), Control())
            undo.callback(self._stop_model)
            self.tools.model.start()
            self.tools.control.start()
            undo.callback(self.tools.control.stop)
            self.pool = Pool(self.binary, rg, self.root, self.egress.url, self.supervisor)
            undo.callback(self.pool.stop)
            self._workshop = self.pool.make_home()
            self._workers = undo.enter_context(ThreadPoolExecutor(1, "guardlab-props"))
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything, in reverse order."""
        self._undo.close()

    def take_troubles(self) -> list[str]:
        """Give what went wrong in threads since the last look, in words; it belongs to the run that has just ended.

        A fake model that broke gives way to another one, so that the next run is not spoiled.
        """
        control = self.tools.control
        troubles, control.errors = control.errors, []
        try:
            self.tools.model.check()
        except FakeModelError as error:
            troubles.append(str(error))
            with suppress(FakeModelError):  # what it broke of is told already
                self.tools.model.stop()
            self.tools = replace(self.tools, model=FakeModel())
            self.tools.model.start()
        return troubles

    def play(
        self,
        scenario: Scenario | Path | str,
        *,
        upcoming: Scenario | None = None,
        hold: Callable[[Scene], None] | None = None,
        until: float | None = None,
    ) -> Run:
        """Play one scenario and judge it.

        `upcoming` is played next: its folders are laid out meanwhile. `hold` gets the live scene when the steps are
        over, however they ended. `until` is when the run has to be over, in the seconds of `time.monotonic`.

        Raises SourceError for a file that is no scenario, SetupError when the disk is nearly full; everything else that
        goes wrong is in the run.
        """
        _check_room(self.root)
        if not isinstance(scenario, Scenario):
            scenario = load(Path(scenario))
        self._clear()
        ready = self._next if self._next and self._next.scenario is scenario else self._prepare(scenario)
        self._next = self._prepare(upcoming) if upcoming else None
        self._last = ready.folder
        run = runner.play(self._chosen(scenario), self, ready.props.result, hold, until)
        wait([ready.props])  # a run that broke off early did not: its files would be kept while they are laid out
        return replace(run, folder=ready.folder)

    def _stop_model(self) -> None:
        self.tools.model.stop()  # by then it may be another one

    def _chosen(self, scenario: Scenario) -> Scenario:
        """Put the guard that this lab was told to use in the place of each of the scenario's."""
        if self._guard is None:
            return scenario
        return replace(scenario, guards=tuple(replace(use, path=self._guard) for use in scenario.guards))

    def _prepare(self, scenario: Scenario) -> _Prepared:
        folder = self.root / f"run-{next(self._numbers)}"
        chosen = self._chosen(scenario)
        return _Prepared(
            scenario, folder, self._workers.submit(lay_out, chosen, folder, self._workshop, self.binary.version)
        )

    def _clear(self) -> None:
        """Remove the folder of the last run; whoever wanted it has copied it."""
        if self._last:
            shutil.rmtree(self._last, ignore_errors=True)
            self._last = None


def _clear_orphans() -> None:
    """Remove what runs that were killed (SIGKILL, a power cut) could not remove themselves."""
    sweep_orphans(TAG_PREFIX)
    for note in Path(tempfile.gettempdir()).glob(f"{TAG_PREFIX}*/{OWNER}"):
        with suppress(OSError):  # another worker, which starts at the same time, was faster
            if not still_runs(note.read_text(encoding="utf-8")):
                shutil.rmtree(note.parent, ignore_errors=True)


def _check_room(root: Path) -> None:
    """Raise SetupError when the disk that runs lie on is nearly full."""
    free = shutil.disk_usage(root).free
    if free < ROOM:
        raise SetupError(
            f"the temporary folder {root.parent} has {free / 1e6:.1f} MB left; wanted {ROOM / 1e6:g} MB",
            "Make room there, or set the variable TMPDIR to another folder.",
        )
