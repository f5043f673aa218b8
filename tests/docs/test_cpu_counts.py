# SPDX-License-Identifier: MIT
"""tools/cpu_counts.py: what it keeps, what its tables say of that, and how it ends."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cpu_counts
from overlock_tools.apps.runtimes import situations
from overlock_tools.apps.runtimes.catalogue import BY_NAME, Runtime
from overlock_tools.bench.conditions import cgroup
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, MISSING, Fail

LATER = {"mask-later": 8, "quota-later": 8}
QUOTAS = {f"{kind}-{q}": n for kind in ("quota", "container") for q, n in (("1", 1), ("1.5", 1))}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    found = tmp_path / "cpu_counts.json"
    monkeypatch.setattr(cpu_counts, "FILES", {"v1": found})
    monkeypatch.setattr(situations, "SETTLE_S", 0.1)
    cpu_counts.runtimes.cache_clear()
    yield found
    cpu_counts.runtimes.cache_clear()


def planted(title: str = "Made-up", **more: Any) -> dict[str, Any]:
    return {
        "title": title,
        "version": "1.2",
        "source": "PyPI: made-up==1.2",
        "calls": {
            "count()": {"free": 8, "mask": 1, **QUOTAS, "nested": 8, **LATER},
            "all()": {"free": 8, "mask": 8},
        },
        "reads": ["affinity", "cgroup v1"],
        "machine": "Made-up CPU, 8 CPUs, Linux 6.1",
        "cgroup": "v1",
        "commit": "commit 123",
        "date": "2026-01-02",
        **more,
    }


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["cpu_counts.py", *words])
    return cpu_counts.main()


def test_a_call_has_a_row_and_a_runtime_its_name_once(file: Path) -> None:
    cpu_counts.keep(file, "glibc", planted())
    _, _, first, second = cpu_counts.counts_table("v1").splitlines()
    assert first == (
        "| Made-up 1.2 | `count()` | 8 | 1 | · 1 · 1 · | · 1 · 1 · | 8 | 8 | 8 | "
        "rounds quotas down; misses a parent's quota; counts once | `affinity` `cgroup v1` |"
    )
    assert second.startswith(
        "|  | `all()` | 8 | 8 | · · · · · | · · · · · | · | · | · | ignores masks"
    )
    assert cpu_counts.with_table("v1") == ""
    assert "| `glibc` | Made-up 1.2 | PyPI: made-up==1.2 | commit 123 | 2026-01-02 |" in (
        cpu_counts.about_table("v1")
    )


def test_a_command_s_answers_have_a_table_of_their_own(file: Path) -> None:
    under: dict[str, Any] = {"command": "env", "calls": {"count()": {"free": 2}}}
    cpu_counts.keep(file, "glibc", planted() | {"with": under})
    cpu_counts.keep(file, "libgomp", planted("Other"))
    said = cpu_counts.with_table("v1")
    assert said.startswith("## Under `env`\n\n| runtime | call | free |")
    assert "| Made-up 1.2 | `count()` | 2 | · |" in said
    assert "Other" not in said


def test_runtimes_are_kept_in_the_catalogue_s_order(file: Path) -> None:
    for name in ("numba", "glibc", "libgomp", "glibc"):
        cpu_counts.keep(file, name, planted(name))
    assert list(json.loads(file.read_text())) == [
        n for n in BY_NAME if n in ("numba", "glibc", "libgomp")
    ]


def test_what_was_not_measured_is_told(file: Path) -> None:
    cpu_counts.keep(file, "glibc", planted())
    assert cpu_counts.machines("v1") == "Asked on Made-up CPU, 8 CPUs, Linux 6.1, cgroup v1.\n"
    cpu_counts.keep(file, "libgomp", planted(missing={"quota-1": "no cgroup"}))
    cpu_counts.runtimes.cache_clear()
    assert cpu_counts.machines("v1").endswith("cgroup v1. Not measured there: quota-1.\n")


def test_it_asks_cpython_and_again_under_a_command(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = ("--only", "cpython", "-o", str(file))
    assert command(monkeypatch, *only) == 0
    one = json.loads(file.read_text())["cpython"]
    assert one["version"] == ".".join(map(str, sys.version_info[:3]))
    counts = one["calls"]["len(os.sched_getaffinity(0))"]
    assert (counts["mask"], counts["mask-later"]) == (1, 1)
    assert set(counts) | set(one.get("missing", {})) == set(situations.SITUATIONS)
    assert "with" not in one
    assert command(monkeypatch, *only, "--with", "taskset -c 0") == 0
    again = json.loads(file.read_text())["cpython"]
    assert again["calls"] == one["calls"]
    assert again["with"]["command"] == "taskset -c 0"
    assert again["with"]["calls"]["len(os.sched_getaffinity(0))"]["free"] == 1
    assert command(monkeypatch, *only) == 0  # which keeps the other
    assert json.loads(file.read_text())["cpython"]["with"] == again["with"]


def test_groups_that_are_refused_leave_the_masks(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise Fail("no cgroup here", MISSING)

    monkeypatch.setattr(cgroup, "ours", refused)
    assert command(monkeypatch, "--only", "cpython", "-o", str(file)) == 0
    one = json.loads(file.read_text())["cpython"]
    assert set(one["calls"]["os.cpu_count()"]) == {"free", "mask", "mask-later"}
    assert one["missing"]["quota-1"] == "no cgroup here"
    assert one["cgroup"] == "none with the cpu controller"


def test_an_interruption_keeps_the_runtimes_that_are_complete(
    file: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def measured(runtime: Runtime, *_: object) -> dict[str, Any]:
        if runtime.name == "cpython":
            raise KeyboardInterrupt
        return planted(runtime.name)

    monkeypatch.setattr(cpu_counts, "measured", measured)
    code = command(monkeypatch, "--only", "glibc", "--only", "cpython", "-o", str(file))
    assert code == INTERRUPTED
    assert list(json.loads(file.read_text())) == ["glibc"]
    assert "has the runtimes that are complete" in capfd.readouterr().err


def test_a_runtime_that_fails_does_not_end_the_others(
    file: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def measured(runtime: Runtime, *_: object) -> dict[str, Any]:
        if runtime.name == "glibc":
            raise Fail("glibc ended: killed", FAILED)
        return planted(runtime.name)

    monkeypatch.setattr(cpu_counts, "measured", measured)
    code = command(monkeypatch, "--only", "glibc", "--only", "cpython", "-o", str(file))
    assert code == FAILED
    assert list(json.loads(file.read_text())) == ["cpython"]
    assert "glibc ended: killed" in capfd.readouterr().err


def test_an_unknown_runtime_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Fail, match="--only jvn: expected one of glibc, "):
        command(monkeypatch, "--only", "jvn")


def test_what_is_missing_says_how_it_is_installed(
    file: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(file.parent))
    with pytest.raises(Fail, match="no runtime is installed; give --install"):
        command(monkeypatch, "--only", "numba", "-o", str(file))
    assert "numba is left out; it needs dask==" in capfd.readouterr().err
