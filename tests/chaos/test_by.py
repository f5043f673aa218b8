# SPDX-License-Identifier: MIT
"""`overlock chaos --by`: threads lose their CPU and stay runnable; the machine stays usable."""

import ctypes
import json
import mmap
import os
import resource
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos.conftest import Build, Chaos, Json, clean, report_of
from tests.command import COMMAND
from tests.conftest import NATIVE
from tests.processes import HANG_S, gone, until

STEAL = NATIVE / "overlock-chaos-steal"
ALWAYS = ["--runs", "1", "--rate", "1", "--length", "20ms", "--json", "found.json"]
HELD = "../../lab/sched/guest/programs/held"
# chaos/steal.h
SLOT = struct.Struct("=IIQ")
FIRST, STRIDE, ASKED = 64, 64, 2
FUTEX, FUTEX_WAKE = 202, 1


def has_real_time() -> bool:
    return os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] > 0


REAL_TIME = pytest.mark.skipif(not has_real_time(), reason="no real-time priority")


def seen(found: Json) -> Json:
    said: Json = json.loads(found["runs"][0]["output"][-1])
    return said


def held(chaos: Chaos, build: Build, folder: Path, by: str) -> tuple[Json, str]:
    """A run that passes keeps no output, so it fails in the end."""
    program = ["sh", "-c", "$0 20; test -z $OVERLOCK_CHAOS_SEED", str(build(HELD))]
    done = chaos(*ALWAYS, "--at", "holder", "--sites", "work", "--by", by, "--", *program)
    assert done.returncode == 1, done.stderr
    return report_of(folder / "found.json"), done.stdout


def test_a_thread_that_naps_is_asleep(build: Build, chaos: Chaos, tmp_path: Path) -> None:
    found, _ = held(chaos, build, tmp_path, "nap")
    assert sum(row["naps"] for row in found["sites"]) == 20
    assert sum(row["taken"] for row in found["sites"]) == 0
    assert seen(found)["asleep"] > seen(found)["runnable"]


@REAL_TIME
def test_a_thread_whose_cpu_is_stolen_is_runnable(
    build: Build, chaos: Chaos, tmp_path: Path
) -> None:
    found, text = held(chaos, build, tmp_path, "steal")
    taken = sum(row["taken"] for row in found["sites"])
    assert 0 < taken <= 20
    assert f"lost their CPU 20 times, {taken} of them runnable" in text
    assert seen(found)["runnable"] > 0
    assert "--by steal" in " ".join(found["options"])


@REAL_TIME
def test_a_planted_bug_is_found_by_stealing(build: Build, chaos: Chaos, tmp_path: Path) -> None:
    where = ["--at", "after-unlock", "--sites", "read_balance", "--timeout", str(HANG_S)]
    words = [*ALWAYS, "--length", "100ms", *where, "--by", "steal"]
    done = chaos(*words, build("programs/check_then_act"))
    assert done.returncode == 1, done.stdout + done.stderr
    found = report_of(tmp_path / "found.json")
    assert [one["how"] for one in found["failures"]] == ["signal 6 (SIGABRT)"]


@contextmanager
def stealing(page: Path) -> Iterator["subprocess.Popen[str]"]:
    page.touch()
    with subprocess.Popen([STEAL, page], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        try:
            yield child
        finally:
            child.kill()


@REAL_TIME
def test_one_cpu_is_left(tmp_path: Path) -> None:
    """However many are asked for at once."""
    libc = ctypes.CDLL(None)
    cpus = sorted(os.sched_getaffinity(0))
    with stealing(tmp_path / "page"), open(tmp_path / "page", "r+b") as file:
        page = mmap.mmap(file.fileno(), 0)
        base = ctypes.addressof(ctypes.c_char.from_buffer(page))
        for _ in range(5):
            for cpu in cpus:
                SLOT.pack_into(page, FIRST + STRIDE * cpu, ASKED, 1, 20_000_000)
            for cpu in cpus:
                libc.syscall(FUTEX, ctypes.c_void_p(base + FIRST + STRIDE * cpu), FUTEX_WAKE, 1)
            until(lambda: all(not SLOT.unpack_from(page, FIRST + STRIDE * c)[0] for c in cpus))
        (most,) = struct.unpack_from("=I", page, 0)
    assert 1 <= most <= max(1, len(cpus) - 1)


@REAL_TIME
def test_real_time_threads_end_with_the_command(tmp_path: Path) -> None:
    """Even if it is killed."""
    told = "echo $$ $OVERLOCK_CHAOS_BY >told.new; mv told.new told; exec sleep 1000"
    lines = f"test $OVERLOCK_CHAOS_SEED || exit 0; {told}"
    command = [*COMMAND, "chaos", "--by", "steal", "--timeout", "900", "--", "sh", "-c", lines]
    with subprocess.Popen(command, cwd=tmp_path, env=clean()) as child:
        until((tmp_path / "told").exists)
        program, page = (tmp_path / "told").read_text().split()
        (helper,) = helpers(page)
        child.send_signal(signal.SIGKILL)
        child.wait(HANG_S)
    os.kill(int(program), signal.SIGKILL)
    until(lambda: gone(helper))
    Path(page).unlink()


def helpers(page: str) -> list[int]:
    """Processes of overlock-chaos-steal for that page."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:1] == [str(STEAL).encode()] and page.encode() in words:
            found.append(int(path.parent.name))
    return found


def test_errors_are_one_line(chaos: Chaos) -> None:
    done = chaos("--by", "steal", "--length", "1s", "true")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--length 1s: --by steal takes a CPU for at most 500ms; give less" in done.stderr


@pytest.mark.skipif(Path("/sys/kernel/sched_ext").exists(), reason="this kernel has sched_ext")
def test_a_kernel_without_sched_ext(chaos: Chaos) -> None:
    done = chaos("--by", "sched", "true")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "has no sched_ext; take Linux 6.13 or later, or --by steal" in done.stderr
