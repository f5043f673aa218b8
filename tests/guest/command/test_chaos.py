# SPDX-License-Identifier: MIT
"""`overlock guest chaos`: a kernel's symbols, its log, and a real guest if a kernel was built."""

import json
from pathlib import Path

import pytest

from overlock_tools.chaos import settings
from overlock_tools.guest.chaos import record, runs
from overlock_tools.guest.chaos.record import MOMENTS, Function, Record, Site, Symbols
from tests.command import Overlock
from tests.guest.command.test_real import BUILT, LONG, REQUIRED

KALLSYMS = "ffffffffc0000010 t torture_spin_lock_write_lock\t[locktorture]"
FUNCTIONS = [
    Function(0x1000, "_raw_spin_lock"),
    Function(0x1040, "_raw_spin_lock_irqsave"),
    Function(0x1080, "_raw_spin_trylock"),
    Function(0x10C0, "_raw_write_unlock_bh"),
    Function(0x1100, "_raw_spin_lock_init"),
    Function(0x1140, "wake_up.constprop.0"),
    Function(0xC0000010, "torture_spin_lock_write_lock", "locktorture"),
]
needs_guest = pytest.mark.skipif(BUILT is None and not REQUIRED, reason="no guest kernel is built")


def test_a_line_of_symbols_is_a_function() -> None:
    found = record.of_line(KALLSYMS)
    assert found == Function(0xFFFFFFFFC0000010, "torture_spin_lock_write_lock", "locktorture")
    assert found.shown == "torture_spin_lock_write_lock [locktorture]"
    assert record.of_line("ffffffff81000000 D jiffies") is None
    assert record.of_line("") is None


def test_the_plugin_is_told_what_takes_locks() -> None:
    assert record.lock_functions(FUNCTIONS) == "1000 lock\n1040 lock\n1080 try\n10c0 unlock\n"


def test_an_address_is_in_a_function() -> None:
    symbols = Symbols(FUNCTIONS)
    assert symbols.at(0x1044).name == "_raw_spin_lock_irqsave"
    assert symbols.at(1).shown == "0x1"


def test_patterns_become_ranges_of_code() -> None:
    symbols = Symbols(FUNCTIONS)
    assert symbols.ranges(["_raw_spin_lock*"]) == [(0x1000, 0x1080), (0x1100, 0x1140)]
    assert symbols.ranges(["wake_up"]) == [(0x1140, 0xC0000010)]
    assert symbols.ranges(["locktorture:*"]) == [(0xC0000010, 0xC0001010)]
    assert symbols.ranges(["vmlinux:torture*"]) == []


def test_a_record_is_as_the_plugin_has_it(tmp_path: Path) -> None:
    one = Record(tmp_path / "record")
    one.begin([(1, 2), (3, 4)])
    raw = (tmp_path / "record").read_bytes()
    assert record.WORD.unpack_from(raw, 0) == (1,)
    assert record.WORD.unpack_from(raw, 8) == (2,)
    one.end()
    assert record.WORD.unpack_from((tmp_path / "record").read_bytes(), 0) == (0,)
    assert list(one.sites()) == []
    one.close()


def test_calls_count_for_the_function_that_makes_them() -> None:
    lock = Site(0x1141, 1, (3, 3, 0, 0, 3), (1, 2, 0, 0, 0), 5, 7, 6)
    unlock = Site(0x1150, 3, (0, 0, 3, 3, 0), (0, 0, 1, 0, 0), 2, 0, 0)
    found = runs.places(iter([lock, unlock]), Symbols(FUNCTIONS))
    place = found["wake_up.constprop.0"]
    assert (place.acquisitions, place.naps, place.nap_ns, place.worst_ns) == (3, 4, 7, 6)


LOGS = [
    ("[ 3.1] Writes:  Total: 30  Max/Min: 2/1   Fail: 0 ", runs.PASSED),
    ("[ 3.1] Writes:  Total: 30  Max/Min: 2/1   Fail: 12 !!!", "exclusion was violated"),
    ("[ 9.0] rcu: INFO: rcu_sched self-detected stall on CPU", "RCU stalled"),
    ("[ 9.0] BUG: kernel NULL pointer dereference, address: 0", "the kernel has a fault"),
    ("[ 9.0] spin_lock-torture:--- End of test: FAILURE: x", "the test failed"),
    ("[ 9.0] spin_lock-torture:--- End of test: SUCCESS: x", runs.PASSED),
]


@pytest.mark.parametrize(("line", "how"), LOGS)
def test_a_log_is_judged(line: str, how: str) -> None:
    assert runs.judged(["[ 1.0] something", line])[0] == how


ERRORS = [
    (("--at", "wake"), "unknown moment 'wake'; did you mean waiter? the moments are"),
    (("--accel", "kvm"), "--accel kvm: QEMU's plugins see only what it translates itself"),
    (("--length", "soon"), "--length soon: expected a time"),
    (("--lock", "mcs"), "unknown 4-byte lock 'mcs'"),
]


@pytest.mark.parametrize(("words", "said"), ERRORS)
def test_errors_are_one_line(overlock: Overlock, words: tuple[str, ...], said: str) -> None:
    done = overlock("guest", "chaos", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


# The holder is stopped each time, for longer than the lock's patience of 500 ms.
SURE = ("--runs", "1", "--seconds", "3", "--rate", "1", "--length", "800ms")
INSIDE = ("--at", "inside", "--sites", "locktorture:*", "--json", "found.json")


@needs_guest
def test_a_planted_lock_fails_if_its_holder_loses_the_cpu(
    overlock: Overlock, tmp_path: Path
) -> None:
    """Found in nine of ten runs at least, so in one of six but for one time in a million."""
    for seed in range(1, 7):
        asked = (*SURE, *INSIDE, "--seed", str(seed))
        done = overlock("guest", "chaos", "--lock", "impatient", *asked)
        if done.returncode:
            break
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["runs"][0]["how"] != runs.PASSED
    (place,) = [p for p in found["places"] if p["naps"]]
    assert place["name"] == "torture_spin_lock_write_lock [locktorture]"


@needs_guest
def test_a_lock_without_the_mistake_passes(overlock: Overlock, tmp_path: Path) -> None:
    done = overlock("guest", "chaos", "--lock", "tas", *SURE, *INSIDE)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert sum(place["naps"] for place in found["places"]) > 0


@LONG
def test_rcutorture(overlock: Overlock, tmp_path: Path) -> None:
    words = ("--test", "rcutorture", "--runs", "1", "--json", "found.json")
    done = overlock("guest", "chaos", "--lock", "tas", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert sum(place["naps"] for place in found["places"]) > 0


def test_moments_are_those_of_programs() -> None:
    assert set(MOMENTS) - {"inside"} < set(settings.kinds())
