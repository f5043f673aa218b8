# SPDX-License-Identifier: MIT
"""How threads lose their CPU: they sleep, to real-time threads, or by the scheduler."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from overlock_tools.chaos.settings import NS, Length
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, MISSING, Fail, last_line

WAYS = ("nap", "steal", "sched")
MOST_NS = {"steal": NS["s"] // 2, "sched": 10 * NS["s"]}  # steal.h, chaos.bpf.c
VARIABLE = "OVERLOCK_CHAOS_BY"
SCHED_EXT = Path("/sys/kernel/sched_ext/state")


def check(by: str, length: Length) -> None:
    most = MOST_NS.get(by)
    if most and length.most_ns > most:
        shown = Length(most, most)
        raise Fail(f"--length {length}: --by {by} takes a CPU for at most {shown}; give less")


@contextmanager
def taking(by: str) -> Iterator[Mapping[str, str]]:
    """What the library is told. Who takes the CPUs ends with this, or with us."""
    if by == "nap":
        yield {}
    elif by == "steal":
        program = str(native.file("overlock-chaos-steal"))
        with (
            tempfile.NamedTemporaryFile(prefix="overlock-chaos-") as page,
            _helper(program, page.name),
        ):
            yield {VARIABLE: page.name}
    else:
        _check_kernel()
        with _helper(str(native.sched("overlock-sched-chaos"))):
            yield {VARIABLE: by}


def _check_kernel() -> None:
    if not SCHED_EXT.exists():
        raise Fail(
            f"--by sched: this kernel ({os.uname().release}) has no sched_ext; "
            "take Linux 6.13 or later, or --by steal",
            MISSING,
        )
    state = SCHED_EXT.read_text().strip()
    if state != "disabled":
        raise Fail(f"--by sched: another scheduler of sched_ext is {state}; end it first", FAILED)


@contextmanager
def _helper(*command: str) -> Iterator[None]:
    """Ready, until the context ends. It has a process group of its own: Ctrl-C is for us."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        assert child.stdout is not None
        if child.stdout.readline().strip() != "ready":
            _, said = child.communicate()
            raise Fail(last_line(said) or f"{Path(command[0]).name} does not start", FAILED)
        yield
    finally:
        child.send_signal(signal.SIGTERM)
        child.communicate()
