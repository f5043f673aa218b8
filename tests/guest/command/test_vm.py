# SPDX-License-Identifier: MIT
"""Guests are started, heard, given up and reaped: with a QEMU that is none."""

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import accel, placement, vm
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Spec
from tests.command import COMMAND, Overlock
from tests.guest.command.conftest import Fake, alive, begun
from tests.processes import HANG_S, until

HERE = Placement("free", (tuple(sorted(os.sched_getaffinity(0))),))


def spec(smp: int = 2, lock: str = "ticket", accel: str = "tcg", hidden: bool = True) -> Spec:
    return Spec(Path("/k"), Path("/i"), smp, accel, lock, hidden, ("overlock.tau_ns=5",))


def test_the_command_line_says_what_was_asked_for() -> None:
    words = spec(4).served(Path("/t"))
    told = " ".join(words)
    assert words[0] == "qemu-system-x86_64"
    assert "-accel tcg,thread=multi -machine q35 -cpu max,-hypervisor -smp 4 -m 512" in told
    assert "-kernel /k -initrd /i" in told
    assert "-S" in words
    append = words[words.index("-append") + 1].split()
    assert {"spinlock=ticket", "overlock.tau_ns=5", "rdinit=/init", "panic=-1"} <= set(append)
    assert vm.NO_TIMER_CHECK in append
    assert "rig=console" not in append
    assert "rig=console" in " ".join(spec().at_terminal())


def test_a_guest_that_sees_its_hypervisor_and_kvm() -> None:
    seen = spec(hidden=False).machine()
    assert seen[seen.index("-cpu") + 1] == "max"
    under_kvm = spec(accel="kvm", hidden=False).machine()
    assert under_kvm[under_kvm.index("-cpu") + 1] == vm.host_cpu()
    all_features = "host,migratable=off"
    assert vm.host_cpu("flags : fpu arch_capabilities\n") == all_features
    assert vm.host_cpu("flags : fpu svm\n") == f"{all_features},-arch-capabilities"
    assert under_kvm[under_kvm.index("-accel") + 1] == "kvm"


def test_a_hypervisor_can_be_told_not_to_help() -> None:
    alone = replace(spec(accel="kvm", hidden=False), helped=False).machine()
    assert alone[alone.index("-cpu") + 1] == f"{vm.host_cpu()},-kvm-pv-unhalt"
    translated = replace(spec(hidden=False), helped=False).machine()
    assert translated[translated.index("-cpu") + 1] == "max"  # it never helps


def test_guests_come_up_and_are_gone_after(fake: Fake, tmp_path: Path) -> None:
    pids = fake("good")
    with vm.booted([spec(), spec(3)], HERE) as up:
        assert [guest.facts["cpus"] for guest in up.guests] == [2, 3]
        assert [guest.spec.smp for guest in up.guests] == [2, 3]
        assert up.guests[0].facts["lock"] == "ticket"
        assert not up.failures
        assert len(alive(pids)) == 2
    assert not alive(pids)
    assert not list((tmp_path / "tmp").iterdir())


def test_a_boot_that_failed_is_tried_again(fake: Fake) -> None:
    pids = fake("late-once")
    said: list[str] = []
    with vm.booted([spec()], HERE, seconds=1, tell=said.append) as up:
        assert len(up.failures) == 1
        assert "Kernel panic" in up.failures[0]
    assert "trying again" in said[0]
    assert len(pids.read_text().split()) == 2
    assert not alive(pids)


def test_one_that_never_boots_is_named_with_its_last_words(fake: Fake, tmp_path: Path) -> None:
    pids = fake("silent")
    with (
        pytest.raises(vm.NoBoot, match=r"ticket with 2 vCPUs did not boot in 2 tries.*a fake one"),
        vm.booted([spec()], HERE, seconds=0.5, tries=2),
    ):
        pytest.fail("it did not boot")
    assert not alive(pids)
    assert not list((tmp_path / "tmp").iterdir())


OOPS = """\
Run /init as init process
BUG: unable to handle page fault for address: ffff888001c00000
CPU: 0 PID: 0 Comm: swapper/0 Not tainted 6.1.192 #5
RIP: 0010:clear_page_erms+0x7/0x10
RSP: 0000:ffffc90000003f18 EFLAGS: 00010086
Call Trace:
CR2: ffff888001c00000 CR3: 0000000001a09000 CR4: 00000000003506b0
Kernel panic - not syncing: Fatal exception in interrupt
Rebooting
"""


def test_a_kernel_that_fails_is_told_by_its_fault_else_by_its_last_words() -> None:
    said = vm.telling(OOPS.splitlines()).split(" | ")
    assert [line.split()[0] for line in said] == ["BUG:", "RIP:", "Kernel"]
    assert vm.telling(["a", "b", "c", "d", "e"]) == "b | c | d | e"
    assert vm.telling([]) == ""


