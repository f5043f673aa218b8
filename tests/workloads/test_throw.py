# SPDX-License-Identifier: MIT
"""Whether the C++ runtime takes a lock when it throws is counted, not believed."""

import json
import os
import subprocess
from typing import Any

from conftest import BUILT, NATIVE


def counted(**environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [NATIVE / "overlock-throw"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    counts: dict[str, Any] = json.loads(done.stdout)
    return counts


def test_here_it_takes_none() -> None:
    """With gcc 12 and glibc 2.35 or later, as the suites ask for."""
    counts = counted()
    assert counts["searches"] >= counts["throws"] > 0
    assert (counts["mutex_calls"], counts["loader_calls"]) == (0, 0)


def test_a_runtime_that_takes_them_is_seen() -> None:
    counts = counted(LD_PRELOAD=str(BUILT / "libcontending.so"))
    assert counts["mutex_calls"] == counts["loader_calls"] == counts["searches"] > 0
