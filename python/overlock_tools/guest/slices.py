# SPDX-License-Identifier: MIT
"""The slice page of a guest: memory that overlock-hostd writes and the guest's kernel reads."""

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, MISSING, USAGE, Fail

SOURCE = "ivshmem"  # as a guest's kernel calls it
NOBODY = (None, "none", "off")  # tells it
# A page of x86 memory has room for more vCPUs than a guest of the rig has.
PAGE_BYTES = 4096
SHARED = "/dev/shm"  # noqa: S108 - it has to be memory
BEGIN_SECONDS = 20.0  # its programs are verified, and tried
END_SECONDS = 10.0
CODES = (FAILED, USAGE, MISSING)


@contextmanager
def page() -> Iterator[Path]:
    """The file: there as long as the guest is."""
    if not os.access(SHARED, os.W_OK):
        raise Fail(f"a slice page needs {SHARED}, which is not writable here", MISSING)
    with tempfile.NamedTemporaryFile(prefix="overlock-slices-", dir=SHARED) as file:
        file.truncate(PAGE_BYTES)
        yield Path(file.name)


def device(path: Path) -> list[str]:
    """For QEMU: the file as a PCI device's memory, all of it there from the beginning."""
    backend = f"memory-backend-file,id=slices,share=on,prealloc=on,mem-path={path}"
    return ["-object", f"{backend},size={PAGE_BYTES}", "-device", "ivshmem-plain,memdev=slices"]


class Agent:
    """overlock-hostd for one guest, and what it says."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self._child = child
        self.begun: dict[str, Any] = self._line(BEGIN_SECONDS)
        self.ended: dict[str, Any] = {}

    def _line(self, seconds: float) -> dict[str, Any]:
        """Its next line; nothing if none comes."""
        assert self._child.stdout is not None
        until, text = time.monotonic() + seconds, b""
        while not text.endswith(b"\n"):
            left = max(0.0, until - time.monotonic())
            if not select.select([self._child.stdout], [], [], left)[0]:
                return {}
            if not (came := os.read(self._child.stdout.fileno(), 65536)):
                return {}
            text += came
        with contextlib.suppress(ValueError):
            found = json.loads(text)
            return found if isinstance(found, dict) else {}
        return {}

    def check(self) -> None:
        if self.begun:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(1)  # it is ending
        code = self._child.poll()
        self._child.kill()
        _, said = self._child.communicate()
        why = said.decode(errors="replace").strip().removeprefix("overlock-hostd: ")
        why = " ".join(why.split()) or "no output"
        raise Fail(f"overlock-hostd failed: {why}", code if code in CODES else FAILED)

    def end(self) -> dict[str, Any]:
        """What it saw in all; the page is over."""
        if not self.ended:
            self._child.send_signal(signal.SIGTERM)
            self.ended = self._line(END_SECONDS)
        return self.ended


@contextmanager
def told(path: Path, threads: Sequence[int]) -> Iterator[Agent]:
    """The agent publishes the state of these threads on the page, until the context ends."""
    command = [str(native.hostd()), "--page", str(path), "--threads", ",".join(map(str, threads))]
    command += ["--detail", "full"]  # the guests are ours, and some locks are measured by it
    child = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "--", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    try:
        agent = Agent(child)
        agent.check()
        yield agent
        agent.end()
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdout, child.stderr):
            if pipe:
                pipe.close()


TIMES = {"age": "age_ns", "early": "early_ns", "late": "late_ns"}
ASK = "cat /sys/kernel/debug/overlock/slice 2>/dev/null || true"


def looked(lines: Sequence[str]) -> dict[str, Any]:
    """What a counting kernel says of how old the page was when it looked, and of how true what it
    said of slices' ends; else nothing."""
    found: dict[str, Any] = {}
    for name, *words in (line.split() for line in lines if line.strip()):
        with contextlib.suppress(ValueError):  # of what is no number
            found |= _looked(name, words)
    return found


def _looked(name: str, words: Sequence[str]) -> dict[str, Any]:
    if name == "looks" and len(words) == 2:
        return {"looks": int(words[0]), "unknown": int(words[1])}
    if name in TIMES and len(words) > 1:
        count = sum(int(word.partition(":")[2]) for word in words[2:])
        return {TIMES[name]: {"p50": int(words[0]), "p99": int(words[1]), "count": count}}
    if name == "clock" and len(words) == 1:
        return {"clock_moves_ns": int(words[0])}
    return {}
