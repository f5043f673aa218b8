# SPDX-License-Identifier: MIT
"""Loads beside the loop: what they answer, what is made for them, what they notice."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from overlock_tools.bench import kernbench
from overlock_tools.core.model.combine import Answer, together
from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import initramfs, loads, packages, paths, programs
from overlock_tools.guest.executor import Used
from overlock_tools.guest.loads import Counters, Wrong
from tests.command import Overlock
from tests.conftest import TOP
from tests.guest.command.conftest import Fake
from tests.mutant import changed

COUNTED = [
    "counter ACQUIRE 1000",
    "counter STALL 12",
    "counter STALL_HELD 4",
    "counter STALL_FREE 6",
    "counter LHP 2",
    "counter LWP 3",
    "counter STEAL 90 70 10 5 3 2 0 0 0",
    "counter STEAL_TRY 200 1 2 3 4 5 6 7 8",
    "counter slices gaps",
    "counter wait_ns 4000000000",
    "counter spin_ns 2000000000",
    "counter hold_ns 5000",
    "counter hold 100:7 200:3",
    "counter seconds 4.00",
]


def test_totals_count_between_the_first_and_the_last() -> None:
    load = loads.known("kernbench")
    assert load.line(2.0, 1, load.parameters({})) == "kernbench 2 0"
    answer = load.answer(["at 10.00 5", "at 10.50 9", "noise", "at 12.00 25"])
    assert (answer.work, answer.seconds, answer.wrong) == (20, 2.0, "")
    failed = load.answer(["at 1.00 5", "at 2.00 9", "wrong: the program does not print x"])
    assert failed.wrong == "the program does not print x"
    with pytest.raises(Wrong, match="printed 1 totals"):
        load.answer(["at 10.00 5", "tcc: no memory"])
    late = load.late(["at 10.00 5"], 60)
    assert late
    assert (late.cut, late.work) == (True, 6)


def test_pbzip2_counts_what_it_compressed() -> None:
    load = loads.known("pbzip2")
    answer = load.answer(["Time: 0.50", "Time: 0.30"])
    assert answer.work == 2 * programs.RANDOM_BYTES / 1024
    assert answer.seconds == pytest.approx(0.8)


def test_pgbench_goes_by_what_it_says_at_the_end() -> None:
    load = loads.known("pgbench")
    said = [
        "progress: 1.0 s, 500.0 tps, lat 2.000 ms stddev 1.000, 0 failed",
        "number of transactions actually processed: 1000",
        "tps = 400.000000 (without initial connection time)",
    ]
    answer = load.answer(said)
    assert (answer.work, answer.seconds) == (1000, 2.5)
    assert load.answer([*said, "wrong: accounts and history differ by '7'"]).wrong
    with pytest.raises(Wrong, match="printed no rate"):
        load.answer(["pgbench: error: connection failed"])
    late = load.late(said[:1], 60)
    assert late
    assert (late.cut, late.work) == (True, 501)


def test_counters_become_events_and_times() -> None:
    plain = Answer(work=1, seconds=2.0)
    answer = Counters.of(["something else", *COUNTED]).into(plain)
    assert answer.events["STALL_FREE"] == 6
    assert answer.slices == "gaps"
    assert answer.hold == [[100.0, 7.0], [200.0, 3.0]]
    assert (answer.wait_ns, answer.spin_ns) == (2_000_000_000, 1_000_000_000)  # half of the time
    told = together([answer, answer], Used(0), 2)
    assert told["events"]["LHP"] == 4
    assert told["spin_ns"] == 2_000_000_000


def test_a_kernel_that_counts_nothing_of_its_own_lock_tells_nothing() -> None:
    none = ["counter ACQUIRE 0", "counter wait_ns 0", "counter spin_ns 0"]
    assert not Counters.of(none).into(Answer(work=1, seconds=1)).events
    with pytest.raises(Wrong, match="has no counters"):
        loads.known("boot").answer(none)


def test_thefts_are_told_by_their_place() -> None:
    answer = loads.known("boot").answer(COUNTED)
    assert answer.events["STEAL@0"] == 70
    assert answer.events["STEAL_TRY@7"] == 8
    assert answer.work == 1000


def test_what_a_loop_counts_itself_is_not_the_kernels() -> None:
    own = Answer(work=1, seconds=1.0, events={"ACQUIRE": 5}, hold=[[1, 1]], wait_ns=3)
    answer = Counters.of(COUNTED).into(own)
    assert (answer.events, answer.hold, answer.wait_ns) == ({"ACQUIRE": 5}, [[1, 1]], 3)


# Programs


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ebizzy, and one whose search is wrong."""
    folder = tmp_path_factory.mktemp("ebizzy")
    text = (TOP / "guest/loads/programs/ebizzy.c").read_text()
    broken = changed(text, ("records[middle] <= key", "records[middle] < key"))
    for name, source in (("ebizzy", text), ("broken", broken)):
        (folder / f"{name}.c").write_text(source)
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
        subprocess.run(["gcc", *flags, "-o", folder / name, folder / f"{name}.c"], check=True)
    return folder


def test_ebizzy_finds_its_records(built: Path) -> None:
    load = loads.known("ebizzy")
    said = subprocess.run([built / "ebizzy", "1", "3"], capture_output=True, text=True, check=True)
    answer = load.answer(said.stdout.splitlines())
    assert answer.work > 0
    assert answer.seconds > 0.9
    assert not answer.wrong
    assert subprocess.run([built / "ebizzy", "1"], capture_output=True, check=False).returncode == 2


