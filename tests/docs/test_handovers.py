# SPDX-License-Identifier: MIT
"""The drawing of a hand-over of each lock, as the checker plays it."""

import pytest

import handover_picture as picture
import handover_story as story
from overlock_tools.core.model import defs

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
