# SPDX-License-Identifier: MIT
"""Guests under real KVM in a host that QEMU translates: `make guest-nested-test`, some minutes."""

import json
import os
from pathlib import Path

import pytest

from tests.command import Overlock

pytestmark = pytest.mark.skipif(
    os.environ.get("OVERLOCK_NESTED_TEST") != "1",
    reason="a nested host takes minutes to build and to boot; `make guest-nested-test` does it",
)
RUN = ("guest", "run", "--accel", "nested", "--smp", "4", "--rounds", "1", "--seconds", "1")


def test_kvm_parks_steals_and_shows_who_collapses(overlock: Overlock, tmp_path: Path) -> None:
    chosen = "byte,native,native_pv,native_tas,native@nopvspin"
    asked = ("--baseline", "ticket", "--lock", chosen, "--json", "r.json")
    done = overlock(*RUN, *asked, "--host-slice", "6", seconds=900)
    assert done.returncode == 0, done.stdout + done.stderr
    body = json.loads((tmp_path / "r.json").read_text())
    assert body["native"]["in_force"] == {
        "ticket": "ticket (pv)",
        "byte": "byte (pv)",
        "native": "native pv_qspinlock (pv)",
        "native_pv": "native pv_qspinlock (pv)",
        "native_tas": "native test-and-set (spin)",
        "native@nopvspin": "native qspinlock (spin)",
    }
    cells = {cell["variant"]: cell for cell in body["cells"]}
    # Four vCPUs on two CPUs wait for a CPU half of the time.
    for cell in cells.values():
        assert cell["steal_seconds"] > 0.2 * cell["seconds"] * 4
    for cured in ("byte", "native_tas"):
        assert cells[cured]["work"] > 20 * cells["ticket"]["work"]
    assert "Steal time, as a share of the vCPUs' time" in done.stdout
