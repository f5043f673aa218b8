# SPDX-License-Identifier: MIT
"""A jump is retargeted and taken back 100,000 times, while threads are in its loop."""

from tests.run.spins.test_spins import Run, is_far, program, pytestmark, run, toggled  # noqa: F401


def test_a_jump_is_led_and_taken_back_very_often(run: Run) -> None:  # noqa: F811
    toggled(run, 100_000)
