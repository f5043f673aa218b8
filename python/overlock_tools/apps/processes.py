# SPDX-License-Identifier: MIT
"""Processes of a program that is measured: started, heard, counted, and ended by their ids."""

import contextlib
import os
import pwd
import resource
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.system import children

# Servers that refuse to run as root, and those that should not: this user is everywhere.
SERVICE_USER = "nobody"
# How long a process may take to become the program that it is to be.
EXEC_SECONDS = 2.0
LOOK_AGAIN_SECONDS = 0.001
TAIL_LINES = 3


class Late(Exception):
    """It did not come in time."""


class Ended(Exception):
    """The process has gone, and had not said what was waited for."""


@dataclass(frozen=True)
class User:
    name: str
    uid: int
    gid: int


def service_user() -> User | None:
    """Whom servers run as; None if that is us."""
    if os.getuid():
        return None
    entry = pwd.getpwnam(SERVICE_USER)
    return User(entry.pw_name, entry.pw_uid, entry.pw_gid)


@dataclass
class Used:
    """What processes had of the CPUs."""

    cpu_seconds: float = 0.0
    voluntary: int = 0
    involuntary: int = 0
    stolen_seconds: float | None = None

    def add(self, other: "Used") -> None:
        self.cpu_seconds += other.cpu_seconds
        self.voluntary += other.voluntary
        self.involuntary += other.involuntary

    def since(self, then: "Used") -> "Used":
        """Never less than nothing: who has ended in between took its switches with it."""
        return Used(
            max(0.0, self.cpu_seconds - then.cpu_seconds),
            max(0, self.voluntary - then.voluntary),
            max(0, self.involuntary - then.involuntary),
        )

    @classmethod
    def of(cls, usage: resource.struct_rusage) -> "Used":
        return cls(usage.ru_utime + usage.ru_stime, usage.ru_nvcsw, usage.ru_nivcsw)


def used_by(pids: Iterable[int]) -> Used:
    """Of these and what has come from them, while they live."""
    found = Used()
    for pid in pids:
        for one in family(pid):
            found.add(_used(one))
    return found


def family(pid: int) -> list[int]:
    """The process and all that come from it."""
    found, unseen = [], [pid]
    while unseen:
        one = unseen.pop()
        found.append(one)
        for task in _tasks(one):
            with contextlib.suppress(OSError):
                unseen += map(int, (task / "children").read_text().split())
    return found


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _used(pid: int) -> Used:
    """CPU time with that of children that were waited for; switches of the threads there are."""
    used = Used()
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        used.cpu_seconds = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    for task in _tasks(pid):
        with contextlib.suppress(OSError):
            for line in (task / "status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name == "voluntary_ctxt_switches":
                    used.voluntary += int(value)
                elif name == "nonvoluntary_ctxt_switches":
                    used.involuntary += int(value)
    return used


@dataclass(frozen=True)
class Place:
    """Where a process runs, and as whom."""

    folder: Path
    environment: Mapping[str, str]
    user: User | None = None


@dataclass(frozen=True)
class Under:
    """What a program is started with to have another lock; nothing, natively."""

    variant: str
    interposer: Path | None = None
    variables: Mapping[str, str] | None = None

    def words(self) -> list[str]:
        """Before the command: only the program itself is to be interposed, no helper before it."""
        if not self.variables:
            return []
        return ["env", *(f"{name}={value}" for name, value in self.variables.items())]


NATIVE = Under("native")


class Process:
    """In a session of its own, so that a terminal's Ctrl-C is not its end but ours to pass on."""

    def __init__(
        self, command: Sequence[str], under: Under, place: Place, out: Path | None = None
    ) -> None:
        self.name = Path(command[0]).name
        self.command = list(command)
        self.under = under
        self.errors = place.folder / f"{self.name}.err"
        self.code: int | None = None
        self.used = Used()  # once it has ended
        self.began = time.monotonic()
        self._rest = b""
        with (
            contextlib.ExitStack() as stack,
            self.errors.open("ab") as errors,
        ):
            written = stack.enter_context(out.open("wb")) if out else subprocess.PIPE
            self._start([*_before(place.user), *under.words(), *command], place, written, errors)

    def _start(self, command: list[str], place: Place, written: Any, errors: Any) -> None:
        try:
            with children.deferred_stops():
                self.child = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=written,
                    stderr=errors,
                    cwd=place.folder,
                    env=dict(place.environment),
                    start_new_session=True,
                )
                self._ends = os.pidfd_open(self.child.pid)
        except KeyboardInterrupt:
            self.close()  # nobody else knows of it yet
            raise

    @property
    def pid(self) -> int:
        return self.child.pid

    def interposed(self) -> bool | None:
        """Whether the lock's library is in the program; None if it ended before that was seen."""
        interposer = str(self.under.interposer)
        until = time.monotonic() + EXEC_SECONDS
        while time.monotonic() < until:
            with contextlib.suppress(OSError):  # while it becomes another program
                if interposer in Path(f"/proc/{self.pid}/maps").read_text():
                    return True
            if self.ended(LOOK_AGAIN_SECONDS):
                return None
        return False

    def say(self, line: str) -> None:
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except OSError as error:
            raise Ended(self.complaint()) from error

    def line(self, until: float) -> str:
        """Its next line on standard output, without the end; until a time.monotonic()."""
        assert self.child.stdout is not None
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                raise Late(f"{self.name} printed nothing")
            came = os.read(self.child.stdout.fileno(), 65536)
            if not came:
                raise Ended(self.complaint())
            self._rest += came
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")

    def rest(self) -> str:
        """What it has printed since its last line that was read; it has ended."""
        assert self.child.stdout is not None
        text, self._rest = self._rest + self.child.stdout.read(), b""
        return text.decode(errors="replace")

    def ended(self, seconds: float | None = 0.0) -> bool:
        """Waits so long for its end, None: until it comes, without looking again and again."""
        left = None if seconds is None else max(0.0, seconds)
        if self.code is None and select.select([self._ends], [], [], left)[0]:
            with contextlib.suppress(
                ProcessLookupError
            ):  # what it left behind, while it has its id
                os.killpg(self.pid, signal.SIGKILL)
            _, status, usage = os.wait4(self.pid, 0)
            self.code = self.child.returncode = os.waitstatus_to_exitcode(status)
            self.used = Used.of(usage)
        return self.code is not None

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.code is None:
            signal.pidfd_send_signal(self._ends, number)

    def kill(self) -> None:
        """With all that is left of its session; by ids, and only while the first is ours."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.ended(None)

    def close(self) -> None:
        self.kill()
        for stream in (self.child.stdin, self.child.stdout):
            if stream:
                with contextlib.suppress(OSError):  # what it had not read
                    stream.close()
        if self._ends >= 0:
            os.close(self._ends)
            self._ends = -1

    def complaint(self) -> str:
        """The last that it said on standard error, in one line."""
        try:
            lines = self.errors.read_text(errors="replace").split("\n")
        except OSError:
            return ""
        return " | ".join([line.strip() for line in lines if line.strip()][-TAIL_LINES:])


def _before(user: User | None) -> list[str]:
    """Killed by the kernel when the thread that started it is gone: it outlives none of us."""
    who = [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"] if user else []
    return ["setpriv", *who, "--pdeathsig", "KILL", "--"]