def test_an_ebizzy_that_finds_others_says_so(built: Path) -> None:
    said = subprocess.run([built / "broken", "1", "2"], capture_output=True, text=True, check=True)
    assert loads.known("ebizzy").answer(said.stdout.splitlines()).wrong


def test_kernbench_is_always_the_same_program(tmp_path: Path) -> None:
    assert kernbench.sources() == kernbench.sources()
    assert len(kernbench.expected()) == 8
    with pytest.raises(Fail, match="there is no nocc"):
        kernbench.expected("nocc")


TCC = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
printf %s "$TCC_MAKES" >"$2"
chmod +x "$2"
"""
STUBS = {"tcc": TCC, "nproc": "#!/bin/sh\necho 2\n"}


def kernbench_ran(folder: Path, prints: str, look: float = 0.5) -> Answer:
    """Its script for a second, with a compiler that makes the program at once; who looks how far it
    is does so after `look` seconds."""
    programs, sources = folder / "bin", folder / "sources"
    programs.mkdir()
    sources.mkdir()
    for name, text in STUBS.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (sources / "expected").write_text("12345678\n")
    (sources / "a.c").write_text("")
    script = (TOP / "guest/loads/kernbench").read_text()
    for old, new in (
        ("/usr/src/kernbench", str(sources)),
        ("out=/tmp/kernbench", f"out={folder / 'out'}"),
        ('echo >>"$1/done"', 'echo >>"$1/done"; sleep 0.1'),
        ("sleep 0.5", f"sleep {look:g}"),
    ):
        assert old in script
        script = script.replace(old, new)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "TCC_MAKES": f"#!/bin/sh\necho {prints}",
    }
    done = subprocess.run(
        ["sh", "-c", script, "kernbench", "1", "2"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return loads.known("kernbench").answer(done.stdout.splitlines())


@pytest.mark.parametrize(
    ("prints", "wrong"), [("12345678", ""), ("87654321", "does not print 12345678")]
)
def test_kernbench_runs_what_it_has_made(tmp_path: Path, prints: str, wrong: str) -> None:
    answer = kernbench_ran(tmp_path, prints)
    assert answer.work > 0
    assert wrong in answer.wrong
    assert bool(wrong) == bool(answer.wrong)


def test_kernbench_looks_twice_however_late_it_is(tmp_path: Path) -> None:
    """In a guest that stands still its first look can come after the end."""
    assert kernbench_ran(tmp_path, "12345678", look=1.6).seconds > 1


# Parts


def test_a_part_is_made_once_and_follows_the_image(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def make(_: packages.Packages) -> initramfs.Contents:
        made.append(1)
        return {"usr/bin/thing": (0o755, b"thing"), "empty/": (0o755, b"")}

    monkeypatch.setattr(programs, "PARTS", {"thing": (make, ())})
    kernel = paths.home(home)
    base = initramfs.compressed(initramfs.archive({"init": (0o755, b"#!/bin/sh\n")}))
    kernel.initramfs("nop").write_bytes(base)
    told: list[str] = []
    first = programs.with_parts(["thing"], kernel, "nop", told.append)
    assert programs.with_parts(["thing"], kernel, "nop", told.append) == first
    assert made == [1]
    assert told == ["making what the guest needs for thing"]
    assert first.read_bytes().startswith(base)  # the kernel unpacks one after the other
    unpacked = gzip.decompress(first.read_bytes())
    assert b"usr/bin/thing" in unpacked
    assert b"empty" in unpacked


def test_a_package_that_cannot_be_fetched_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt = tmp_path / "bin/apt-get"
    apt.parent.mkdir()
    apt.write_text("#!/bin/sh\necho 'E: no network' >&2\nexit 100\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apt.parent}{os.pathsep}{os.environ['PATH']}")
    found = packages.Packages(tmp_path / "kept", lambda _: None)
    with pytest.raises(Fail, match="cannot fetch tcc-none: E: no network; install tcc-none"):
        found.file("tcc-none", "usr/bin/tcc-none")
    assert not list((tmp_path / "kept").iterdir())  # nothing half there


def test_an_installed_program_is_taken_as_it_is(tmp_path: Path) -> None:
    shell = shutil.which("sh")
    assert shell
    found = packages.Packages(tmp_path, lambda _: None)
    assert found.file("dash", "bin/sh") == Path("/bin/sh")


# Kernels


def test_a_variant_has_its_options_once(tmp_path: Path) -> None:
    usual, off = paths.home(tmp_path), paths.home(tmp_path, variant="off-nopv")
    assert b"CONFIG_PARAVIRT_SPINLOCKS=y" in usual.fragment
    assert b"CONFIG_PARAVIRT_SPINLOCKS=y" not in off.fragment
    assert b"CONFIG_PARAVIRT_SPINLOCKS=n" in off.fragment
    assert usual.source == off.source
    assert len({usual.build, off.build, usual.image, off.image, usual.modules, off.modules}) == 6
    assert usual.beside("off-nopv") == off
    assert off.beside(None) == off


def test_a_kernel_that_is_not_built_is_named_before_anything_runs(
    overlock: Overlock, fake: Fake, home: Path
) -> None:
    pids = fake("good")
    asked = ("--dir", home, "--accel", "tcg", "--lock", "ticket@kernel=counted")
    done = overlock("guest", "run", *asked)
    assert done.returncode == 3
    assert "run `overlock guest build --variant counted`" in done.stderr
    assert not pids.read_text()
    unknown = overlock("guest", "run", *asked[:-1], "ticket@kernel=cuonted")
    assert unknown.returncode == 2
