"""The only room that asks which system this is; every branch takes a `System`, so each can be tested on any machine."""

from __future__ import annotations

import importlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import psutil

from harness.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Machine", "System"]

_ARCHITECTURES: Mapping[str, Literal["x64", "arm64"]] = {
    "x86_64": "x64",
    "amd64": "x64",
    "aarch64": "arm64",
    "arm64": "arm64",
}
_NAMES: Mapping[str, Literal["linux", "darwin", "windows"]] = {
    "linux": "linux",
    "darwin": "darwin",
    "windows": "windows",
}
_WINDOWS_DRIVE = re.compile(r"/mnt/[a-z](/|\Z)")
_ELF, _MZ = b"\x7fELF", b"MZ"  # how a program of Linux begins, and one of Windows
_WINDOWS_AVX2 = 40  # PF_AVX2_INSTRUCTIONS_AVAILABLE of IsProcessorFeaturePresent
_LONGEST_WINDOWS_FOLDER = 150  # git and node stop at 260 characters; a repository needs about 100 below its root
_MOST_QUEUED = 819_200  # Linux's default for RLIMIT_MSGQUEUE; a limit can be lowered by anybody
_MARKS = 400_000
_WINDOWS_INHERITED = ("SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "NUMBER_OF_PROCESSORS",
                      "PROCESSOR_ARCHITECTURE", "ProgramFiles", "ProgramData")  # fmt: skip


class Machine(NamedTuple):
    """What the interpreter and the kernel say about this machine, as they say it.

    system, architecture, release: as in `uname`. libc: its name, empty when Python does not know it.
    musl_loader: musl's dynamic loader is there. avx2: the processor has AVX2.
    """

    system: str
    architecture: str
    release: str
    libc: str
    musl_loader: bool
    avx2: bool

    @classmethod
    def read(cls) -> Machine:
        """Read this machine."""
        return cls(
            system=platform.system(),
            architecture=platform.machine(),
            release=platform.release(),
            libc=platform.libc_ver()[0],
            musl_loader=any(Path("/lib").glob("ld-musl-*.so.1")),
            avx2=_has_avx2(),
        )


def _limit(tag: str) -> int:
    return _MOST_QUEUED - 1 - zlib.crc32(tag.encode()) % _MARKS


def _has_avx2() -> bool:
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415  # only Windows has windll

        return bool(ctypes.windll.kernel32.IsProcessorFeaturePresent(_WINDOWS_AVX2))
    if sys.platform == "darwin":
        asked = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "hw.optional.avx2_0"], capture_output=True, text=True, check=False, timeout=10
        )
        return asked.stdout.strip() == "1"
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False  # the baseline binary runs everywhere
    return re.search(r"^flags\s*:.*\bavx2\b", flags, re.MULTILINE) is not None


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4)
    except OSError:
        return b""


