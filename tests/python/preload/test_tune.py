# SPDX-License-Identifier: MIT
"""overlock tune: what is read from a report, what is proposed, and the file that is written."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.model import advice as recommended
from overlock_tools.preload import config, tuning
from tests.python.conftest import Overlock


def site(name: str = "work", **more: Any) -> dict[str, Any]:
    """A record as the library writes it: 1000 sections of 64 to 96 ns, half of them waited for."""
    return {
        "function": name,
        "site": "0x1",
        "events": {"ACQUIRE": 1000, "SLOW_PATH": 500},
        "places": {},
        "preemptions": {"LHP": 100, "LWP": 0, "PSP": 100},
        "hold": [[64, 1000]],
    } | more


def proposed(*sites: dict[str, Any]) -> dict[str, str]:
    report = {"sites": {"sites": [*sites]}}
    return {p.what: p.value for p in tuning.advice(report).proposals}


def test_buckets_end_where_the_next_begins() -> None:
    starts = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 1024, 1536, 2048]
    ends = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 1536, 2048, 3072]
    assert [tuning.bucket_end(least) for least in starts] == ends


def test_quantiles_and_shares() -> None:
    hold = {64: 90, 1024: 9, 4096: 1}
    assert tuning.quantile(hold, 0.5) == 96
    assert tuning.quantile(hold, 0.9) == 96
    assert tuning.quantile(hold, 0.91) == 1536
    assert tuning.quantile(hold, 1) == 6144
    assert tuning.share_under(hold, 1536) == pytest.approx(0.99)
    assert tuning.share_under(hold, 6144) == pytest.approx(1)
    assert tuning.share_under(hold, 95) == 0


def test_the_bounds_are_those_of_buckets() -> None:
    """So that the shares are exact."""
    for ns in tuning.SHORT_NS.values():
        assert tuning.bucket_end(ns - 1 - (ns - 1) % (ns // 3)) == ns


def test_sections_without_their_cpu_are_left_out() -> None:
    long_ones = site(hold=[[64, 900], [4194304, 100]])
    assert proposed(long_ones)["csd"] == "96"
    assert proposed(long_ones | {"preemptions": None})["csd"] == str(6 << 20)


@pytest.fixture
def something_to_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a lock had been measured to be faster than glibc's mutex."""
    table = recommended.load()
    faster = replace(table[tuning.CONTENDED], take="tas")
    monkeypatch.setattr(recommended, "load", lambda: {**table, tuning.CONTENDED: faster})


RARE: dict[str, Any] = {"events": {"ACQUIRE": 1000, "SLOW_PATH": 9}}
LONG: dict[str, Any] = {"hold": [[49152, 1000]], "preemptions": None}


@pytest.mark.parametrize("more", [{}, {"preemptions": None}, RARE, LONG], ids=lambda m: str([*m]))
def test_the_mutex_is_kept_while_no_lock_is_faster(more: dict[str, Any]) -> None:
    assert proposed(site(**more))["lock"] == "glibc"


@pytest.mark.usefixtures("something_to_gain")
def test_a_faster_lock_is_proposed_where_it_matters() -> None:
    assert proposed(site())["lock"] == "tas"
    assert proposed(site(preemptions=None))["lock"] == "tas"
    assert proposed(site(**RARE))["lock"] == "glibc"
    assert proposed(site(**LONG))["lock"] == "glibc"


def test_tunables() -> None:
    found = proposed(site())
    assert found["tau"] == str(96 + 330)
    assert found["spin"] == str(96 + 330)
    assert proposed(site(places={"QUEUE": [0, 500, 0, 0, 0, 0, 0, 0]}))["spin"] == str(2 * 426)
    assert proposed(site(hold=[[6144, 1000]], preemptions=few_lost()))["spin"] == "2000"


def few_lost() -> dict[str, int]:
    return {"LHP": 0, "LWP": 0, "PSP": 0}


@pytest.mark.usefixtures("something_to_gain")
def test_who_never_waits_decides_nothing() -> None:
    idle = site("idle", events={"ACQUIRE": 10**9}, hold=[[49152, 10**9]])
    assert proposed(site(), idle) == proposed(site())
    report = {"sites": {"sites": [site(), site("slow", hold=[[49152, 1000]], preemptions=None)]}}
    assert list(tuning.advice(report).apart) == ["slow"]


def test_calls_from_one_function_are_one() -> None:
    (one,) = tuning.sites_of({"sites": {"sites": [site(), site(preemptions=None)]}})
    assert (one.acquisitions, one.preempted, one.hold) == (2000, 100, {64: 2000})


PROGRAM = """
import threading
def work():
    for _ in range(20):
        sum(range(20000))
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print("the program")
"""


def test_end_to_end(overlock: Overlock, tmp_path: Path) -> None:
    out, written = tmp_path / "tune.json", tmp_path / "locks.toml"
    folded = tmp_path / "waits"
    options = ("--json", str(out), "--write", str(written), "--folded", str(folded))
    done = overlock("tune", *options, "--", sys.executable, "-c", PROGRAM)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("the program\n")
    assert "lock = " in done.stdout
    told = json.loads(out.read_text())
    assert sum(s["acquisitions"] for s in told["sites"]) > 0
    for one in told["sites"]:
        assert sum(n for _, n in one["hold"]) <= one["acquisitions"]
    kept = config.from_file(written)
    assert kept.lock or kept.sites
    assert sorted(tmp_path.iterdir()) == [written, out, folded]
    waits = [line.rpartition(" ") for line in folded.read_text().splitlines()]
    assert all(stack and int(ns) > 0 for stack, _, ns in waits)
    again = overlock("run", "--config", str(written), "--", sys.executable, "-c", PROGRAM)
    assert (again.returncode, again.stdout, again.stderr) == (0, "the program\n", "")


def test_a_program_that_tells_nothing(overlock: Overlock, tmp_path: Path) -> None:
    written = tmp_path / "locks.toml"
    for code, word in (("os._exit(3)", "_exit()"), ("os.kill(os.getpid(), 9)", "signal 9")):
        script = f"import os; {code}"
        done = overlock("tune", "--write", str(written), "--", sys.executable, "-c", script)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done
        assert word in done.stderr
        assert not written.exists()
    done = overlock("tune", "--write", str(tmp_path / "no" / "x"), "--", "true")
    assert done.returncode == 2
    assert overlock("tune", "--", "no-such-program").returncode == 127


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "locks.toml"
    sites = [config.Site('a "quoted" \\ one', "mcs"), config.Site("&x", "glibc")]
    kept = config.Choices("ticket", {"tau": "inf", "spin": "7"}, sites)
    path.write_text(config.to_text(kept, "a comment\n\nof lines"))
    assert config.from_file(path) == kept
