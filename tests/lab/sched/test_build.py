# SPDX-License-Identifier: MIT
"""What is reckoned from the guest's answers, and which kernel is chosen."""

import gzip
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.sched import build, programs, run


def test_a_percentile_heeds_weights() -> None:
    assert run.p99_ns({"ns": [5, 1000, 7], "weight": [60, 1, 39]}) == 7
    assert run.p99_ns({"ns": [5, 1000, 7], "weight": [60, 2, 39]}) == 1000
    assert run.p99_ns({"ns": [], "weight": []}) == 0


def test_a_request_for_each_lock_and_number_of_threads() -> None:
    options = {
        "workload": "sections",
        "locks": ["ticket", "mcs"],
        "threads": [4, 8],
        "seconds": 0.3,
        "parameters": ("cs=9",),
    }
    lines = run.requests(options)
    assert len(lines) == 4
    assert lines[1] == "workload=sections variant=ticket threads=8 seconds=0.3 cs=9"


def test_the_tested_series_is_preferred_and_the_newest_of_it() -> None:
    listed = [
        "linux-image-7.3.4+deb13-cloud-amd64",
        "linux-image-6.18.9+deb13-cloud-amd64",
        "linux-image-6.18.15+deb13-cloud-amd64",
        "linux-image-6.18.20+deb13-rt-amd64",
        "linux-image-6.18.20+deb13-cloud-amd64-unsigned",
    ]
    assert build._choose(listed) == listed[2]
    assert build._choose(listed[:1]) == listed[0]
    with pytest.raises(Fail):
        build._choose(["linux-image-6.1.0-49-cloud-amd64x"])


def test_a_kernel_of_ones_own_has_the_kernels_scheduler_only(tmp_path: Path) -> None:
    assert run._under_own_kernel(["kernel", "sched"]) == ["kernel"]
    with pytest.raises(Fail, match="has no sched_ext; give kernel"):
        run._under_own_kernel(["sched --no-lead"])
    with pytest.raises(Fail, match=r"overlock guest build --kernel 7\.3 --variant extension"):
        build.own_kernel(tmp_path, "7.3")


def test_what_a_program_did_becomes_a_row() -> None:
    row = run.Row()
    said = {"program": "openmp", "threads": 2, "seconds": 0.5, "p99_us": 7, "per_thread": [1, 3]}
    run._take_program(said, row)
    assert (row.rates, row.p99_us, row.jain) == ([8], [7], [0.8])
    assert not row.acquired


def test_what_a_guest_did_becomes_a_row() -> None:
    row = run.Row()
    loop = {"wrong": "", "per_thread": [30, 10], "window_ns": 2e9, "wait": [[500, 99], [9000, 2]]}
    told = {"error_ns": {"p50": 7}}
    said = {"program": "guest", "threads": 2, "said": loop, "told": told}
    run._take_program(said, row)
    assert (row.rates, row.p99_us, row.jain, row.told) == ([20], [9], [0.8], [told])
    with pytest.raises(Fail, match="guest: lost"):
        run._take_program({**said, "said": {**loop, "wrong": "lost"}}, row)


def test_a_program_comes_without_what_the_rig_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = {"lib/libc.so.6": (0o755, b"old"), "lib/libown.so": (0o755, b"own"), "x": (0o644, b"")}
    monkeypatch.setattr(programs, "PROGRAMS", {"one": lambda _: found})
    told: list[str] = []
    (tmp_path / "one-0123456789ab.gz").write_bytes(b"")  # of other sources
    made = programs.made("one", tmp_path, {"libc.so.6"}, told.append)
    archive = gzip.decompress(made.read_bytes())
    assert b"lib/libown.so" in archive
    assert b"libc.so.6" not in archive
    assert list(tmp_path.glob("*.gz")) == [made]
    assert programs.made("one", tmp_path, set(), told.append) == made
    assert len(told) == 1


def test_a_program_may_have_another_lock() -> None:
    given = "pbzip2 --lock i_spin --csd-ns 200000"
    assert programs.name_of(given) == "pbzip2"
    assert programs.command("pbzip2", 4, 0.3) == "measured-pbzip2 4 0.3"
    assert programs.command(given, 4, 0.3) == (
        "overlock run --lock i_spin --csd-ns 200000 -- /usr/bin/measured-pbzip2 4 0.3"
    )
    lock = "ebizzy@i_spin@csd=200000"
    assert programs.name_of(lock) == "ebizzy"
    assert programs.command(lock, 4, 0.3) == "measured-ebizzy 4 0.3 i_spin@csd=200000"


@pytest.mark.parametrize(
    ("rates", "words"),
    [([5000.0], "1 round: no range is known"), ([5000.0, 7000.0], "(5,000 - 7,000)")],
)
def test_a_rate_has_its_range_or_says_that_it_has_none(
    rates: list[float], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = run.Row(rates, [1.0] * len(rates), [1.0] * len(rates))
    options = {"rounds": len(rates), "programs": (), "locks": ["mcs"], "threads": [8]}
    run._show({("mcs", 8, "kernel"): row}, {}, options | {"under": ["kernel"]})
    assert words in capsys.readouterr().out
