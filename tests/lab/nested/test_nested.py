# SPDX-License-Identifier: MIT
"""Guests in a host that is a guest, and under Xen: with a QEMU that is none, and no kernel."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import locks, paths, vm
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Spec
from overlock_tools.lab.nested import guests, kernel
from overlock_tools.lab.nested.guests import Nest
from tests.command import Overlock
from tests.guest.command.conftest import Fake, alive
from tests.processes import HANG_S

TWO = Placement("balanced", ((0, 0),)) if os.cpu_count() == 1 else Placement("balanced", ((0, 1),))
LOADS = kernel.folder() / "loads"


def guest(lock: str = "ticket", smp: int = 4) -> Spec:
    return guests.inside(Spec(Path("/k"), Path("/i"), smp, lock=lock, hidden=False))


@contextmanager
def nest(slice_ns: int | None = None) -> Iterator[Nest]:
    devices = (*guests.LINE, "-device", "pci-serial,chardev=inner")
    found = Nest(Spec(Path("/host"), Path("/h"), 1, hidden=False, devices=devices), slice_ns)
    try:
        yield found
    finally:
        found.close()


def test_a_host_stays_for_the_next_guest(fake: Fake) -> None:
    pids = fake("good")
    with nest(6_000_000) as found:
        for lock in ("ticket", "tas"):
            with found.booted([guest(lock)], TWO) as up:
                (inner,) = up.guests
                assert inner.facts["lock"] == lock
                assert inner.facts["cpus"] == 4
                assert [min(cpus) for cpus in inner.places] == [0, 1, 0, 1]
                ran = inner.ran()
                assert (ran.cpu_seconds, ran.voluntary, ran.involuntary) == (1.0, 1, 2)
                assert ran.stolen_seconds == 4.0
            assert not up.failures
        assert found.hosts == 1
        assert len(alive(pids)) == 1
    assert not alive(pids)


def test_each_kind_of_the_kernel_s_own_lock_in_a_nested_guest(fake: Fake) -> None:
    fake("good")
    own = guest(locks.NATIVE)
    kinds = {
        "native pv_qspinlock": own,
        "native test-and-set": replace(own, helped=False),
        "native qspinlock": replace(own, words=("nopvspin",)),
    }
    with nest() as found:
        for kind, asked in kinds.items():
            with found.booted([asked], TWO) as up:
                assert up.guests[0].facts["lock"] == kind


def test_a_guest_that_does_not_boot_gets_a_new_host(fake: Fake) -> None:
    pids = fake("late-once")
    said: list[str] = []
    with nest() as found:
        with found.booted([guest()], TWO, seconds=0.5, tell=said.append) as up:
            assert len(up.failures) == 1
        assert found.hosts == 2
    assert "trying again with a new host" in said[0]
    assert not alive(pids)


def test_one_that_never_boots_is_named(fake: Fake) -> None:
    pids = fake("silent")
    with (
        nest() as found,
        pytest.raises(vm.NoBoot, match="ticket with 4 vCPUs did not boot in 2 tries"),
        found.booted([guest()], TWO, seconds=0.3, tries=2),
    ):
        pytest.fail("it did not boot")
    assert not alive(pids)


def test_after_anything_wrong_the_host_is_not_kept(fake: Fake) -> None:
    pids = fake("good")
    with nest() as found:
        with pytest.raises(RuntimeError), found.booted([guest()], TWO):
            raise RuntimeError
        assert not alive(pids)


def test_two_guests_are_refused(fake: Fake) -> None:
    fake("good")
    with (
        nest() as found,
        pytest.raises(Fail, match="one guest at a time"),
        found.booted([guest()] * 2, TWO),
    ):
        pytest.fail("they were booted")


THREADS = """
import ctypes, threading, time
libc = ctypes.CDLL(None)
def vcpu(i):
    libc.prctl(15, f"CPU {i}/KVM".encode(), 0, 0, 0)
    until = time.monotonic() + 0.2
    while time.monotonic() < until:
        pass
    time.sleep(60)
for i in range(2):
    threading.Thread(target=vcpu, args=(i,), daemon=True).start()
print("said", flush=True)
time.sleep(60)
"""


def test_the_host_s_script_begins_binds_tells_and_ends(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    line = os.ttyname(slave)
    cpu = str(min(os.sched_getaffinity(0)))
    environment = {**os.environ, "INNER_FOLDER": str(tmp_path)}

    def inner(*words: str) -> str:
        done = subprocess.run(
            ["sh", LOADS / "inner", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=HANG_S,
        )
        return done.stdout

    inner("begin", line, f"{cpu},{cpu}", sys.executable, "-c", THREADS)
    pid = int((tmp_path / "inner.pid").read_text())
    tasks = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    assert [os.sched_getaffinity(task) for task in tasks].count({int(cpu)}) >= 2
    assert os.read(master, 100).split() == [b"begin"]
    time.sleep(0.5)
    on_cpu, _, _, _ = map(int, inner("ran").split())
    assert 10_000_000 < on_cpu < 2_000_000_000
    assert "said" in inner("console")
    inner("end")
    assert os.read(master, 100).split() == [b"gone", b"137"]
    assert not Path(f"/proc/{pid}/fd").exists()


def test_the_host_has_what_a_guest_has_and_more() -> None:
    text = kernel.fragment().decode()
    assert "CONFIG_KVM_AMD=y" in text
    assert "CONFIG_SERIAL_8250_CONSOLE=y" in text
    assert "CONFIG_OVERLOCK" not in text


def test_a_guest_s_sources_are_not_its_host_s(monkeypatch: pytest.MonkeyPatch) -> None:
    before, host = paths.digest_of_sources(), kernel.fragment()
    read = Path.read_bytes
    beneath = kernel.folder()

    def changed(path: Path) -> bytes:
        return read(path) + (b"#" if beneath in path.parents else b"")

    monkeypatch.setattr(Path, "read_bytes", changed)
    assert paths.digest_of_sources() == before
    assert kernel.fragment() == host  # read as text


def test_without_a_host_it_says_how_to_have_one(overlock: Overlock, home: Path) -> None:
    for name in ("nested", "xen"):
        done = overlock("guest", "boot", "--dir", home, "--accel", name)
        assert done.returncode == 3
        assert f"overlock guest build --accel {name}" in done.stderr


def test_a_slice_needs_somebody_who_gives_it(overlock: Overlock, home: Path) -> None:
    done = overlock("guest", "boot", "--dir", home, "--accel", "tcg", "--host-slice", "6")
    assert done.returncode == 2
    assert "--accel nested or xen" in done.stderr
