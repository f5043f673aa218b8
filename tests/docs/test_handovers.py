# SPDX-License-Identifier: MIT
"""The drawing of a hand-over of each lock, as the checker plays it."""

import sys
from pathlib import Path

import pytest

from overlock_tools.model import defs

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools"))
import handover_picture as picture  # noqa: E402
import handover_story as story  # noqa: E402

LOCKS = defs.load().locks


@pytest.mark.parametrize("lock", LOCKS)
def test_no_waiter_overtakes_in_a_fifo_lock(lock: str) -> None:
    drawn = picture.of_lock(lock)
    traits = set(LOCKS[lock].traits)
    if "fifo" in traits:
        assert "T3 acquires it" not in drawn
    elif not traits & {"bounded", "late_fifo", "needs_nodes", "needs_park"}:
        assert "T3 acquires it" in drawn


def test_the_search_finds_one() -> None:
    play = story.played("preemptable_ticket", gives_way=False)
    assert story.holds(story.PRESENT)(play.events())
    play = story.played("ticket", gives_way=False)
    assert story.holds(story.ABSENT)(play.events())
