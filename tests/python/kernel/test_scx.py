# SPDX-License-Identifier: MIT
"""What is reckoned from the guest's answers, and which kernel is chosen."""

import pytest

from overlock_tools.kernel import scx, scx_run
from overlock_tools.system.errors import Fail


def test_a_percentile_heeds_weights() -> None:
    assert scx_run.p99_ns({"ns": [5, 1000, 7], "weight": [60, 1, 39]}) == 7
    assert scx_run.p99_ns({"ns": [5, 1000, 7], "weight": [60, 2, 39]}) == 1000
    assert scx_run.p99_ns({"ns": [], "weight": []}) == 0


def test_jain_is_one_if_all_have_the_same_and_one_nth_if_one_has_all() -> None:
    assert scx_run.jain([3, 3, 3]) == 1
    assert scx_run.jain([0, 0, 9, 0]) == pytest.approx(0.25)
    assert scx_run.jain([0, 0]) == 1


def test_a_request_for_each_lock_and_number_of_threads() -> None:
    options = {
        "workload": "sections",
        "locks": ["ticket", "mcs"],
        "threads": [4, 8],
        "seconds": 0.3,
        "parameters": ("cs=9",),
    }
    lines = scx_run.requests(options)
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
    assert scx._choose(listed) == listed[2]
    assert scx._choose(listed[:1]) == listed[0]
    with pytest.raises(Fail):
        scx._choose(["linux-image-6.1.0-49-cloud-amd64x"])
