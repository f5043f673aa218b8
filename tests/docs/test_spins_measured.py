# SPDX-License-Identifier: MIT
"""tools/spins_measured.py: what it keeps of results, and what its tables say of that."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spins_measured
from overlock_tools.apps.catalogue import APPS
from overlock_tools.bench import rounds
from overlock_tools.cli import main
from overlock_tools.core.model.histograms import packed
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.workloads import Workload
from overlock_tools.core.system.errors import Fail
from tests.conftest import TOP
from tests.core import planted

ALONE = {
    "native": {1: 60.0, 2: 100.0, 4: 10.0, 8: 1.0},
    "spins": {1: 60.0, 2: 98.0, 4: 90.0, 8: 55.0},
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    found = tmp_path / "spins.json"
    monkeypatch.setattr(spins_measured, "FILE", found)
    spins_measured.programs.cache_clear()
    yield found
    spins_measured.programs.cache_clear()


def result(rates: dict[str, dict[int, float]] = ALONE) -> Result:
    found = planted.result(rates, ["native"], "program-blis")
    found.native = {"packages": {"libblis4-pthread": "0.9.0-1"}}
    found.settings["date"] = "2026-01-02"
    for cell in found.cells:
        cell.cpu_seconds = 2.0
    return found


def planned() -> Plan:
    return Plan(Workload("blis", "t"), ["native"], [2], "native", 1)


def test_every_program_is_one_of_apps_with_its_remedies() -> None:
    assert len(set(spins_measured.PROGRAMS)) == len(spins_measured.PROGRAMS) >= 9
    for name in spins_measured.PROGRAMS:
        assert name in APPS
        assert spins_measured.variants(name, "alone", False) == ["spins", *APPS[name].free]
        assert spins_measured.variants(name, "alone", True) == list(APPS[name].free)
        assert spins_measured.variants(name, "pairs", False) == ["spins"]
    assert APPS["lightgbm"].free[0] == "OMP_WAIT_POLICY=passive"
    makefile = (TOP / "Makefile").read_text()
    assert "tools/spins_measured.py --programs" in makefile


def test_rates_are_kept_beside_the_best_of_their_own(file: Path) -> None:
    spins_measured.keep(file, "blis", "alone", result())
    table = spins_measured.rates_table()
    assert table.startswith("| program | setting | 1 thread | 1× | 2× | 4× | 4× ÷ best |\n")
    assert "| `blis` | `native` | 60/s (57.6 – 61.8) | 100/s (96 – 103) |" in table
    assert table.splitlines()[2].endswith("| 1/s (0.96 – 1.03) | 0.01 |")
    assert table.splitlines()[3].endswith("| 55/s (52.8 – 56.6) | 0.55 |")  # of 100, not of 60
    kept = json.loads(file.read_text())["blis"]
    assert kept["unit"] == "acquisitions"
    assert kept["situations"]["alone"]["rounds"] == len(planted.NOISE)
    assert (
        "`blis` | acquisitions | libblis4-pthread 0.9.0-1 | Made-up CPU, 2 CPUs, Linux 6.1 |"
        in (spins_measured.about_table())
    )


def test_costs_are_of_most_threads(file: Path) -> None:
    found = result({"native": {2: 100.0, 8: 10.0}, "spins": {2: 90.0, 8: 50.0}})
    for cell in found.cells:
        if cell.variant == "spins":
            cell.cpu_seconds, cell.throttled = 1.0, 7 if cell.threads == 8 else 3
            cell.latency = packed([1e6, 5e6 * cell.threads], [97, 3])
    found.scenario = {"proof": {"quota": {"held": True, "words": "exhausted"}}}
    spins_measured.keep(file, "blis", "quota-half", found)
    native, spins = spins_measured.costs_table("quota-half").splitlines()[2:]
    assert native == "| `blis` | `native` | · | 10/s (9.6 – 10.3) | · | · | 200 ms | · |"
    assert spins == (
        "| `blis` | `spins` | 0.90× (0.90 – 0.90) | 50/s (48 – 51.5) | 5.00× (5.00 – 5.00) "
        "| 40 ms | 20 ms | 7 |"
    )
    assert spins_measured.costs_table("alone") == "Not measured yet.\n"


def test_a_situation_that_did_not_hold_is_told(file: Path) -> None:
    found = result()
    found.scenario = {"proof": {"quota": {"held": False, "words": "exhausted in 0 of 63 periods"}}}
    spins_measured.keep(file, "blis", "quota-half", found)
    assert spins_measured.costs_table("quota-half").endswith(
        " |\n\n`blis`: exhausted in 0 of 63 periods.\n"
    )


def test_a_machine_that_was_busy_is_told(file: Path) -> None:
    found = result()
    spins_measured.keep(file, "blis", "alone", found)
    job = rounds.Job(planned(), found)
    job.others = {1: 0.4, 2: 0.62}
    found.warnings = ["at the start other work took 30% of the CPUs", job.busy_warning() or ""]
    spins_measured.keep(file, "redis", "alone", found)
    said = "\n\nOther work took up to 62 % of the CPUs while `redis` ran: expect noise.\n"
    assert spins_measured.rates_table().endswith(said)
    assert spins_measured.costs_table("alone").endswith(said)
    assert "Other" not in spins_measured.costs_table("pairs")


def test_a_rate_that_was_cut_is_a_bound_and_has_no_ratio(file: Path) -> None:
    found = result()
    for cell in found.cells:
        cell.cut = cell.variant == "native" and cell.threads == 8
    spins_measured.keep(file, "blis", "alone", found)
    cells = json.loads(file.read_text())["blis"]["situations"]["alone"]["cells"]
    assert "ratio" in cells["4"]["spins"]
    assert "ratio" not in cells["8"]["spins"]
    assert "cpu_s" in cells["4"]["native"]
    assert "cpu_s" not in cells["8"]["native"]
    assert "| < 1/s (0.96 – 1.03) |" in spins_measured.rates_table()


def test_the_bound_is_one_sided_and_of_pairs(file: Path) -> None:
    """Of ratios 0.9, 1.0 and 1.1 in as many rounds each, the median is 1 and the bound 0.9."""
    found = result({"native": {2: 100.0}, "spins": {2: 100.0}})
    for cell in found.cells:
        if cell.variant == "spins":
            cell.work *= (0.9, 1.0, 1.1)[cell.round % 3]
    spins_measured.keep(file, "blis", "pairs", found)
    kept = json.loads(file.read_text())["blis"]["bounds"]["2"]
    assert kept == {"pairs": 9, "ratio": 1.0, "low": 0.9}
    assert "| `blis` | 2 | 9 | 1.000 | 0.900 |" in spins_measured.bounds_table()
    del found.cells[8]  # of eight pairs, the next to the least: 95 % on both sides had the least
    for number, cell in enumerate(found.cells[8:]):
        cell.work = 100 * planted.NOISE[cell.round - 1] * (0.9 + 0.01 * number)
    spins_measured.keep(file, "blis", "pairs", found)
    low = json.loads(file.read_text())["blis"]["bounds"]["2"]["low"]
    assert 0.905 < low < 0.93
    del found.cells[3:8]  # natively three rounds are left: too few for a bound
    spins_measured.keep(file, "blis", "pairs", found)
    spins_measured.programs.cache_clear()
    assert "| `blis` | 2 | 3 | 0.910 | · |" in spins_measured.bounds_table()


def test_programs_with_other_threads_are_refused(file: Path) -> None:
    spins_measured.keep(file, "blis", "alone", result())
    spins_measured.keep(file, "redis", "alone", result({"native": {2: 1.0, 8: 1.0}}))
    with pytest.raises(Fail, match="measured with"):
        spins_measured.rates_table()


def test_a_program_that_was_measured_before_keeps_its_other_situations(file: Path) -> None:
    spins_measured.keep(file, "redis", "alone", result())
    spins_measured.keep(file, "blis", "neighbours", result())
    spins_measured.keep(file, "blis", "alone", result())
    kept = json.loads(file.read_text())
    assert list(kept) == ["blis", "redis"]  # as they are listed
    assert set(kept["blis"]["situations"]) == {"neighbours", "alone"}


@pytest.mark.parametrize("complete", [0, 1])
def test_a_run_that_is_interrupted_keeps_what_is_complete(
    complete: int, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The command is interrupted in the second program; the first is whole, and so are rounds."""

    def run(words: list[str]) -> int:
        out = Path(words[words.index("-o") + 1])
        first = words[2] == "blis"
        if first or complete:
            (out / f"{words[2]}.json").write_text(result().to_json())
        return 0 if first else 130

    monkeypatch.setattr(main, "run", run)
    for name in ("blis", "llama"):
        monkeypatch.setattr(APPS[name], "missing", list)
    words = ["--only", "blis", "--only", "llama", "--situation", "alone"]
    words += ["--kept", str(tmp_path / "kept"), "-o", str(file)]
    monkeypatch.setattr("sys.argv", ["spins_measured.py", *words])
    assert spins_measured.main() == 130
    assert list(json.loads(file.read_text())) == ["blis", *(["llama"] if complete else [])]
    said = capsys.readouterr()
    assert "interrupted" in said.err
    assert "4× ÷ best" in said.out
    monkeypatch.setattr("sys.argv", ["spins_measured.py", *words])
    file.write_text("{}")  # what is measured already is written again if it is missing
    assert spins_measured.main() == 130
    assert "blis" in json.loads(file.read_text())


def test_only_known_programs_that_are_installed_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Fail, match="--only bliss: expected one of blis, "):
        spins_measured.chosen(["bliss"])
    monkeypatch.setattr(APPS["blis"], "missing", lambda: ["libblis.so.4"])
    monkeypatch.setattr(APPS["redis"], "missing", list)
    assert spins_measured.chosen(["blis", "redis"]) == ["redis"]
    assert "needs libblis.so.4: overlock apps install blis" in capsys.readouterr().err
    with pytest.raises(Fail, match="no program is installed"):
        spins_measured.chosen(["blis"])
