# SPDX-License-Identifier: MIT
"""One scenario and seed give the same bytes, whichever compiler built the simulator, and how."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BUILD, TOP

BUILDS = {
    "gcc-O0": ("gcc", "g++", "-O0"),
    "gcc-O3": ("gcc", "g++", "-O3"),
    "clang-O0": ("clang", "clang++", "-O0"),
    "clang-O3": ("clang", "clang++", "-O3"),
}
FEATURES = (
    "balance",
    "coscheduling",
    "defer",
    "micro_slices",
    "ple",
    "relaxed",
    "transactions",
)
HOSTS: list[dict[str, Any]] = [
    {"scheduler": name} for name in ("fair", "eevdf", "credit", "credit2", "gang", "round_robin")
] + [{"scheduler": "fair", "features": {name: {}}} for name in FEATURES]
LOCKS = ("ticket", "mcs", "preemptable_ticket", "tas_yield", "pv_qspin", "owner_qspin", "i_spin")


def scenario(number: int, host: dict[str, Any], threads_per_core: int) -> str:
    lock = "tx" if "transactions" in host.get("features", {}) else LOCKS[number % len(LOCKS)]
    guests = [
        {"name": "vm", "kind": "kernel", "contexts": 4, "lock": lock},
        {"name": "users", "kind": "users", "contexts": 6, "vcpus": 3, "lock": lock},
        {"name": "hog", "kind": "threads", "contexts": 2, "workload": "burn"},
    ]
    machine = {"cpus": 4, "threads_per_core": threads_per_core, "cores_per_socket": 1}
    return json.dumps(
        {
            "machine": machine,
            "host": host,
            "guests": guests,
            "time_us": 30_000,
            "seed": number + 1,
        }
    )


SCENARIOS = [
    scenario(number, host, threads)
    for number, (host, threads) in enumerate((h, t) for h in HOSTS for t in (1, 2))
]


def built(name: str) -> Path:
    c, cxx, optimize = BUILDS[name]
    there = BUILD / "simulator-builds" / name
    settings = {"CC": c, "CXX": cxx}
    configure = ["cmake", "-S", str(TOP), "-B", str(there), "-G", "Ninja", "-DOVERLOCK_CHECKER=ON"]
    configure += [f"-DOVERLOCK_SIM_OPTIMIZE={optimize}", "-DCMAKE_BUILD_TYPE=None"]
    for command in (configure, ["cmake", "--build", str(there), "--target", "overlock-sim"]):
        subprocess.run(command, check=True, capture_output=True, env=os.environ | settings)
    return there / "native" / "overlock-sim"


def answer(program: Path, told: str) -> str:
    return subprocess.run([program], check=True, input=told, capture_output=True, text=True).stdout


def answers(program: Path, jobs: int = 1) -> list[str]:
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda told: answer(program, told), SCENARIOS))


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return answers(BUILD / "native" / "overlock-sim")


def test_two_seeds_differ(expected: list[str]) -> None:
    assert len(set(expected)) == len(expected)


def test_many_at_once_are_the_same(expected: list[str]) -> None:
    assert answers(BUILD / "native" / "overlock-sim", jobs=8) == expected


@pytest.mark.parametrize("name", BUILDS)
def test_another_build_is_the_same(name: str, expected: list[str]) -> None:
    assert answers(built(name)) == expected
