# SPDX-License-Identifier: MIT
"""Each lock's drawing of a hand-over is what the checker plays."""

import sys
from pathlib import Path

import pytest

from overlock_tools.model import defs

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools"))
import handover_picture as picture  # noqa: E402
import handover_story as story  # noqa: E402

LOCKS = defs.load().locks
RENEW = "tools/handover_picture.py draws it"


@pytest.mark.parametrize("lock", LOCKS)
def test_picture_is_what_is_played(lock: str) -> None:
    assert picture.is_true(lock), RENEW


@pytest.mark.parametrize("lock", LOCKS)
def test_nobody_overtakes_in_a_fifo_lock(lock: str) -> None:
    drawn = picture.path_of(lock).read_text()
    traits = set(LOCKS[lock].traits)
    if "fifo" in traits:
        assert "T3 acquires it" not in drawn
    elif not traits & {"bounded", "late_fifo", "needs_nodes", "needs_park"}:
        assert "T3 acquires it" in drawn


def test_a_picture_of_another_text_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = picture.path_of("ticket").read_text()
    monkeypatch.setattr(picture, "FOLDER", tmp_path)
    assert not picture.is_true("ticket")
    picture.path_of("ticket").write_text(drawn.replace("1|0 → 2|0", "1|0 → 3|0"))
    assert not picture.is_true("ticket")
    picture.path_of("ticket").write_text(drawn.replace("<desc>1.1", "<desc>2.9.1"))
    assert not picture.is_true("ticket")
    picture.path_of("ticket").write_text(drawn)
    assert picture.is_true("ticket")


def test_the_search_finds_one() -> None:
    play = story.played("preemptable_ticket", gives_way=False)
    assert story.holds(story.PRESENT)(play.events())
    play = story.played("ticket", gives_way=False)
    assert story.holds(story.ABSENT)(play.events())
