# SPDX-License-Identifier: MIT
"""overlock-profiler, started beside a program that runs, or that is started once it watches."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, MISSING, Fail, say
from overlock_tools.profile import sampler, seen
from overlock_tools.profile.seen import Seen

CANNOT_EXECUTE, NOT_FOUND = 126, 127
FIRST_LOOK_S, LOOK_S = 0.05, 1.0
END_OF_ANSWER = "\f\n"


class Refused(Fail):
    """The kernel, or this user's rights, do not allow it."""


@dataclass
class Agent:
    process: "subprocess.Popen[str]"

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()

    def answer(self, look: Callable[[], None]) -> Seen:
        """When the program has ended, or the agent was stopped.

        Meanwhile it has looked, soon and then more and more seldom: many programs are short.
        """
        wait = FIRST_LOOK_S
        while True:
            try:
                text, _ = self.process.communicate(timeout=wait)
                return _read(text)
            except subprocess.TimeoutExpired:
                look()
                wait = min(2 * wait, LOOK_S)

    def answers(self) -> Iterator[Seen]:
        """Each second; the last is the one that `answer` gives."""
        assert self.process.stdout
        lines: list[str] = []
        for line in self.process.stdout:
            if line == END_OF_ANSWER:
                yield _read("".join(lines))
                lines = []
            else:
                lines.append(line)


def _read(text: str) -> Seen:
    try:
        return seen.read(text)
    except ValueError as error:
        raise Fail(f"overlock-profiler gave no answer: {error}", FAILED) from error


def start(pid: int, seconds: float | None, sizes: dict[str, int]) -> Agent:
    """Returns once it watches."""
    words = [str(native.profiler()), "--pid", str(pid)]
    if seconds:
        words += ["--seconds", str(seconds)]
    for name, value in sizes.items():
        words += [f"--{name}", str(value)]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",  # threads and files may have any bytes as names
        start_new_session=True,  # Ctrl-C is for the program; this is stopped by us
    )
    assert process.stdout
    if not process.stdout.readline():
        _, said = process.communicate()
        raise Refused(
            said.strip().removeprefix("overlock-profiler: ") or "it ended", process.returncode
        )
    return Agent(process)


@dataclass(frozen=True)
class Waiting:
    """A child that becomes the program when it is let go."""

    program: str
    pid: int
    gate: int
    result: int

    def let_go(self) -> None:
        """Fails if the program cannot be executed."""
        os.write(self.gate, b"x")
        os.close(self.gate)
        error = os.read(self.result, 16)
        os.close(self.result)
        if error:
            number = int(error)
            code = NOT_FOUND if number == 2 else CANNOT_EXECUTE
            raise Fail(f"{self.program} cannot be executed: {os.strerror(number)}", code)

    def give_up(self) -> None:
        """Ends without the program."""
        os.close(self.gate)
        os.close(self.result)
        os.waitpid(self.pid, 0)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def launch(args: tuple[str, ...], read: int = 0) -> Waiting:
    """`read`: its standard input."""
    gate_in, gate = os.pipe()
    result, result_in = os.pipe()
    pid = os.fork()
    if pid:
        os.close(gate_in)
        os.close(result_in)
        return Waiting(args[0], pid, gate, result)
    os.close(gate)
    os.close(result)
    if read:
        os.dup2(read, 0)
    _become(args, gate_in, result_in)
    os._exit(CANNOT_EXECUTE)


def _become(args: tuple[str, ...], gate: int, result: int) -> None:
    """Python ignores some signals; that is not the program's wish."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if not os.read(gate, 1):
        return
    try:
        os.execvp(args[0], args)  # noqa: S606 - it is what this command is for
    except OSError as error:
        os.write(result, str(error.errno).encode())


class Sampling:
    """Instead of the agent, where that is refused; `why` says so in the report."""

    def __init__(self, pid: int, seconds: float | None, why: str) -> None:
        self.sampler = sampler.Sampler(pid, why)
        self.until = time.monotonic() + seconds if seconds else None

    def stop(self) -> None:
        self.until = 0.0

    def answer(self, look: Callable[[], None]) -> Seen:
        while self.sampler.step() and (self.until is None or time.monotonic() < self.until):
            look()
            time.sleep(self.sampler.pause_s)
        self.sampler.close()
        return self.sampler.seen()

    def answers(self) -> Iterator[Seen]:
        due = time.monotonic() + LOOK_S
        while self.sampler.step() and (self.until is None or time.monotonic() < self.until):
            if time.monotonic() >= due:
                yield self.sampler.seen()
                due = time.monotonic() + LOOK_S
            time.sleep(self.sampler.pause_s)
        yield self.sampler.seen()


Watching = Agent | Sampling


def watch(
    pid: int, seconds: float | None, sizes: dict[str, int], by: str, *, is_quiet: bool = False
) -> Watching:
    """By BPF if that may be: `by` is `auto`, `bpf` or `looks`."""
    if by == "looks":
        return Sampling(pid, seconds, "--by looks was given")
    try:
        return start(pid, seconds, sizes)
    except Fail as error:
        if by == "bpf" or error.code != MISSING:
            raise
        if not is_quiet:
            say(f"{error.message}; looking at /proc instead, which tells less")
        refused = f"BPF was refused: {error.message}"
        why = refused if isinstance(error, Refused) else error.message
    return Sampling(pid, seconds, why)


@contextlib.contextmanager
def stopped_by_signals(watching: Watching, program: int = 0) -> Iterator[None]:
    """Ends what is watched by, not us: what was seen is kept.

    Ctrl-C reaches a program of ours by itself; SIGTERM goes on to it.
    """

    def stop(number: int, _: object) -> None:
        if program and number != signal.SIGINT:
            with contextlib.suppress(ProcessLookupError):
                os.kill(program, number)
        watching.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def started(
    args: tuple[str, ...], seconds: float | None, sizes: dict[str, int], by: str, read: int = 0
) -> Iterator[tuple[Watching, Waiting]]:
    """The program, watched from its first instruction on."""
    child = launch(args, read)
    try:
        watching = watch(child.pid, seconds, sizes, by)
    except BaseException:
        child.give_up()
        raise
    with stopped_by_signals(watching, child.pid):  # from its first instruction on, too
        try:
            child.let_go()
            yield watching, child
        except BaseException:
            watching.stop()
            raise
