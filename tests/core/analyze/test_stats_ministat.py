# SPDX-License-Identifier: MIT
"""Rao & Dunlap's comparison, against printed tables of Student's t and against the tool itself."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.analyze import ministat
from overlock_tools.core.system.errors import Fail


@pytest.mark.parametrize(
    ("confidence", "freedom", "t"),
    [
        (95, 1, 12.706),
        (95, 2, 4.303),
        (80, 3, 1.638),
        (90, 4, 2.132),
        (95, 9, 2.262),
        (98, 10, 2.764),
        (99, 18, 2.878),
        (99.5, 30, 3.030),
        (95, 120, 1.980),
        (95, 100_000, 1.960),
    ],
)
def test_student_t_as_printed_tables_have_it(confidence: float, freedom: int, t: float) -> None:
    assert ministat.student_t(confidence, freedom) == pytest.approx(t, abs=6e-4)


def test_a_difference_worked_out_by_hand() -> None:
    """Averages 2 and 4, both variances 1: pooled 1, t(4) 2.776, error 2.776 * sqrt(2/3)."""
    found = ministat.difference([1.0, 2.0, 3.0], [3.0, 4.0, 5.0])
    assert (found.absolute, found.relative, found.pooled) == pytest.approx((2, 100, 1))
    assert found.error == pytest.approx(2.776 * (2 / 3) ** 0.5, abs=1e-3)
    assert found.relative_error == pytest.approx(found.error * 50)
    assert not found.proven
    assert ministat.difference([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).proven


def test_pooled_variance_weighs_by_degrees_of_freedom() -> None:
    found = ministat.difference([0.0, 2.0], [0.0, 6.0, 0.0, 6.0, 0.0, 6.0])
    assert found.pooled**2 == pytest.approx((1 * 2 + 5 * 10.8) / 6)


def test_words() -> None:
    proven = ministat.text({"before": [1, 2, 3], "after": [14, 15, 16]}, 99.5)
    assert proven.startswith("x before\n+ after\n+---")
    assert re.search(r"\n +N +Min +Max +Median +Avg +Stddev\nx +3 +1 +3 +2 +2 +1\n", proven)
    assert "Difference at 99.5% confidence\n\t13 +/- " in proven
    assert "\n\t650% +/- " in proven
    alike = ministat.text({"before": [1, 2, 3], "after": [1, 2, 4]})
    assert alike.endswith("\nNo difference proven at 95.0% confidence\n")


def test_plot_has_every_value() -> None:
    draw = random.Random(3)  # noqa: S311 - no secret
    sets = {name: [draw.gauss(5, 1) for _ in range(20)] for name in ("a", "b")}
    rows = [line for line in ministat.text(sets).splitlines() if line.startswith("|")]
    assert sum(row.count("x") for row in rows) == 20
    assert sum(row.count("+") for row in rows) == 20
    assert {len(row) for row in rows} == {ministat.WIDTH + 2}
    assert sum("A" in row for row in rows) == 2


def test_equal_values_can_be_plotted() -> None:
    assert "No difference proven" in ministat.text({"a": [7, 7, 7], "b": [7, 7, 7]})


def test_too_few_values_and_too_many_sets() -> None:
    with pytest.raises(Fail, match="b has 2 values, but a comparison needs 3; measure more rounds"):
        ministat.text({"a": [1, 2, 3], "b": [1, 2]})
    with pytest.raises(Fail, match="8 data sets; give at most 7"):
        ministat.text({str(i): [1, 2, 3] for i in range(8)})


@pytest.mark.parametrize("confidence", ministat.CONFIDENCES)
def test_same_as_the_tool(tmp_path: Path, confidence: float) -> None:
    """Debian's ministat: tools/packages.txt has it among the tests' packages."""
    tool = shutil.which("ministat")
    assert tool, "ministat is not installed; `make setup` installs it"
    draw = random.Random(confidence)  # noqa: S311
    words = r"[x+*] +\d.*|[A-Z].* at .*|\t.*"
    meant = 99.8 if confidence == 99.5 else confidence  # see ministat.py
    for shift in (0.0, 0.5, 3.0):
        # Odd numbers of values: where they are even, the medians differ by definition.
        sets = {
            name: [round(draw.gauss(mean, 1.5), 3) for _ in range(count)]
            for name, mean, count in (("one", 20, 9), ("two", 20 + shift, 15), ("three", 22, 7))
        }
        for name, values in sets.items():
            (tmp_path / name).write_text("".join(f"{value}\n" for value in values))
        theirs = subprocess.run(
            [tool, "-s", "-c", f"{confidence:g}", *(str(tmp_path / name) for name in sets)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        ours = ministat.text(sets, meant).replace(f"{meant:.1f}%", f"{confidence:.1f}%")
        numbers = [
            [
                re.split(r"\s+", line.strip())
                for line in text.splitlines()
                if re.fullmatch(words, line)
            ]
            for text in (ours, theirs)
        ]
        assert len(numbers[0]) > 4
        for our_line, their_line in zip(*numbers, strict=True):
            for our_word, their_word in zip(our_line, their_line, strict=True):
                assert near(our_word, their_word), (our_line, their_line)


def near(ours: str, theirs: str) -> bool:
    """The tool's table of t has three decimals."""
    try:
        a, b = (float(word.strip("%)")) for word in (ours, theirs))
    except ValueError:
        return ours == theirs
    return a == pytest.approx(b, rel=1e-3)