def test_qemu_that_refuses_is_told_in_its_own_words(fake: Fake) -> None:
    fake("dead")
    with pytest.raises(Fail, match="no such machine"), vm.booted([spec()], HERE):
        pytest.fail("it did not run")


def test_without_qemu_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Fail, match="install qemu-system-x86"):
        vm.dies_with_us(["qemu-system-x86_64"])


WAITING = """
import os, sys, time
from pathlib import Path
from overlock_tools.guest import vm
from overlock_tools.guest.placement import Placement
from overlock_tools.bench.conditions.base import ended_in_order
spec = vm.Spec(Path("/k"), Path("/i"), 2)
with ended_in_order(), vm.booted([spec, spec], Placement("free", ((0,),))):
    print("up", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_guests_end_however_we_end(number: signal.Signals, fake: Fake, tmp_path: Path) -> None:
    pids = fake("good")
    ours = begun(WAITING, "up")
    assert len(alive(pids)) == 2
    ours.send_signal(number)
    ours.communicate(timeout=HANG_S)
    until(lambda: not alive(pids))
    if number != signal.SIGKILL:  # nobody is left then to remove them
        assert not list((tmp_path / "tmp").iterdir())


COMMAND_WAITS = """
from overlock_tools.cli.commands.guest import command
@command.command()
def waits():
    exec(WAITING)
command(["waits"])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_every_command_of_guest_ends_its_guests(
    number: signal.Signals, fake: Fake, tmp_path: Path
) -> None:
    pids = fake("good")
    unordered = WAITING.replace("ended_in_order(), ", "")
    ours = begun(COMMAND_WAITS.replace("WAITING", repr(unordered)), "up")
    assert len(alive(pids)) == 2
    ours.send_signal(number)
    ours.communicate(timeout=HANG_S)
    until(lambda: not alive(pids))
    assert not list((tmp_path / "tmp").iterdir())


def test_siblings_are_spread_and_cpus_filled_evenly() -> None:
    where = Placement("balanced", ((0, 1),))
    assert where.of(0, 4) == [{0}, {1}, {0}, {1}]
    both = where.of(0, 3) + where.of(1, 3)
    assert sorted(cpu for cpus in both for cpu in cpus) == [0, 0, 0, 1, 1, 1]
    assert Placement("free", ((0, 1),)).of(1, 2) == [{0, 1}, {0, 1}]


def test_pools_are_taken_in_turns() -> None:
    where = Placement("balanced", ((0,), (1, 2)))
    assert where.of(0, 2) == [{0}, {0}]
    assert where.of(1, 2) == [{1}, {2}]
    assert where.of(2, 1) == [{0}]
    assert where.cpus == 3


@pytest.mark.parametrize("text", ["", "x", "0-", "-1", "1,,2", "9999"])
def test_a_pool_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Fail, match=f"--pool {text}"):
        placement.parse_cpus(text, frozenset({0, 1}))
    assert placement.parse_cpus("0-1", frozenset({0, 1})) == (0, 1)


def test_kvm_is_believed_only_if_a_guest_boots(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("good")
    found = accel.choose("auto", spec(), HERE, tmp_path)
    assert found.name == "tcg"
    if os.path.exists("/dev/kvm") and os.access("/dev/kvm", os.R_OK | os.W_OK):
        assert "no KVM for a fake" in found.why
        assert (tmp_path / "accelerator.json").exists()
        monkeypatch.setenv("FAKE_QEMU", "dead")  # what is remembered is not tried again
        assert accel.choose("auto", spec(), HERE, tmp_path) == found
    assert accel.choose("kvm", spec(), HERE, tmp_path).name == "kvm"


def test_boot_prints_what_the_guest_says(overlock: Overlock, fake: Fake, home: Path) -> None:
    fake("other-lock")
    done = overlock("guest", "boot", "--dir", home, "--lock", "tas", "--accel", "tcg")
    assert done.returncode == 0, done.stderr
    assert "lock in force: ticket" in done.stdout


def test_interrupted_run_leaves_nothing_and_can_be_resumed(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    pids = fake("good")
    asked = ["guest", "run", "--dir", str(home), "--accel", "tcg", "--lock", "tas,ticket"]
    asked += ["--rounds", "4", "--seconds", "0.3", "--json", str(tmp_path / "r.json")]
    ours = subprocess.Popen([*COMMAND, *asked], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    until(lambda: len(pids.read_text().split()) >= 3)
    ours.send_signal(signal.SIGINT)
    said, _ = ours.communicate(timeout=HANG_S)
    assert ours.returncode == 130, said
    assert not alive(pids)
    assert "repeat the command with --resume to complete them" in said
    done = overlock(*asked, "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(pids.read_text().split()) <= 3 * 4 + 1
