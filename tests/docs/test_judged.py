# SPDX-License-Identifier: MIT
"""What judges `rota`: the picture is of the numbers, the ablation of today's source."""

import pytest

import ablation
import judged


def test_the_picture_is_of_the_numbers() -> None:
    assert judged.PICTURE.read_text() == judged.frontier()


@pytest.mark.parametrize("cut", ablation.CUTS, ids=lambda cut: cut.name)
def test_a_mechanism_can_be_left_out(cut: ablation.Cut) -> None:
    text = ablation.source(cut)
    assert f"ol_{cut.name}_lock(" in text
    assert "ol_rota" not in text


def test_a_mechanism_that_is_no_more_is_noticed() -> None:
    gone = ablation.Cut("gone", "what is gone", (("no such line", ""),))
    with pytest.raises(SystemExit, match=r"gone: the lock has no such line: no such line"):
        ablation.source(gone)
