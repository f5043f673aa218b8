# SPDX-License-Identifier: MIT
"""What is said of how runtimes count CPUs is what was measured."""

import json
import re
from typing import Any

import pytest

from overlock_tools.doctor import counting_facts
from overlock_tools.doctor.counting_facts import Runtime
from tests.conftest import TOP

MEASURED: dict[str, Any] = json.loads((TOP / "docs/measured/cpu_counts.json").read_text())


def counts(one: Runtime) -> dict[str, int]:
    """Of the call by which it sizes its pool."""
    calls: dict[str, dict[str, int]] = MEASURED[one.id]["calls"]
    return next(iter(calls.values()))


@pytest.mark.parametrize("one", counting_facts.RUNTIMES, ids=lambda one: one.id)
def test_what_a_runtime_heeds_is_what_was_measured(one: Runtime) -> None:
    found = counts(one)
    assert (found["mask"] < found["free"]) == one.heeds_masks
    if one.heeds_quotas is None:  # its versions differ
        others = [key for key in MEASURED if key.startswith(one.id.partition("-")[0])]
        heeding = {MEASURED[key]["calls"].popitem()[1]["quota-1"] == 1 for key in others}
        assert heeding == {True, False}
    else:
        assert (found["quota-1"] < found["free"]) == one.heeds_quotas


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("libgomp-a34b3233.so.1.0.0", "GNU's OpenMP"),
        ("libgomp.so.1", "GNU's OpenMP"),
        ("libscipy_openblas64_-56d6093b.so", "OpenBLAS"),
        ("libopenblasp-r0.3.21.so", "OpenBLAS"),
        ("libtbb.so.12", "oneTBB"),
        ("python3.11", "Python"),
        ("libpython3.13.so.1.0", "Python"),
        ("node", "Node.js"),
        ("libjvm.so", "a Java VM"),
        ("libc.so.6", None),
        ("libtbbmalloc.so.2", None),
    ],
)
def test_a_runtime_is_known_by_its_file(file: str, name: str | None) -> None:
    found = [one.name for one in counting_facts.RUNTIMES if re.match(one.pattern, file)]
    assert found == ([name] if name else [])
