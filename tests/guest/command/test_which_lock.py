# SPDX-License-Identifier: MIT
"""guest/which-lock, from the logs of kernels that were booted or whose source says it."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP

Done = subprocess.CompletedProcess[str]
SCRIPT = TOP / "guest/which-lock"
VERSION = "[    0.000000] Linux version 6.1.0-53-amd64 (debian-kernel@lists.debian.org)\n"
PV = """[    0.041330] kvm-guest: PV spinlocks enabled
[    0.041332] PV qspinlock hash table entries: 256 (order: 0, 4096 bytes, linear)
"""


class Machine:
    """Folders as the script expects them, and a log."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.put("proc/sys/kernel/osrelease", "6.1.0-53-amd64\n")
        self.put("proc/version", VERSION)
        self.put("proc/cpuinfo", "flags\t\t: fpu sse2 hypervisor lahf_lm\n")
        self.put("boot/config-6.1.0-53-amd64", "CONFIG_PARAVIRT=y\n")
        self.log = folder / "log"
        self.log.write_text(VERSION)

    def put(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run(self, *options: str, by: tuple[str, ...] = ("sh",)) -> Done:
        command = [*by, SCRIPT, "--root", self.root, "--log", self.log, *options]
        return subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=False
        )

    def lock(self) -> str:
        done = self.run("--json")
        assert not done.stderr
        told = json.loads(done.stdout)
        assert told["because"]
        assert done.returncode == (1 if told["lock"] == "unknown" else 0)
        return str(told["lock"])


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


LOGS = {
    PV: "native pv_qspinlock",
    "[ 0.1] xen: PV spinlocks enabled\n": "native pv_qspinlock",
    "[ 0.1] Hyper-V: PV spinlocks enabled\n": "native pv_qspinlock",
    "[ 0.1] kvm-guest: PV spinlocks disabled, no host support\n": "native test-and-set",
    "[ 0.1] kvm-guest: PV spinlocks disabled with KVM_HINTS_REALTIME hints\n": "native qspinlock",
    "[ 0.1] kvm-guest: PV spinlocks disabled, single CPU\n": "native qspinlock",
    '[ 0.1] kvm-guest: PV spinlocks disabled, forced by "nopvspin" parameter\n': "native qspinlock",
    "[ 0.1] xen: PV spinlocks disabled\n": "native qspinlock",
    "[ 0.1] Hyper-V: PV spinlocks disabled\n": "native test-and-set",
    "": "native test-and-set",  # VMware's, say, which never speaks of spinlocks
}


@pytest.mark.parametrize("line", LOGS)
def test_what_the_kernel_said_when_it_decided(machine: Machine, line: str) -> None:
    machine.log.write_text(VERSION + line + "[ 9.9] usb: a thing\n")
    assert machine.lock() == LOGS[line]


def test_a_log_without_its_beginning_tells_nothing(machine: Machine) -> None:
    machine.log.write_text("[ 9.9] usb: a thing\n")
    done = machine.run()
    assert done.returncode == 1
    assert done.stdout.startswith("unknown\n")
    assert "journalctl" in done.stdout


RELEASE = "proc/sys/kernel/osrelease"
FILES = {
    "no hypervisor": ("proc/cpuinfo", "flags\t\t: fpu sse2 lahf_lm", "native qspinlock"),
    "a hypervisor that the kernel was not built for": (
        "boot/config-6.1.0-53-amd64",
        "# CONFIG_PARAVIRT is not set",
        "native qspinlock",
    ),
    # Before queued spinlocks, and after.
    "3.2": (RELEASE, "3.2.0-4", "native ticket"),
    "4.0": (RELEASE, "4.0.1", "native ticket"),
    "4.1-rc": (RELEASE, "4.1-rc3", "native ticket"),
    "4.10": (RELEASE, "4.10.0", "native test-and-set"),
    "4.19": (RELEASE, "4.19.0", "native test-and-set"),
    "30.1": (RELEASE, "30.1", "native test-and-set"),
    "real time": ("proc/version", "Linux version 6.1.0 #1 SMP PREEMPT_RT Debian", "rtmutex"),
    "our kernel": ("sys/kernel/overlock/lock", "pv_ticket", "pv_ticket"),
}


@pytest.mark.parametrize("what", FILES)
def test_what_a_file_says(machine: Machine, what: str) -> None:
    path, text, lock = FILES[what]
    machine.put(path, f"{text}\n")
    assert machine.lock() == lock


def test_under_busybox(machine: Machine) -> None:
    machine.log.write_text(VERSION + PV)
    try:
        done = machine.run(by=("busybox", "sh"))
    except FileNotFoundError:
        pytest.skip("busybox is not installed")
    assert done.stdout.startswith("native pv_qspinlock\n")


def test_bad_usage(machine: Machine) -> None:
    for options in (["--what"], ["--log"], ["--log", "/nonexistent"]):
        done = machine.run(*options)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
