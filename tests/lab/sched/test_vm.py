# SPDX-License-Identifier: MIT
"""A virtual machine under overlock-sched, told by overlock-hostd of the slices that are kept."""

import json
import os

import pytest

from overlock_tools.lab.sched import run as scx_run
from tests.conftest import BUILD

SECONDS = 1800.0
NEEDED = "`make guest-test` runs it, and takes minutes"


@pytest.mark.skipif(os.environ.get("OVERLOCK_GUEST_TEST") != "1", reason=NEEDED)
def test_a_guest_is_told_when_its_slices_end() -> None:
    options = {"folder": BUILD / "guest-scx", "smp": 2, "programs": ["guest"]}
    with scx_run.guest(options) as told:
        said = scx_run.asked(told, "under sched measured-guest 2 0.2 i_spin", SECONDS)
    found = json.loads(next(line for line in said if line.startswith('{"program"')))
    assert found["facts"]["lock"] == "i_spin"
    assert found["facts"]["slices"] == "ivshmem"
    assert found["told"]["end_by"].startswith("overlock sched")
    assert found["told"]["taken"] > 100
    assert found["told"]["error_ns"]["p99"] <= 50_000
    assert sum(found["said"]["per_thread"]) > 0
    assert not found["said"]["wrong"]