def _quoted(text: str) -> str:
    """Quote a text for PowerShell."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class System:
    """A system that OpenCode is built for.

    name, arch: as in the names of OpenCode's npm packages (opencode-facts.md K).
    musl: Linux with the musl libc. avx2: the processor has AVX2. wsl: Linux inside Windows.
    """

    name: Literal["linux", "darwin", "windows"]
    arch: Literal["x64", "arm64"]
    musl: bool = False
    avx2: bool = True
    wsl: bool = False

    @classmethod
    def detect(cls, machine: Machine | None = None) -> System:
        """Return the system that `machine` (this one, if None) is.

        Raises SetupError when OpenCode has no binary for it.
        """
        told = machine or Machine.read()
        name, arch = _NAMES.get(told.system.lower()), _ARCHITECTURES.get(told.architecture.lower())
        if name is None or arch is None:
            raise SetupError(
                f"OpenCode has no binary for this machine: {told.system} on {told.architecture}; "
                "wanted Linux, macOS or Windows on x64 or arm64"
            )
        linux = name == "linux"
        return cls(
            name=name,
            arch=arch,
            musl=linux and (told.libc == "musl" or (told.libc != "glibc" and told.musl_loader)),
            avx2=told.avx2 or arch != "x64",
            wsl=linux and "microsoft" in told.release.lower(),
        )

    @property
    def names(self) -> frozenset[str]:
        """What a scenario may call this system under `systems`."""
        found: set[str] = {"macos" if self.name == "darwin" else self.name}
        if self.posix:
            found.add("posix")
        if self.wsl:
            found.add("wsl")
        return frozenset(found)

    @property
    def posix(self) -> bool:
        """Whether the system has process groups, signals and executable bits."""
        return self.name != "windows"

    @property
    def opencode_package(self) -> str:
        """The npm package that holds OpenCode's binary for this system (opencode-facts.md K)."""
        baseline = "" if self.avx2 else "-baseline"
        musl = "-musl" if self.musl else ""
        return f"opencode-{self.name}-{self.arch}{baseline}{musl}"

    @property
    def ripgrep_package(self) -> str:
        """The npm package that holds ripgrep's binary; the ones for Linux are linked statically and suit musl too."""
        name = "win32" if self.name == "windows" else self.name
        return f"@vscode/ripgrep-{name}-{self.arch}"

    def executable(self, name: str) -> str:
        """Return the file name of a program, e.g. `rg` or `rg.exe`."""
        return name if self.posix else f"{name}.exe"

    def find(self, name: str, path: str | None = None) -> Path | None:
        """Return the program `name` from `path` (the caller's PATH, if None), or None.

        Inside WSL a program of the Windows side is passed over: through interop it would run outside of the Linux
        system, with other paths and an environment that is not ours.
        """
        searched = os.environ.get("PATH", os.defpath) if path is None else path
        places = (shutil.which(name, path=folder) for folder in searched.split(os.pathsep) if folder)
        return next((Path(place) for place in places if place and not self.is_windows_program(Path(place))), None)

    def is_windows_program(self, path: Path) -> bool:
        """Whether `path` is a program of Windows seen from WSL, through links too.

        Its first bytes say so, not its name: opencode-ai calls its Linux binary `opencode.exe` (opencode-facts.md K). A
        script on a Windows drive counts as well, such as the one by which npm there starts the node of Windows.
        """
        if not self.wsl:
            return False
        start = _first_bytes(path)
        return start.startswith(_MZ) or (self._on_windows_drive(path) and not start.startswith(_ELF))

    def _on_windows_drive(self, path: Path) -> bool:
        """Whether `path` lies on a Windows drive that WSL shows under /mnt, through links too."""
        return self.wsl and _WINDOWS_DRIVE.match(path.resolve().as_posix()) is not None

    def check_workspace(self, folder: Path) -> None:
        """Raise SetupError when a workspace in `folder` could not work, and say why."""
        if self._on_windows_drive(folder):
            raise SetupError(
                f"the workspace {folder} lies on a Windows drive seen from WSL",
                "File modes, links and file times do not hold there and every git call takes a multiple of the time. "
                "Set the variable TMPDIR to a folder in the Linux file system, such as /tmp.",
            )
        if not self.posix and len(str(folder)) > _LONGEST_WINDOWS_FOLDER:
            raise SetupError(
                f"the workspace {folder} has a path of {len(str(folder))} characters; "
                f"wanted at most {_LONGEST_WINDOWS_FOLDER} on Windows",
                "Set the variable TMPDIR to a folder with a shorter path.",
            )

    def shell(self) -> Path | None:
        """Return the real bash that scripted commands run in, or None.

        On Windows it is the bash of Git for Windows: System32 may hold a `bash.exe` that is the door to WSL.
        """
        if self.posix:
            return self.find("bash")
        git = self.find("git")
        places = [] if git is None else [up / "bin" / "bash.exe" for up in list(git.parents)[1:3]]
        return next((place for place in places if place.is_file()), None)

    def link_folder(self, link: Path, target: Path) -> None:
        """Make `link` lead to the folder `target`, by a junction where Windows asks a privilege for a symbolic link."""
        try:
            link.symlink_to(target, target_is_directory=True)
        except OSError:
            if self.posix:
                raise
            importlib.import_module("_winapi").CreateJunction(str(target), str(link))  # it exists on Windows only

    def command_line(self, words: Sequence[str], variables: Mapping[str, str]) -> str:
        """Return the line that runs a command with these variables in a terminal: a POSIX shell's, or PowerShell's."""
        if self.posix:
            return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), shlex.join(words)])
        settings = [f"$env:{name} = {_quoted(value)}" for name, value in variables.items()]
        return "; ".join([*settings, f"& {' '.join(map(_quoted, words))}"])

    def spawn_options(self) -> dict[str, Any]:
        """Return the arguments of `subprocess.Popen` that give a child a group of its own, away from our Ctrl-C."""
        if self.posix:
            return {"start_new_session": True}
        return {"creationflags": 0x00000200}  # CREATE_NEW_PROCESS_GROUP; the name exists on Windows only

    def mark(self, pid: int, tag: str) -> None:
        """Mark a process by a limit, which all that it starts inherits, even with another environment and session.

        It is the limit on the bytes of POSIX message queues, lowered from the default by an amount that `tag` gives.
        Only Linux lets one set it from outside; elsewhere nothing is done, as for a process that has ended.
        """
        if sys.platform == "linux":
            with suppress(psutil.Error, OSError, ValueError):
                psutil.Process(pid).rlimit(psutil.RLIMIT_MSGQUEUE, (_limit(tag), _limit(tag)))

    def is_marked(self, pid: int, tag: str) -> bool:
        """Whether the process, or one that it comes from, was marked with `tag`."""
        if sys.platform == "linux":
            with suppress(psutil.Error, OSError):
                return psutil.Process(pid).rlimit(psutil.RLIMIT_MSGQUEUE) == (_limit(tag), _limit(tag))
        return False

    def home_variables(self, home: Path, temporary: Path, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that name the home and the temporary folder, and those that the system itself needs.

        `inherited` is the caller's environment; only what Windows programs cannot start without is taken from it.
        """
        if self.posix:
            return {"HOME": str(home), "TMPDIR": str(temporary)}
        upper = {name.upper(): value for name, value in inherited.items()}
        needed = {name: upper[name.upper()] for name in _WINDOWS_INHERITED if name.upper() in upper}
        return needed | {
            "HOME": str(home),
            "USERPROFILE": str(home),
            "HOMEDRIVE": home.drive,
            "HOMEPATH": str(home)[len(home.drive) :],
            "APPDATA": str(home / "AppData" / "Roaming"),
            "LOCALAPPDATA": str(home / "AppData" / "Local"),
            "TEMP": str(temporary),
            "TMP": str(temporary),
        }

    def search_path(self, programs: list[Path], inherited: Mapping[str, str]) -> str:
        """Return a PATH with the folders of `programs` and those of the system, and nothing of the user's."""
        if self.posix:
            base = [Path("/usr/bin"), Path("/bin"), Path("/usr/sbin"), Path("/sbin")]
        else:
            root = Path({k.upper(): v for k, v in inherited.items()}.get("SYSTEMROOT", r"C:\Windows"))
            base = [root / "System32", root]
        folders = [program.parent for program in programs] + base
        return os.pathsep.join(dict.fromkeys(str(folder) for folder in folders))
